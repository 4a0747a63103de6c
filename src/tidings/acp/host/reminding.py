"""Reminders for one session, sent to an agent that takes them, and the fall-backs for one that does not.

The same gate as everywhere checks a reminder before anything is sent. What the agent did not advertise is
lowered or refused (decision 31); an agent without reminders gets what the caller chose: nothing, a note
to the user, or a marked text in the user's next prompt (seed 004).
"""

from __future__ import annotations

import inspect
from typing import Literal, TypeAlias

import msgspec

from tidings.acp.host.client import Beyond, Fallback
from tidings.acp.host.events import Told
from tidings.acp.host.failure import AgentRefusedError
from tidings.acp.host.feed import Feed
from tidings.acp.host.offer import Lowered, method_for, offer
from tidings.acp.host.waiting import IN_PROMPT, Waiting
from tidings.acp.host.wiring import Wiring
from tidings.bridge.methods import Operation
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import RevokeError
from tidings.core.producers import build, shown
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import read_mode
from tidings.core.trust import admit
from tidings.core.wire import SPELLING
from tidings.errors import CallerError
from tidings.shell.ids import new_id

Delivery: TypeAlias = Literal["agent", "suppressed", "shown", "next_prompt"]


class Reminded(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a reminder.

    `delivery` is `agent` when the agent accepted it; otherwise it takes none, and the reminder was
    suppressed, shown to the user, or waits for the next prompt. `reminder_id` is the agent's, or ours.
    """

    reminder_id: str
    delivery: Delivery
    deduped_count: int = 0
    method: str | None = None
    lowered: tuple[Lowered, ...] = ()


class Reminding:
    """The reminders of one session."""

    def __init__(self, session_id: str, wiring: Wiring, feed: Feed) -> None:
        self._session_id = session_id
        self._wiring = wiring
        self._feed = feed
        self.waiting = Waiting(session_id)

    @property
    def taken(self) -> bool:
        """Whether the agent says that it takes reminders."""
        agent = self._wiring.reminders
        return agent is not None and agent.inject

    async def remind(
        self,
        given: Payload,
        mode: str | None,
        fallback: Fallback | None,
        beyond: Beyond | None,
        wait: float | None,
    ) -> Reminded:
        """Send a reminder, or fall back."""
        reminder = build("bridge", given, new_id())
        options: Payload = {
            name: getattr(reminder, name) for name, value in given.items() if value is not None
        }
        if mode is not None:
            options["mode"] = read_mode(mode, "remind")[0]
        how = beyond or self._wiring.client.beyond
        if self.taken:
            return await self._send(options, how, wait)
        return await self._fall_back(reminder, options, fallback or self._wiring.client.fallback, how)

    async def _send(self, options: Payload, beyond: Beyond, wait: float | None) -> Reminded:
        agent = self._wiring.reminders
        assert agent is not None
        offered = offer(options, agent, beyond)
        self._note_lowered(offered.lowered)
        params = {SPELLING.get(name, name): value for name, value in offered.options.items()}
        result = await self._call("inject_reminder", params, "reminderId", str, wait)
        count = result.get("dedupedCount")
        return Reminded(
            reminder_id=str(result["reminderId"]),
            delivery="agent",
            deduped_count=count
            if isinstance(count, int) and not isinstance(count, bool) and count > 0
            else 0,
            method=method_for("inject_reminder", agent),
            lowered=offered.lowered,
        )

    async def _call(
        self,
        operation: Operation,
        params: Payload,
        wants: str,
        kind: type,
        wait: float | None,
    ) -> Payload:
        sent: Payload = {"sessionId": self._session_id, **params}
        return dict(await self._wiring.call(operation, sent, wants, kind, wait))

    async def _fall_back(
        self, reminder: Reminder, options: Payload, fallback: Fallback, beyond: Beyond
    ) -> Reminded:
        if fallback == "show":
            return await self._show(reminder)
        if fallback == "user_message" and options.get("mode") != "audit_only":
            return self._wait(reminder, options, beyond)
        if fallback not in ("suppress", "user_message"):
            raise CallerError(f"`fallback` must be suppress, show or user_message; got {fallback!r}")
        self._wiring.notes.add("suppressed", f"the agent takes no reminders; {reminder.id} was not sent")
        return Reminded(reminder_id=reminder.id, delivery="suppressed")

    async def _show(self, reminder: Reminder) -> Reminded:
        show = self._wiring.client.show
        if show is None:
            raise CallerError("fallback 'show' needs `Client(show=…)`, the function that shows a reminder")
        result = show(reminder)
        if inspect.isawaitable(result):
            await result
        return Reminded(reminder_id=reminder.id, delivery="shown")

    def _wait(self, reminder: Reminder, options: Payload, beyond: Beyond) -> Reminded:
        offered = offer(options, IN_PROMPT, beyond)
        admitted = admit(reminder)
        replaced = self.waiting.add(admitted.reminder)
        self._note_lowered(offered.lowered)
        for record in admitted.records:
            self._wiring.notes.add("restricted", f"{reminder.id}: {record.payload.get('field')} was cut")
        return Reminded(
            reminder_id=reminder.id,
            delivery="next_prompt",
            deduped_count=replaced,
            lowered=offered.lowered,
        )

    def _note_lowered(self, lowered: tuple[Lowered, ...]) -> None:
        for one in lowered:
            self._wiring.notes.add(
                "lowered", f"{one.field}: asked {one.asked}, sent {one.given or 'nothing'}"
            )

    async def pending(self, wait: float | None) -> tuple[Payload, ...]:
        """What waits for the agent's next turn."""
        if not self.taken:
            return self.waiting.rows()
        result = await self._call("pending_injections", {}, "injections", list, wait)
        rows = result["injections"]
        assert isinstance(rows, list)
        for row in rows:
            if not isinstance(row, dict):
                self._wiring.notes.add("unreadable_reminder", f"not a row of what waits: {shown(row)}")
        return tuple(row for row in rows if isinstance(row, dict))

    async def revoke(self, reminder_id: str, wait: float | None) -> str:
        """Take one back."""
        if not self.taken:
            return self.waiting.revoke(reminder_id)
        try:
            result = await self._call("revoke_reminder", {"reminderId": reminder_id}, "status", str, wait)
        except AgentRefusedError as error:
            reason = error.data.get("reason") if isinstance(error.data, dict) else None
            if reason in ("already_delivered", "unknown_reminder_id"):
                raise RevokeError(reminder_id, reason) from error
            raise
        return str(result["status"])

    async def clear(self, selector: Payload, wait: float | None) -> int:
        """Remove matching ones."""
        chosen = Selector.of(selector)
        if not self.taken:
            gone = self.waiting.clear(chosen)
            self._feed.told(Told(gone))
            return len(gone)
        params: Payload = {"id": chosen.id, "tag": chosen.tag, "dedupeKey": chosen.dedupe_key}
        given = {name: value for name, value in params.items() if value is not None}
        result = await self._call("clear_reminders", given, "removedCount", int, wait)
        return int(str(result["removedCount"]))

    async def inject(self, content: object, mode: str | None, wait: float | None) -> str:
        """Send a user's words into the running turn."""
        params: Payload = {"content": content}
        if mode is not None:
            params["mode"] = read_mode(mode, "inject")[0]
        result = await self._call("inject", params, "messageId", str, wait)
        return str(result["messageId"])
