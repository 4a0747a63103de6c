"""A session: the home of one agent's transcript and the door for everything from outside.

Anyone, from any thread, may remind, inject, revoke, clear, emit or cancel while the loop runs; the
loop alone lets things in, at its seams. Every change is one commit in the session's log, so that a
session can be opened again where it was. What it decides is in `tidings.core`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tidings.agent import conversation, store
from tidings.agent.accepting import accept, is_known, will_replace
from tidings.agent.answered import Observers
from tidings.agent.arguments import expect_text, read_fields, read_folder, read_folders
from tidings.agent.emitted import Emitted, pushed, read_emitted, read_json, without
from tidings.agent.news import News
from tidings.agent.signal import Signal
from tidings.agent.store import Stored, Suspension
from tidings.agent.tools.tool import Emit, ignore_event
from tidings.core import inherit, lifecycle, records
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import Item, RevokeError, UserMessage
from tidings.core.producers import ProducerName
from tidings.core.records import Alike, Change, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import Seam, read_mode
from tidings.core.table import Slot
from tidings.core.transcript import Transcript
from tidings.errors import CallerError
from tidings.shell.ids import new_id
from tidings.shell.journal import CallSoon, Journal, Step, current_journal, flush, write

if TYPE_CHECKING:
    from tidings.log.port import EventLog


class Reminded(msgspec.Struct, frozen=True):
    """A reminder was accepted: its id, and how many queued or pending ones it will replace."""

    reminder_id: str
    deduped_count: int


class Session:
    """One agent session. `log` makes it durable; without one the active log is used, if any."""

    def __init__(
        self,
        id: str | None = None,
        *,
        anchor: str | PathLike[str] | None = None,
        roots: Sequence[str | PathLike[str]] = (),
        agent_id: str | None = None,
        log: EventLog | None = None,
    ) -> None:
        expect_text(agent_id=agent_id or "")
        self.id = id or new_id()
        self.anchor = None if anchor is None else read_folder("anchor", anchor)
        self.roots = read_folders("roots", roots)
        self.journal = Journal(log) if log is not None else current_journal()
        self._lock = RLock()
        self._news = News(self.id)
        self._later: tuple[list[Record], list[Change]] = ([], [])
        self.report: Emit = ignore_event
        self.observers = Observers()
        self.children: tuple[str, ...] = ()
        self.cancelled = False
        self.stored = self._open(agent_id)

    def _open(self, agent_id: str | None) -> Stored:
        log = self.journal.log if self.journal is not None else None
        stored = Stored(Transcript(session_id=self.id)) if log is None else store.load(log, self.id)
        if agent_id is None or stored.transcript.agent_id is not None:
            return stored
        named = replace(stored.transcript.state, agent_id=agent_id)
        return replace(stored, transcript=Transcript.of(named))

    @property
    def transcript(self) -> Transcript:
        """The transcript as it is now."""
        return self.stored.transcript

    @property
    def agent_id(self) -> str | None:
        """The agent that works here."""
        return self.transcript.agent_id

    def step(self, *, soon: bool = False) -> Step:
        """One step: nobody else changes the session, and its records are one commit.

        With `soon` they may share the next commit, if it is made before the event loop has its turn.
        """
        return Step(self._lock, self.journal, _call_soon() if soon else None)

    def keep(self, transcript: Transcript) -> None:
        """Make `transcript` the session's; call inside a step."""
        self.stored = replace(self.stored, transcript=transcript)

    def note(self, records: Sequence[Record | Alike] = (), changes: Sequence[Change] = ()) -> None:
        """Write records of the loop's own, after those that could wait; call inside a step."""
        (told, done), self._later = self._later, ([], [])
        if told or done or records or changes:
            write(self.transcript, (*told, *records), (*done, *changes))

    def note_later(self, records: Sequence[Record] = (), changes: Sequence[Change] = ()) -> None:
        """Write what can wait with the next step that notes something, to spare it a commit of its own."""
        with self._lock:
            told, done = self._later
            told += records
            done += changes

    def settle(self) -> None:
        """Write the changes that could wait; records may wait on. Call inside a step."""
        told, done = self._later
        if done:
            self._later = (told, [])
            write(self.transcript, (), done)

    def checkpoint(self) -> None:
        """Write the whole session into its log: what lies before may be purged from there."""
        with self.step():
            self.note((), (store.whole(self.stored),))

    def flush(self) -> None:
        """Write what could wait, now: nobody knows when the next step comes."""
        with self.step():
            self.note()
        flush(self.journal)

    def remind(
        self,
        options: Mapping[str, object] | None = None,
        /,
        *,
        mode: str | None = None,
        producer: ProducerName = "bridge",
        origin: str | None = None,
        grants: frozenset[str] = frozenset(),
        **fields: object,
    ) -> Reminded:
        """Accept a reminder; the seam that its mode names lets it in.

        Raises:
            CallerError: `producer` is nobody.
            DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
            DuplicateReminderError: its id is known with other content.
            MailboxFullError: too much waits already.
        """
        given = read_fields("remind(body=…)", options, fields)
        accepted = accept(given, mode, producer, origin, grants)
        reminder, item = accepted.reminder, accepted.item
        with self.step():
            if accepted.named and is_known(self.stored, reminder):
                return Reminded(reminder.id, 0)
            replaced = will_replace(self.stored, reminder)
            self.stored = replace(self.stored, mailbox=self.stored.mailbox.push(item))
            self.note(accepted.told, (store.queued(item),))
        self.wake()
        return Reminded(reminder.id, replaced)

    def inject(self, content: object, *, mode: str | None = None, id: str | None = None) -> str:
        """Accept a user's words while the agent works, text or blocks; gives the message id.

        Raises:
            CallerError: nothing in it, or something that is no text or image, by its field; or an `id`
                that waits already with other content. The same message again does nothing.
            MailboxFullError: too much waits already.
        """
        delivery, _ = read_mode(mode, "session/inject")
        said = read_json("the message", {"id": id or new_id(), **conversation.user(content)})
        message = UserMessage(str(said["id"]), said["content"])
        with self.step():
            if self.stored.mailbox.holds(message):
                return message.id
            item = Item(delivery, message)
            self.stored = replace(self.stored, mailbox=self.stored.mailbox.push(item))
            self.note((), (store.queued(item),))
        self.wake()
        return message.id

    def pending_injections(self) -> Payload:
        """What waits in the mailbox, first come first, reminders and user messages alike."""
        rows = self.stored.mailbox.rows()
        return {"pendingCount": len(rows), "injections": rows}

    def revoke_reminder(self, reminder_id: str) -> Payload:
        """Take a queued reminder back before a seam lets it in.

        Raises:
            RevokeError: it was delivered already, or nobody knows it.
        """
        return self._revoke(reminder_id, reminder_id)

    def _revoke(self, name: Slot, reminder_id: str) -> Payload:
        with self.step():
            mailbox, status = self.stored.mailbox.revoke(name)
            if status in ("already_delivered", "unknown_reminder_id"):
                raise RevokeError(reminder_id, status)
            if status == "revoked":
                self.stored = replace(self.stored, mailbox=mailbox)
                told = records.record("revoked", reminder_id=reminder_id)
                self.note((told,), (store.left("revoked", mailbox.revoked[-1:]),))
        return {"status": status, "reminderId": reminder_id}

    def clear(self, selector: Mapping[str, object] | None = None, /, **fields: object) -> int:
        """Remove matching reminders, pending and queued; gives how many."""
        chosen = Selector.of(read_fields("clear(id=…)", selector, fields))
        with self.step():
            result = lifecycle.clear(self.transcript, chosen)
            self.keep(result.transcript)
            self.note(result.records, result.changes)
            queued = [item for item in self.stored.mailbox.items if _matches(chosen, item)]
            for item in queued:
                self._revoke(item.slot, item.id)
        return result.removed_count + len(queued)

    def emit(self, event: str, payload: Mapping[str, object] | None = None) -> None:
        """Raise an event, such as `file_edited`: hooks and providers hear it at the next seam.

        It is in the log before this returns, and stays there until they have heard it.

        Raises:
            CallerError: a payload that is no JSON, by its field.
            EventsFullError: too many events wait for the loop.
        """
        one = read_emitted(new_id(), event, payload, kept=True)
        with self.step():
            self.stored = replace(self.stored, events=pushed(self.stored.events, one))
            self.note((), (store.emitted(one),))
        self.wake()

    def emit_later(self, event: str, payload: Mapping[str, object], *, kept: bool = True) -> None:
        """Raise an event from inside a loop: it is logged with the next step, or not at all if not `kept`.

        One that cannot be taken is dropped with a record, since nobody is there to be told.
        """
        try:
            one = read_emitted(new_id(), event, payload, kept=kept)
            with self._lock:
                self.stored = replace(self.stored, events=pushed(self.stored.events, one))
                if kept:
                    self.note_later((), (store.emitted(one),))
        except CallerError as error:
            with self.step():
                self.note((records.warning("event_dropped", "session.emit", str(error), event=event),))
        self.wake()
        if not self.running:
            self.flush()

    def heard(self, events: Sequence[Emitted], *, later: bool = False) -> None:
        """Forget emitted events that were told; call inside a step, unless it may wait for the next."""
        with self._lock:
            gone = frozenset(one.id for one in events)
            self.stored = replace(self.stored, events=without(self.stored.events, gone))
            told = [store.heard([one.id for one in events if one.kept])]
            if told[0].payload["ids"]:
                self.note_later((), told) if later else self.note((), told)

    def drain(self, seam: Seam) -> tuple[Item, ...]:
        """Let in what `seam` takes; call inside a step, which makes it all or nothing."""
        mailbox, items = self.stored.mailbox.drain(seam)
        if items:
            self.stored = replace(self.stored, mailbox=mailbox)
            self.note((), (store.left("drained", [item.slot for item in items]),))
        return items

    def handoff(self) -> list[Payload]:
        """What a direct child inherits."""
        return inherit.handoff(self.transcript, self.agent_id or self.id)

    def suspend(self, reason: str = "", digest: str = "") -> None:
        """Put the session to sleep: the loop ends at its next seam with status `suspended`.

        Raises:
            CallerError: a reason or digest that no log can hold.
        """
        expect_text(reason=reason, digest=digest)
        read_json("the suspension", {"reason": reason, "digest": digest})
        with self.step():
            asleep = Suspension(reason or "unspecified", self.transcript.turn, digest)
            self.stored = replace(self.stored, suspension=asleep)
            self.note((), (store.changed(self.stored),))
        self.wake()

    def resume(
        self, *, cause: str = "operator", input: object = None, continue_transcript: bool = True
    ) -> None:
        """Wake it up: the next loop tells the model why it slept and why it woke.

        Raises:
            CallerError: it does not sleep, or `cause` or `input` is no JSON.
        """
        woken = read_json("the resumption", {"cause": cause, "input": input})
        with self.step():
            asleep = self.stored.suspension
            if asleep is None:
                raise CallerError(f"session {self.id!r} is not suspended")
            payload: Payload = {
                "reason": asleep.reason,
                "suspended_at_turn": asleep.at_turn,
                "digest": asleep.digest,
                **woken,
                "continue_transcript": continue_transcript,
            }
            if not continue_transcript:
                fresh = Transcript(session_id=self.id, agent_id=self.agent_id)
                gone = [records.expired(each, "cleared") for each in self.transcript.pending]
                self.stored = replace(self.stored, transcript=fresh, issued=())
                self.note(gone, (Change("transcript.snapshot", {"transcript": fresh.to_dict()}),))
            self.stored = replace(self.stored, suspension=None, resumption=payload)
            self.note((), (store.changed(self.stored),))
        self.wake()

    def cancel(self) -> None:
        """Ask the loop to stop: it ends at once with status `cancelled`, and closes what is open."""
        self.cancelled = True
        self.wake()

    @property
    def running(self) -> bool:
        """Whether a loop works here now."""
        return self._news.at_work

    def wake(self) -> None:
        """Wake whoever waits for news of this session, in whatever loop."""
        self._news.wake()

    def listening(self) -> AbstractContextManager[Signal]:
        """A signal that is set whenever something arrives, while the block runs."""
        return self._news.listening()

    def working(self) -> AbstractContextManager[Signal]:
        """The same, for the one loop or call that works here while the block runs.

        Raises:
            CallerError: another one does.
        """
        return self._news.working()


def _call_soon() -> CallSoon | None:
    """How to be called when the event loop has its turn, if one runs here."""
    try:
        return asyncio.get_running_loop().call_soon
    except RuntimeError:
        return None


def _matches(selector: Selector, item: Item) -> bool:
    return isinstance(item.what, Reminder) and selector.matches(item.what)
