"""One conversation with the agent: prompt it, remind it, listen to it. Made by `Host.new_session`.

One prompt at a time: agents differ in what a second one does to the first (some drop it), so a second one
is refused here. Words for the running turn go through `inject`, facts through `remind`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
from acp.schema import PromptRequest, PromptResponse

from tidings.acp.host import waiting
from tidings.acp.host.client import Beyond, Fallback
from tidings.acp.host.events import Event, Told
from tidings.acp.host.failure import AgentDeadlineError, AgentRefusedError, BusyError, HostError
from tidings.acp.host.feed import Subscription, Turn, Update
from tidings.acp.host.reminding import Reminded, Reminding
from tidings.acp.host.wiring import Wiring
from tidings.core.mailbox import Item
from tidings.core.producers import shorten
from tidings.core.reminder import Payload
from tidings.errors import CallerError


class Prompted(msgspec.Struct, frozen=True, kw_only=True):
    """How the agent answered a prompt: its words, why it stopped, and what came meanwhile.

    `dropped` counts updates and events beyond what is kept.
    """

    text: str
    stop_reason: str
    updates: tuple[Update, ...] = ()
    reminders: tuple[Event, ...] = ()
    dropped: int = 0


class Session:
    """One conversation with the agent. `history` is what came before: for a loaded one, its past."""

    def __init__(self, session_id: str, wiring: Wiring, details: Payload) -> None:
        self.id = session_id
        self.details = details
        self._wiring = wiring
        self._feed = wiring.feeds.of(session_id)
        self._reminding = Reminding(session_id, wiring, self._feed)
        self._running: asyncio.Task[PromptResponse] | None = None
        self._turns = 0
        before = self._feed.claim()
        self.history = tuple(before.updates)
        if before.dropped:
            wiring.notes.add(
                "history_dropped", f"{before.dropped} updates from before {session_id!r} was held"
            )

    async def prompt(
        self, content: str | Sequence[Mapping[str, object]], *, deadline: float | None = None
    ) -> Prompted:
        """Send what the user says, as text or content blocks, and wait until the agent has answered.

        Reminders that wait for the next prompt go with it. When the deadline passes, or the caller is
        cancelled, the agent is told to stop.

        Raises:
            BusyError: a prompt is in flight.
            HostError: the agent refuses, dies, or does not answer.
        """
        blocks = to_blocks(self.id, content)
        if self._running is not None and not self._running.done():
            raise BusyError(f"session {self.id!r} works on a prompt; await it, or use `inject` or `remind`")
        taken = self._reminding.waiting.take(blocks)
        turn = self._feed.begin()
        self._running = self._begin([*blocks, *waiting.block(taken)])
        response = await self._answered(self._running, taken, deadline)
        return self._prompted(turn, response, taken)

    def _begin(self, blocks: list[Payload]) -> asyncio.Task[PromptResponse]:
        request = PromptRequest.model_validate({"sessionId": self.id, "prompt": blocks})
        call = self._wiring.connection.prompt(session_id=self.id, prompt=request.prompt)
        return self._wiring.asking.begin("session/prompt", call)

    async def _answered(
        self, running: asyncio.Task[PromptResponse], taken: tuple[Item, ...], deadline: float | None
    ) -> PromptResponse:
        seconds = self._wiring.deadlines.prompt if deadline is None else deadline
        try:
            return await self._wiring.asking.result("session/prompt", running, seconds)
        except (AgentRefusedError, CallerError):
            self._reminding.waiting.put_back(taken)
            raise
        except AgentDeadlineError:
            await self._withdraw()
            await asyncio.wait({running}, timeout=self._wiring.deadlines.cancel)
            raise
        except asyncio.CancelledError:
            await self._withdraw()
            raise

    async def _withdraw(self) -> None:
        """Cancel; whoever waits has a reason to stop that matters more than a failure of this."""
        try:
            await self.cancel()
        except (HostError, CallerError) as error:
            self._wiring.notes.add("cancel_failed", str(error))

    def _prompted(self, turn: Turn, response: PromptResponse, taken: tuple[Item, ...]) -> Prompted:
        self._turns += 1
        ours = self._reminding.waiting.sent(taken, self._turns)
        self._feed.told(Told(ours))
        return Prompted(
            text=turn.text,
            stop_reason=response.stop_reason,
            updates=tuple(turn.updates),
            reminders=(*turn.events, *ours),
            dropped=turn.dropped,
        )

    async def cancel(self) -> None:
        """Ask the agent to stop working on the prompt; its open permission requests are withdrawn.

        Raises:
            HostError: the agent is gone, or does not read.
        """
        self._wiring.callbacks.cancel(self.id)
        asking, seconds = self._wiring.asking, self._wiring.deadlines.cancel
        await asking.ask("session/cancel", self._wiring.connection.cancel(session_id=self.id), seconds)

    def updates(self) -> Subscription[Update]:
        """What the agent does, from now on: an async iterator."""
        return self._feed.updates()

    def reminders(self) -> Subscription[Event]:
        """What happens to reminders, from now on: an async iterator of `Emitted`, `Deduped`, `Expired`."""
        return self._feed.events()

    async def remind(
        self,
        body: str,
        *,
        tags: Sequence[str] | None = None,
        dedupe_key: str | None = None,
        ttl_turns: int | None = None,
        preserve_on_compact: bool | None = None,
        propagate: str | None = None,
        role_hint: str | None = None,
        mode: str | None = None,
        fallback: Fallback | None = None,
        beyond: Beyond | None = None,
        deadline: float | None = None,
    ) -> Reminded:
        """Tell the agent what happened, without pretending that the user said it.

        `beyond` says what to do with a value that the agent did not advertise, `fallback` what to do with
        an agent that takes no reminders; without them the `Client`'s choice holds.

        Raises:
            DiagnosticError: the reminder is wrong; nothing was sent.
            BeyondError: a value is outside what the agent takes.
            HostError: the agent refuses, dies, or does not answer with a reminder id.
        """
        given: Payload = {
            "body": body,
            "tags": tags,
            "dedupe_key": dedupe_key,
            "ttl_turns": ttl_turns,
            "preserve_on_compact": preserve_on_compact,
            "propagate": propagate,
            "role_hint": role_hint,
        }
        present = {name: value for name, value in given.items() if value is not None}
        return await self._reminding.remind(present, mode, fallback, beyond, deadline)

    async def pending(self, *, deadline: float | None = None) -> tuple[Payload, ...]:
        """What waits for the agent's next turn, one row each, in order.

        Raises:
            NotAdvertisedError: the agent takes reminders and does not say that it lists them.
            HostError: the agent refuses, dies, or does not answer.
        """
        return await self._reminding.pending(deadline)

    async def revoke(self, reminder_id: str, *, deadline: float | None = None) -> str:
        """Take a waiting reminder back: `revoked` or `already_revoked`.

        Raises:
            RevokeError: `reason` is already_delivered or unknown_reminder_id.
            NotAdvertisedError: the agent does not say that it does this.
            HostError: the agent refuses, dies, or does not answer.
        """
        return await self._reminding.revoke(reminder_id, deadline)

    async def clear(
        self,
        *,
        id: str | None = None,
        tag: str | None = None,
        dedupe_key: str | None = None,
        deadline: float | None = None,
    ) -> int:
        """Remove the reminders that match everything given; gives how many.

        Raises:
            DiagnosticError: nothing to match was given.
            NotAdvertisedError: the agent does not say that it does this.
            HostError: the agent refuses, dies, or does not answer.
        """
        return await self._reminding.clear({"id": id, "tag": tag, "dedupe_key": dedupe_key}, deadline)

    async def inject(
        self,
        content: str | Sequence[Mapping[str, object]],
        *,
        mode: str | None = None,
        deadline: float | None = None,
    ) -> str:
        """Send what the user says into the running turn; gives the message id.

        Raises:
            NotAdvertisedError: the agent does not say that it does this.
            HostError: the agent refuses, dies, or does not answer.
        """
        words = content if isinstance(content, str) else to_blocks(self.id, content)
        return await self._reminding.inject(words, mode, deadline)


def to_blocks(session_id: str, content: str | Sequence[Mapping[str, object]]) -> list[Payload]:
    """What the user says as content blocks, checked against the protocol.

    Raises:
        CallerError: it is empty, or a block is wrong.
    """
    given = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks: list[Payload] = [dict(one) for one in given]
    if not blocks or (isinstance(content, str) and not content.strip()):
        raise CallerError("a prompt must have text or at least one content block; got nothing")
    try:
        PromptRequest.model_validate({"sessionId": session_id, "prompt": blocks})
    except ValueError as error:
        raise CallerError(f"not content blocks: {shorten(' '.join(str(error).split()))}") from error
    return blocks
