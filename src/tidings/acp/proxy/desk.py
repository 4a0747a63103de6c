"""One ACP session's reminders, kept by the interposer for an agent that keeps none.

A `Session` of the loop is the mailbox, the transcript of lifecycle events and the log; the desk drains it
where a prompt goes out instead of at the loop's seams. The agent keeps what it was shown, so a reminder is
delivered once and then *stands* until its ttl, a clear or a compaction ends it, as in the append-only
placement (decision 18). `Interposer` calls this; it sends nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from tidings.acp.proxy.block import BLOCK_LIMIT, Composed, compose
from tidings.acp.proxy.compaction import Forgotten, compacted, outgrown
from tidings.acp.proxy.lowering import lowered
from tidings.agent import store
from tidings.agent.session import Reminded, Session
from tidings.bridge.rpc import METHOD_NOT_FOUND, RpcError
from tidings.bridge.updates import update_of
from tidings.core import lifecycle, records
from tidings.core.archive import archive
from tidings.core.fire import Shot, Shown, fire
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import Item
from tidings.core.producers import ProducerName
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Mode, Seam
from tidings.core.table import Slot, slot_of
from tidings.core.transcript import Transcript
from tidings.rendering.budget import fitting
from tidings.shell.ids import new_id

if TYPE_CHECKING:
    from tidings.log.port import EventLog


STANDING = 1_000
"""How many delivered reminders are kept track of; beyond it the older half is let go."""


class Result(Protocol):
    """What every transform of the core gives."""

    @property
    def transcript(self) -> Transcript:
        """The next transcript."""
        ...

    @property
    def records(self) -> tuple[Record, ...]:
        """For the lifecycle topic."""
        ...

    @property
    def changes(self) -> tuple[Change, ...]:
        """For the transcript topic."""
        ...


class Desk:
    """The reminders of one session. `tell` is handed each lifecycle update for the editor."""

    def __init__(
        self,
        session_id: str,
        *,
        tell: Callable[[Payload], None],
        modes: Sequence[Mode],
        log: EventLog | None = None,
    ) -> None:
        self.session = Session(session_id, log=log)
        self.modes = tuple(modes)
        self._tell = tell
        self._under_way: dict[Slot, Reminder] = {}

    @property
    def turn(self) -> int:
        """The last answered prompt."""
        return self.session.transcript.turn

    def remind(
        self,
        options: Mapping[str, object],
        /,
        *,
        mode: str | None = None,
        origin: str | None = None,
        producer: ProducerName = "bridge",
        grants: frozenset[str] = frozenset(),
    ) -> Reminded:
        """Accept a reminder, lowered to what can be kept here; it goes out with the next prompt.

        Raises:
            DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
            DuplicateReminderError: its id is known with other content.
            MailboxFullError: too much waits already.
        """
        asked = lowered(options, mode, self.modes)
        with self.session.step():
            accepted = self.session.remind(
                asked.options, mode=asked.mode, origin=origin, producer=producer, grants=grants
            )
            if asked.excesses:
                self.session.note(asked.records(accepted.reminder_id, origin))
        return accepted

    def inject(self, content: object, *, mode: str | None = None, id: str | None = None) -> str:  # noqa: ARG002
        """Refused: a user's words are the agent's own business.

        Raises:
            RpcError: always.
        """
        text = "this interposer takes reminders only; send the user's words with session/prompt"
        raise RpcError(METHOD_NOT_FOUND, text)

    def pending_injections(self) -> Payload:
        """What waits: the mailbox, then what was let in but not shown to the agent yet."""
        late = [Item("finish_step", reminder) for reminder in self._unsent()]
        waiting = replace(self.session.stored.mailbox, items=(*self.session.stored.mailbox.items, *late))
        rows = waiting.rows()
        return {"pendingCount": len(rows), "injections": rows}

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Take a reminder back before the agent sees it.

        Raises:
            RevokeError: it was delivered already, or nobody knows it.
        """
        unsent = [slot_of(reminder) for reminder in self._unsent() if reminder.id == reminder_id]
        if not unsent:
            return self.session.revoke_reminder(reminder_id)
        with self.session.step():
            self._apply(lifecycle.clear(self.session.transcript, Selector(id=reminder_id)))
            box = self.session.stored.mailbox
            box = replace(box, revoked=(*box.revoked, *unsent))
            self.session.stored = replace(self.session.stored, mailbox=box)
            told = records.record("revoked", reminder_id=reminder_id)
            self.session.note((told,), (store.left("revoked", unsent),))
        return {"status": "revoked", "reminderId": reminder_id}

    def clear(self, selector: Mapping[str, object], /) -> int:
        """Remove matching reminders, waiting and standing; gives how many.

        Raises:
            DiagnosticError: HARN-RMD-001 for an unknown or empty selector.
        """
        chosen = Selector.of(selector)
        with self.session.step():
            result = lifecycle.clear(self.session.transcript, chosen)
            self._apply(result)
            queued = [item.id for item in self.session.stored.mailbox.items if _matches(chosen, item)]
            for reminder_id in queued:
                self.session.revoke_reminder(reminder_id)
        return result.removed_count + len(queued)

    def is_urgent(self) -> bool:
        """Whether something waits that should not wait for the next prompt."""
        return any(item.mode == "interrupt_immediate" for item in self.session.stored.mailbox.items)

    def outgoing(self, turn: int, limit: int = BLOCK_LIMIT) -> Composed | None:
        """Let in what waits for prompt `turn`, and compose all that the agent has not seen."""
        with self.session.step():
            self._let_in("iteration_start", turn)
        marks = self.session.transcript.state.marks
        fits = fitting(self._unsent(), marks.waiting)
        composed = compose(fits.kept, marks.withdrawn, limit)
        if composed is None:
            return None
        late = tuple(slot_of(reminder) for reminder in fits.late)
        return self._sent(replace(composed, late=late, warnings=fits.warnings))

    def urgent(self, turn: int) -> Composed | None:
        """Let in what must not wait, and compose that alone, for the running prompt `turn`."""
        with self.session.step():
            let_in = self._let_in("pre_tool_dispatch", turn)
        composed = compose([reminder for reminder in self._unsent() if slot_of(reminder) in let_in])
        return None if composed is None else self._sent(composed)

    def _sent(self, composed: Composed) -> Composed:
        self._under_way |= {slot_of(reminder): reminder for reminder in composed.reminders}
        return composed

    def _let_in(self, seam: Seam, turn: int) -> set[Slot]:
        """Give what came in; each is stamped with the prompt that shows it."""
        let_in = set()
        for item in self.session.drain(seam):
            assert isinstance(item.what, Reminder)
            stamped = replace(item.what, fired_at_turn=turn)
            self._apply(lifecycle.inject(self.session.transcript, stamped, new_id()))
            let_in.add(item.slot)
        return let_in

    def answered(self, turn: int, sent: Composed | None) -> None:
        """Prompt `turn` was answered: what it showed has fired, then ttls count down."""
        with self.session.step():
            self._fire(turn, sent)
            self._apply(lifecycle.post_turn(self.session.transcript, turn))
            for item in self.session.drain("loop_exit"):
                assert isinstance(item.what, Reminder)
                kept = archive(self.session.transcript, item.what, new_id())
                self.session.keep(kept.transcript)
                self.session.note((), kept.changes)
            if too_many := outgrown(self.session.transcript, frozenset(self._under_way), STANDING):
                self._forget(too_many)

    def steered(self, turn: int, sent: Composed) -> None:
        """The agent took `sent` into the running prompt `turn`."""
        with self.session.step():
            self._fire(turn, sent, self._under_way)

    def returned(self, sent: Composed | None) -> None:
        """The prompt failed: nothing fired, no ttl was spent, all goes out again with the next one."""
        back = [slot_of(reminder) for reminder in sent.reminders] if sent is not None else []
        for name in back:
            self._under_way.pop(name, None)
        state = self.session.transcript.state
        if state.marks.standing.isdisjoint(back):
            return
        marks = replace(state.marks, standing=state.marks.standing.difference(back))
        with self.session.step():
            self._keep_whole(Transcript.of(replace(state, marks=marks)))

    def compacted(self) -> None:
        """The agent shortened its history: what it may have forgotten ends, or goes out again."""
        with self.session.step():
            self._forget(compacted(self.session.transcript, frozenset(self._under_way)))

    def _forget(self, result: Forgotten) -> None:
        self._keep_whole(result.transcript)
        self._note(result.records)

    def _fire(self, turn: int, sent: Composed | None, beside: Iterable[Slot] = ()) -> None:
        given = sent or Composed("", ())
        state = self.session.transcript.state
        pending = {entry.slot for entry in state.shelf.entries()}
        shown = tuple(Shown(reminder.id, "user", reminder.scope) for reminder in given.reminders)
        standing = state.marks.standing | {one.slot for one in shown} | set(beside)
        shot = Shot(
            placement="append_only",
            issued=given.reminders,
            shown=shown,
            warnings=given.warnings,
            standing=frozenset(standing & pending),
            announced=frozenset(note.slot for note in given.announced),
            waiting=given.late,
        )
        self._apply(fire(self.session.transcript, shot, turn))
        for one in shown:
            self._under_way.pop(one.slot, None)

    def note_refusal(self, method: str, error: RpcError) -> None:
        """Write down that a notification was refused (decision 30)."""
        code = error.data.get("code") if error.data is not None else None
        told = records.warning(str(code or error.code), method, error.message)
        with self.session.step():
            self.session.note((told,))

    def _unsent(self) -> list[Reminder]:
        """What is pending but was neither shown to the agent nor is on its way there."""
        elsewhere = self.session.transcript.state.marks.standing | self._under_way.keys()
        return [each for each in self.session.transcript.pending if slot_of(each) not in elsewhere]

    def _apply(self, result: Result) -> None:
        before = {reminder.id: reminder for reminder in self.session.transcript.pending}
        self.session.keep(result.transcript)
        self._note(result.records, result.changes, before)

    def _note(
        self,
        written: Sequence[Record],
        changes: Sequence[Change] = (),
        known: Mapping[str, Reminder] | None = None,
    ) -> None:
        self.session.note(written, changes)
        found = {**(known or {}), **{each.id: each for each in self._under_way.values()}}
        for record in written:
            update = update_of(record.kind, record.payload, found.get)
            if update is not None:
                self._tell(update)

    def _keep_whole(self, transcript: Transcript) -> None:
        self.session.keep(transcript)
        self.session.note((), (Change("transcript.snapshot", {"transcript": transcript.to_dict()}),))


def _matches(selector: Selector, item: Item) -> bool:
    return isinstance(item.what, Reminder) and selector.matches(item.what)
