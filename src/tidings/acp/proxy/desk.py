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
from tidings.acp.proxy.compaction import compacted
from tidings.acp.proxy.lowering import lowered
from tidings.agent import store
from tidings.agent.session import Reminded, Session
from tidings.bridge.rpc import METHOD_NOT_FOUND, RpcError
from tidings.bridge.updates import update_of
from tidings.core import lifecycle, records
from tidings.core.archive import archive
from tidings.core.fire import Shot, Shown, Warned, fire
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import Item
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Mode, Seam
from tidings.core.transcript import Transcript
from tidings.rendering.plan import budget_warnings, within_budget
from tidings.shell.ids import new_id

if TYPE_CHECKING:
    from tidings.log.port import EventLog


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
        self._under_way: dict[str, Reminder] = {}

    @property
    def turn(self) -> int:
        """The last answered prompt."""
        return self.session.transcript.turn

    def remind(
        self, options: Mapping[str, object], /, *, mode: str | None = None, origin: str | None = None
    ) -> Reminded:
        """Accept a reminder, lowered to what can be kept here; it goes out with the next prompt.

        Raises:
            DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
            DuplicateReminderError: its id is known with other content.
            MailboxFullError: too much waits already.
        """
        asked = lowered(options, mode, self.modes)
        with self.session.step():
            accepted = self.session.remind(asked.options, mode=asked.mode, origin=origin)
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
        if reminder_id not in {reminder.id for reminder in self._unsent()}:
            return self.session.revoke_reminder(reminder_id)
        with self.session.step():
            self._apply(lifecycle.clear(self.session.transcript, Selector(id=reminder_id)))
            box = self.session.stored.mailbox
            box = replace(box, revoked=(*box.revoked, reminder_id))
            self.session.stored = replace(self.session.stored, mailbox=box)
            told = records.record("revoked", reminder_id=reminder_id)
            self.session.note((told,), (store.left("revoked", [reminder_id]),))
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
            unsent = self._unsent()
            fresh, deferred = within_budget(unsent)
            for warned in budget_warnings(unsent, deferred):
                self._warn(warned)
        return self._sent(compose(fresh, self.session.transcript.state.marks.withdrawn, limit))

    def urgent(self, turn: int) -> Composed | None:
        """Let in what must not wait, and compose that alone, for the running prompt `turn`."""
        with self.session.step():
            ids = self._let_in("pre_tool_dispatch", turn)
        return self._sent(compose([reminder for reminder in self._unsent() if reminder.id in ids]))

    def _sent(self, composed: Composed | None) -> Composed | None:
        if composed is not None:
            self._under_way |= {reminder.id: reminder for reminder in composed.reminders}
        return composed

    def _let_in(self, seam: Seam, turn: int) -> set[str]:
        """Give the ids; a prompt that shows them is stamped on each."""
        ids = set()
        for item in self.session.drain(seam):
            assert isinstance(item.what, Reminder)
            stamped = replace(item.what, fired_at_turn=turn)
            self._apply(lifecycle.inject(self.session.transcript, stamped, new_id()))
            ids.add(item.id)
        return ids

    def _warn(self, found: Warned) -> None:
        transcript = self.session.transcript
        marks, first = lifecycle.warn_once(transcript.state.marks, found.code, found.producer)
        if first:
            self.session.keep(Transcript.of(replace(transcript.state, marks=marks)))
            about = {"reminder_id": found.reminder_id}
            self.session.note((records.warning(found.code, found.producer, found.message, **about),))

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

    def steered(self, turn: int, sent: Composed) -> None:
        """The agent took `sent` into the running prompt `turn`."""
        with self.session.step():
            self._fire(turn, sent, self._under_way)

    def returned(self, sent: Composed | None) -> None:
        """The prompt failed: nothing fired, no ttl was spent, all goes out again with the next one."""
        ids = [reminder.id for reminder in sent.reminders] if sent is not None else []
        for reminder_id in ids:
            self._under_way.pop(reminder_id, None)
        state = self.session.transcript.state
        if state.marks.standing.isdisjoint(ids):
            return
        marks = replace(state.marks, standing=state.marks.standing.difference(ids))
        with self.session.step():
            self._keep_whole(Transcript.of(replace(state, marks=marks)))

    def compacted(self) -> None:
        """The agent shortened its history: what it may have forgotten ends, or goes out again."""
        with self.session.step():
            result = compacted(self.session.transcript, frozenset(self._under_way))
            self._keep_whole(result.transcript)
            self._note(result.records)

    def _fire(self, turn: int, sent: Composed | None, beside: Iterable[str] = ()) -> None:
        reminders = sent.reminders if sent is not None else ()
        state = self.session.transcript.state
        pending = {entry.reminder.id for entry in state.shelf.entries()}
        shown = tuple(Shown(reminder.id, "user") for reminder in reminders)
        standing = state.marks.standing | {one.reminder_id for one in shown} | set(beside)
        shot = Shot(
            placement="append_only",
            issued=reminders,
            shown=shown,
            standing=frozenset(standing & pending),
            announced=frozenset(note.reminder_id for note in (sent.announced if sent is not None else ())),
        )
        self._apply(fire(self.session.transcript, shot, turn))
        for reminder in reminders:
            self._under_way.pop(reminder.id, None)

    def note_refusal(self, method: str, error: RpcError) -> None:
        """Write down that a notification was refused (decision 30)."""
        code = error.data.get("code") if error.data is not None else None
        told = records.warning(str(code or error.code), method, error.message)
        with self.session.step():
            self.session.note((told,))

    def _unsent(self) -> list[Reminder]:
        """What is pending but was neither shown to the agent nor is on its way there."""
        standing = self.session.transcript.state.marks.standing
        gone = self._under_way
        return [r for r in self.session.transcript.pending if r.id not in standing and r.id not in gone]

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
        found = {**(known or {}), **self._under_way}
        for record in written:
            update = update_of(record.kind, record.payload, found.get)
            if update is not None:
                self._tell(update)

    def _keep_whole(self, transcript: Transcript) -> None:
        self.session.keep(transcript)
        self.session.note((), (Change("transcript.snapshot", {"transcript": transcript.to_dict()}),))


def _matches(selector: Selector, item: Item) -> bool:
    return isinstance(item.what, Reminder) and selector.matches(item.what)
