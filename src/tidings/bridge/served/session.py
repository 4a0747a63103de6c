"""One session as a connection serves it: prompts become runs of the loop, what happens becomes updates.

It is the `Target` of the reminder methods. Everything it says goes to an `Outlet`, in the order in which it
happened; how a protocol writes it is the outlet's business. Called by `sessions.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Protocol

from tidings.agent.models.forms import Block
from tidings.agent.port import Outcome, ToolCall
from tidings.agent.session import Reminded, Session
from tidings.agent.tools.folder import Folder
from tidings.agent.tools.tool import Tool
from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.bridge.served import updates as shapes
from tidings.bridge.served.decisions import Decisions
from tidings.bridge.served.gate import MODES, ServedGate, find_mode
from tidings.bridge.served.membership import Membership
from tidings.bridge.served.neighbours import Neighbourhood
from tidings.bridge.served.observer import Observer
from tidings.bridge.served.prompt import neutral
from tidings.bridge.served.run import Asked, Ended, Settings, run_prompt
from tidings.bridge.served.tools import changes, heard
from tidings.bridge.served.turns import Turns
from tidings.core import records
from tidings.core.mailbox import UserMessage
from tidings.core.producers import shown
from tidings.core.reminder import Payload

STOP = 10.0
"""Seconds that a cancelled run gets to end before it is cut off."""


class Outlet(Protocol):
    """Where a session's news goes."""

    def update(self, session_id: str, update: Payload) -> None:
        """Something of the work: text, a tool call, a mode."""
        ...

    def reminder(self, session_id: str, update: Payload) -> None:
        """Something of a reminder's life."""
        ...

    def ask(self, method: str, params: Payload) -> Awaitable[object]:
        """Ask the host.

        Raises:
            RpcError: its error.
        """
        ...


