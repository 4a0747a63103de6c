"""One run of the loop over a session: iterations, seams, the model, its tools. Nothing is decided here
that a table or a pure function could decide; every step is one commit of the session.

    iteration_start → room in the window → request → answer, fired, post-turn → tools or the end

`happenings.py` runs hooks and providers; `idle.py` waits; `leaving.py` ends; `loop.py` is the door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from tidings.agent import conversation, store
from tidings.agent.answered import Answered, listening
from tidings.agent.answers import answered, worded
from tidings.agent.approvals import Approvals
from tidings.agent.budget import open_calls, system_text
from tidings.agent.compacting import make_room
from tidings.agent.company import Company, Cut
from tidings.agent.events import EVENTS
from tidings.agent.happenings import Happenings
from tidings.agent.port import Answer, Model, Outcome, ToolCall, Usage
from tidings.agent.result import Compaction, LoopResult, OnText, Status
from tidings.agent.session import Session
from tidings.agent.signal import Signal
from tidings.agent.steps import after_tools, before_tools
from tidings.agent.suspending import falls_asleep
from tidings.agent.tools.dispatch import Dispatcher, Emitter
from tidings.agent.tools.receipt import Receipt, not_run
from tidings.agent.tools.tool import ToolContext
from tidings.agent.wire_messages import WireMessages
from tidings.core.fire import fire
from tidings.core.lifecycle import post_turn, stamp_turn, warn_once
from tidings.core.mailbox import Item, UserMessage
from tidings.core.records import Record, dropped, record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Seam
from tidings.core.transcript import Transcript
from tidings.errors import DuplicateReminderError
from tidings.rendering.pieces import SystemInput
from tidings.rendering.render import render
from tidings.rendering.request import Request
from tidings.shell.ids import now_ms
from tidings.shell.transforms import (
    append_message,
    archive_reminder,
    inject_prepared,
    said,
)

T = TypeVar("T")

REFUSED = "the answer that asked for it was refused before its end"
INTERRUPTED = "a reminder or message arrived before the tools started and comes first"
LOST = (
    "The process ended before this call was closed: it may or may not have run. "
    "Look at what it would have changed before you call it again."
)
CONTINUE = (
    "[Not from the user: nobody typed this. The loop goes on because something happened; "
    "see the reminders, then go on or say that you are done.]"
)


def lost_calls(transcript: Transcript) -> list[Receipt]:
    """Receipts of the calls that a killed process, or a cancelled task, left open."""
    found = open_calls(transcript.messages)
    calls = [ToolCall(str(call.get("id")), str(call.get("name")), {}) for call in found]
    lost = Outcome(text=LOST, ok=False)
    return [Receipt(call=c, outcome=lost, status="cancelled", started_at_ms=now_ms()) for c in calls]


class Stopped(Exception):
    """The session was cancelled while the loop waited."""


class Run:
    """The state of one run."""

    def __init__(
        self,
        session: Session,
        model: Model,
        dispatcher: Dispatcher,
        happenings: Happenings,
        *,
        max_iterations: int,
        system: SystemInput = None,
        compaction: Compaction | None = None,
        context_window: int | None = None,
        workspace: Path | None = None,
        on_text: OnText | None = None,
    ) -> None:
        self.session = session
        self.model = model
        self.happenings = happenings
        self.iteration = 0
        self._most = max_iterations
        self.text = ""
        self.usage = Usage()
        self.receipts: list[Receipt] = []
        self._dispatcher = dispatcher
        self.system = system
        self.compaction = compaction
        self.window = context_window
        self._context = ToolContext(
            session_id=session.id, cancel=Signal(), emit=Emitter(self._heard), workspace=workspace
        )
        self._paused = False
        self._approvals = Approvals(session, happenings)
        self.held = False
        self._on_text = listening(session, on_text)
        self.last_usage = Usage()
        self._system_text: object = None
        self._wire = WireMessages(model)
        self.news = Signal()
        self.company = Company(session, happenings)

    async def checkpoint(self, seam: Seam, closing: Sequence[ToolCall] = ()) -> tuple[Item, ...]:
        """Let in what this seam takes. Every drain of the loop goes through here and is recorded.

        `closing` are calls that must not run if anything comes in (decision 14): they get their
        results first, in the same commit, so that the history stays valid.
        """
        if self.session.stored.events:
            await self.happenings.handle(self.session.stored.events)
        if seam != "loop_exit" and not self.session.stored.mailbox.items:
            return ()
        with self.session.step():
            items = self.session.drain(seam)
            if items and closing:
                self._keep_results(not_run(closing, INTERRUPTED, now_ms=now_ms()))
            for item in items:
                self._let_in(item, seam)
            if items:
                self.session.note((self._checkpoint_record(seam, items, bool(closing)),))
        if items:
            told = {"kind": seam, "iteration": self.iteration, "delivered": len(items)}
            await self.happenings.happen("loop_checkpoint", told)
        return items

    def _let_in(self, item: Item, seam: Seam) -> None:
        transcript = self.session.transcript
        if isinstance(item.what, UserMessage):
            self.session.keep(append_message(transcript, {"role": "user", "content": item.what.content}))
        elif seam == "loop_exit":
            self.session.keep(archive_reminder(transcript, item.what))
        else:
            self._inject(replace(item.what, fired_at_turn=stamp_turn(transcript)))

    def _inject(self, reminder: Reminder) -> None:
        try:
            self.session.keep(inject_prepared(self.session.transcript, reminder).transcript)
        except DuplicateReminderError as error:
            self.session.note((dropped(reminder.id, "invalid", detail=str(error)),))

    def _checkpoint_record(self, seam: Seam, items: Sequence[Item], skipped: bool) -> Record:
        payload: Payload = {
            "iteration": self.iteration,
            "seam": seam,
            "delivered": len(items),
            "reminder_ids": [item.id for item in items if isinstance(item.what, Reminder)],
            "dispatch_skipped": skipped,
        }
        return Record("loop.checkpoint", payload)

    def may_go_on(self) -> bool:
        """Whether another iteration may follow; if not, what comes now waits for the next run."""
        return self.iteration < self._most

    async def iterate(self) -> Status | None:
        """One iteration; gives the status when the loop should end."""
        await self.checkpoint("iteration_start")
        if (ended := await self.ended()) is not None:
            return ended
        if await make_room(self) and (ended := await self.ended()) is not None:
            return ended
        self._take_the_floor()
        await self.happenings.happen("pre_agent_turn", {"iteration": self.iteration})
        request, answer = await self._ask()
        self._answered(request, answer)
        told = self._turn_payload(answer)
        await self.happenings.happen("post_turn", told)
        if answer.tool_calls:
            await self._use_tools(answer)
        await self.happenings.happen("post_agent_turn", told)
        self.session.report("worker_progressed", told)
        self._paused = answer.stop == "paused"
        goes_on = self._paused or (answer.tool_calls and answer.stop != "refused")
        return None if goes_on else await self._finish(answer)

    def _take_the_floor(self) -> None:
        """After the model's own last word, or with none at all, something is said, and not as the user."""
        last = self.session.transcript.state.messages.last
        if last is None or (last.get("role") == "assistant" and not self._paused):
            with self.session.step():
                self.session.keep(append_message(self.session.transcript, conversation.user(CONTINUE)))

    async def ended(self) -> Status | None:
        """Whether somebody cancelled or suspended the session, or a hook keeps it from waking up."""
        if self.session.cancelled:
            return "cancelled"
        if self.session.stored.suspension is None:
            return "suspended" if self.held else None
        asleep = self.held or await falls_asleep(self.session, self.happenings, self.iteration)
        return "suspended" if asleep else None

    def _turn_payload(self, answer: Answer) -> Payload:
        return {"iteration": self.iteration, "turn": self.session.transcript.turn, "text": answer.text}

    async def _finish(self, answer: Answer) -> Status | None:
        """The model said it is done; what waits for this boundary gives it one more turn."""
        self.text = answer.text
        if answer.stop == "refused":
            return "blocked"
        if not self.may_go_on() and any(
            i.enters("iteration_end") for i in self.session.stored.mailbox.items
        ):
            return "budget_exhausted"
        if await self.checkpoint("iteration_end"):
            return None
        if (ended := await self.ended()) is not None:
            return ended
        if answer.stop == "length":
            return "cut_short"
        objection = await self.happenings.happen("pre_finish", self._turn_payload(answer))
        if objection is None:
            return "done"
        self.happenings.object_to_the_end(objection)
        return None

    async def _ask(self) -> tuple[Request, Answer]:
        transcript = self.session.transcript
        request = render(
            self.model.route,
            system=self.system,
            messages=worded(self._wire.extended, transcript.state.messages),
            reminders=transcript.pending,
            issued=self.session.stored.issued,
        )
        asking = answered(self.model, request.body, self._dispatcher.specs, self._on_text)
        return request, await self.or_stopped(asking)

    async def or_stopped(self, work: Coroutine[object, object, T]) -> T:
        """Wait for `work`, but not beyond a cancel.

        Raises:
            Stopped: the session was cancelled; `work` has been too.
        """
        if self.session.cancelled:
            work.close()
            raise Stopped
        cut = Cut()
        try:
            given = await self.company.during(work, cut.ask)
        except asyncio.CancelledError:
            if cut.ended():
                raise Stopped from None
            raise
        if cut.ended():
            raise Stopped
        return given

    def _answered(self, request: Request, answer: Answer) -> None:
        """The answer is in: one commit says what it showed, keeps it and counts the ttls down."""
        session, turn = self.session, self.session.transcript.turn + 1
        with session.step():
            self._hint_at_cache(request, answer)
            fired = fire(session.transcript, request.shot, turn)
            message = conversation.assistant(answer, self.model.route.wire)
            passed = post_turn(fired.transcript.append(message), turn)
            session.note(fired.told, (*fired.changes, said(message), *passed.changes))
            session.note(passed.records)
            session.keep(passed.transcript)
            if request.issued != session.stored.issued:
                session.stored = replace(session.stored, issued=request.issued)
                session.note((), (store.changed(session.stored),))
        self.usage, self.last_usage = self.usage + answer.usage, answer.usage
        if self.session.observers:
            self.session.observers.tell(self.session, Answered(turn, self.model.route, request))

    def _hint_at_cache(self, request: Request, answer: Answer) -> None:
        """Say once what a system text that changes between requests costs (decision 20)."""
        if not self.model.route.prompt_caching:
            return
        before, self._system_text = self._system_text, system_text(request.body)
        if before in (None, self._system_text):
            return
        state = self.session.transcript.state
        marks, first = warn_once(state.marks, "cache_hint", "session")
        if first:
            self.session.keep(Transcript.of(replace(state, marks=marks)))
            tokens = answer.usage.input_tokens
            told = (
                f"the system text changed between requests: {tokens} input tokens were not read from cache"
            )
            self.session.note((record("cache_hint", message=told, input_tokens=tokens),))

    async def _use_tools(self, answer: Answer) -> None:
        if answer.stop == "refused":
            self._keep_results(not_run(answer.tool_calls, REFUSED, now_ms=now_ms()))
            return
        if await self.checkpoint("pre_tool_dispatch", closing=answer.tool_calls):
            return
        happenings = self.happenings
        if happenings.hears("pre_step"):
            await happenings.happen("pre_step", before_tools(self.iteration, answer.tool_calls))
        receipts = await self._dispatched(answer.tool_calls)
        self._keep_results(receipts, soon=self._dispatcher.only_looks(answer.tool_calls))
        if happenings.hears("post_step"):
            await happenings.happen("post_step", after_tools(self.iteration, receipts))
        if self.session.cancelled:
            raise Stopped
        if self.may_go_on():
            await self.checkpoint("post_tool_dispatch")

    async def _dispatched(self, calls: Sequence[ToolCall]) -> tuple[Receipt, ...]:
        let_through, refused = await self.happenings.before_tools(calls)
        receipts = await self._ran(let_through)
        if refused:
            by_id = {receipt.call.id: receipt for receipt in (*receipts, *refused)}
            receipts = tuple([by_id[call.id] for call in calls])
        return tuple([await self.happenings.after_tool(each) for each in receipts])

    async def _ran(self, calls: Sequence[ToolCall]) -> tuple[Receipt, ...]:
        """Run the calls; a cancel closes those that are open, each with an honest result."""
        context = self._context
        running = self._dispatcher.dispatch(calls, context, self._approvals)
        return await self.company.during(running, context.cancel.set)

    def _heard(self, event: str, payload: Payload) -> None:
        """What a tool raises goes to the hooks; what the dispatcher reports they hear otherwise."""
        if event in EVENTS and event not in ("permission_asked", "permission_replied"):
            self.session.emit_later(event, payload)

    def _keep_results(self, receipts: Sequence[Receipt], *, soon: bool = False) -> None:
        """Keep what the tools gave, before the next request; with `soon`, before it is waited for."""
        if not receipts:
            return
        with self.session.step(soon=soon):
            transcript = self.session.transcript
            for receipt in receipts:
                result = conversation.tool_result(receipt.call, receipt.outcome)
                transcript = append_message(transcript, result)
            self.session.keep(transcript)
            self.session.settle()
        self.receipts += receipts

    def close_open_calls(self) -> None:
        """Give calls that a killed process left open their result, so that the history is valid."""
        self._keep_results(lost_calls(self.session.transcript))

    def result(self, status: Status, error: str | None = None) -> LoopResult:
        """How it ended."""
        rows = self.session.stored.mailbox.rows()
        return LoopResult(
            text=self.text,
            status=status,
            iterations=self.iteration,
            transcript=self.session.transcript,
            receipts=tuple(self.receipts),
            usage=self.usage,
            undelivered=tuple(rows),
            error=error,
        )