class ServedSession:
    """A session, its folder, its gate and its line of prompts."""

    def __init__(self, session: Session, folder: Folder, settings: Settings, outlet: Outlet) -> None:
        self.session = session
        self.folder = folder
        self._decisions = Decisions(settings.log, session.id)
        decided = self._decisions.read()
        self.gate = ServedGate(
            self._ask_host, mode=decided.mode, for_good=decided.rules, keep=self._decisions.answered
        )
        self._settings = settings
        self._outlet = outlet
        self._open_calls: set[str] = set()
        self._heard_text = False
        self._turns: Turns[Asked, Ended] = Turns(self._run, session.cancel, Ended(stop_reason="cancelled"))
        self.neighbours = Neighbourhood(session, settings.connect, self.note)
        Observer(self).attach(session, settings.log)
        self._membership = Membership(session, settings.join, self.root, self.note)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session.id

    @property
    def root(self) -> str:
        """The folder it works in."""
        return str(self.folder.root)

    @property
    def busy(self) -> bool:
        """Whether a prompt runs or waits."""
        return self._turns.busy

    def remind(
        self, options: Mapping[str, object], /, *, mode: str | None = None, origin: str | None = None
    ) -> Reminded:
        """Accept a reminder of the host."""
        return self.session.remind(options, mode=mode, origin=origin)

    def inject(self, content: object, *, mode: str | None = None, id: str | None = None) -> str:
        """Accept a user's words for the running prompt, or for the next; the same id again changes nothing.

        Raises:
            RpcError: words that the loop cannot take, or an id that is known with others.
        """
        words = neutral(content, "content")
        with self.session.step():
            if id is not None and self._knows(id, words):
                return id
            return self.session.inject(words, mode=mode, id=id)

    def _knows(self, message_id: str, words: object) -> bool:
        box = self.session.stored.mailbox
        waiting = next((item.what for item in box.items if item.id == message_id), None)
        if waiting is None:
            return message_id in box.delivered
        if isinstance(waiting, UserMessage) and waiting.content == words:
            return True
        text = f"message id {shown(message_id)} is known with other content; choose a new id"
        raise RpcError(INVALID_PARAMS, text, {"reason": "duplicate_id", "messageId": message_id})

    def pending_injections(self) -> Payload:
        """What waits."""
        return self.session.pending_injections()

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Take a waiting one back."""
        return self.session.revoke_reminder(reminder_id)

    def clear(self, selector: Mapping[str, object], /) -> int:
        """Remove matching ones, waiting and pending."""
        return self.session.clear(selector)

    def move(self, folder: Folder) -> None:
        """Work in another folder from the next prompt on."""
        self.folder = folder
        self.session.anchor = str(folder.root)
        self._membership.move(self.root)

    def set_mode(self, mode_id: object) -> None:
        """Choose how tools are approved, also while a prompt runs; it holds until another is chosen.

        Raises:
            RpcError: no such mode.
        """
        mode = find_mode(mode_id)
        if mode is None:
            known = ", ".join(each.id for each in MODES)
            text = f"`modeId` must be one of {known}; got {shown(mode_id)}"
            raise RpcError(INVALID_PARAMS, text, {"field": "modeId"})
        self.gate.mode = mode
        self._decisions.chosen(mode)
        self._outlet.update(self.id, shapes.mode_is(mode.id))

    def prompt(self, words: str | list[Block], mark: object = None) -> asyncio.Future[Ended]:
        """Work on the user's words, in their neutral form, after the prompts before.

        Raises:
            RpcError: too many prompts wait.
        """
        return self._turns.submit(Asked(words), mark)

    def cancel(self) -> bool:
        """End what runs and what waits; gives whether there was anything."""
        return self._turns.cancel()

    def cancel_one(self, mark: object) -> None:
        """End only the prompt that came with this mark."""
        self._turns.cancel_one(mark)

    async def close(self) -> None:
        """End everything; what was accepted and not delivered stays in the log."""
        if not await self._turns.end(STOP):
            text = f"a cancelled prompt did not end within {STOP:g} s and was cut off"
            self.note("prompt_cut_off", text)
        await self.neighbours.close()
        await self._membership.close()

    def note(self, code: str, message: str, **more: object) -> None:
        """Write a warning in the session's log."""
        with self.session.step():
            self.session.note((records.warning(code, "bridge", message, **more),))

    def history(self) -> Sequence[Payload]:
        """The conversation so far as updates."""
        return list(shapes.history(self.session.transcript.messages, self.root, running=self.busy))

    def reminder(self, update: Payload) -> None:
        """Pass a reminder's news on."""
        self._outlet.reminder(self.id, update)

    def message(self, message: Mapping[str, object]) -> None:
        """Show tool calls as they are asked for, and close those that did not run."""
        role = message.get("role")
        if role == "assistant":
            self._whole_text(message)
            for call_id, name, arguments in shapes.calls_of(message):
                self._announce(ToolCall(call_id, name, arguments))
        elif role == "tool" and str(message.get("tool_call_id")) in self._open_calls:
            content = [shapes.text_content(text) for text in shapes.texts_of(message.get("content"))]
            self._close(str(message.get("tool_call_id")), bool(message.get("is_error")), content)

    def _whole_text(self, message: Mapping[str, object]) -> None:
        """Show at once what a model that does not stream said."""
        text = message.get("content")
        if not self._heard_text and isinstance(text, str) and text:
            self._say(text)
        self._heard_text = False

    def _say(self, text: str) -> None:
        self._heard_text = True
        self._outlet.update(self.id, shapes.said(text))

    def _announce(self, call: ToolCall) -> None:
        self._open_calls.add(call.id)
        self._outlet.update(self.id, shapes.announced(self._shown(call), self._changes(call)))

    def _shown(self, call: ToolCall) -> Payload:
        return shapes.call_shown(call.id, call.name, call.arguments, self.root)

    def _changes(self, call: ToolCall) -> list[Payload]:
        return changes(call.name, call.arguments, self.folder)

    def _heard(self, tool: Tool, call_id: str, outcome: Outcome | None) -> None:
        if outcome is None:
            self._outlet.update(self.id, shapes.progressed(call_id, "in_progress"))
            return
        keeps_diff = outcome.ok and tool.name in ("write_file", "edit_file")
        self._close(call_id, not outcome.ok, None if keeps_diff else [shapes.text_content(outcome.text)])

    def _close(self, call_id: str, failed: bool, content: list[Payload] | None) -> None:
        self._open_calls.discard(call_id)
        status: shapes.ToolStatus = "failed" if failed else "completed"
        self._outlet.update(self.id, shapes.progressed(call_id, status, content))

    async def _ask_host(self, call: ToolCall, options: list[Payload]) -> object:
        shown_call = {**self._shown(call), "status": "pending"}
        content = self._changes(call)
        params: Payload = {
            "sessionId": self.id,
            "toolCall": {**shown_call, "content": content} if content else shown_call,
            "options": options,
        }
        return await self._outlet.ask("session/request_permission", params)

    async def _run(self, asked: Asked) -> Ended:
        self.session.cancelled = False
        self._heard_text = False
        offered = [*self._settings.tools(self.folder.root), *await self.neighbours.tools()]
        tools = [heard(tool, partial(self._heard, tool)) for tool in offered]
        ended = await run_prompt(asked, self.session, self._settings, tools, self.gate, self._say)
        if ended.text and not ended.streamed:
            self._outlet.update(self.id, shapes.said(ended.text))
        if ended.window:
            self._outlet.update(self.id, shapes.window_use(ended.used, ended.window))
        return ended
