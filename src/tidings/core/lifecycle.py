"""The life of a reminder in a transcript: inject, clear, post-turn, fire. Pure transforms.

Each takes a transcript and gives a result that holds the next one, what happened, and (as
properties) the records for the lifecycle topic and the changes for the transcript topic. The
input never changes. Compaction is `compaction.py`, sub-agents are `inherit.py`; the shell that
stamps ids and writes the log is `tidings.shell`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.producers import shown
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.shelf import Shelf, SlotTakenError
from tidings.core.table import Entry, slot_of
from tidings.core.transcript import Marks, State, Transcript, Withdrawn, event_of, wrap
from tidings.errors import CallerError, DiagnosticError, DuplicateReminderError, Problem

_FOREVER = (
    "no ttl_turns and preserve_on_compact is false: the reminder stays for every turn and vanishes "
    "at the next compaction; set a ttl, or preserve_on_compact=True"
)


class Injected(msgspec.Struct, frozen=True, gc=False):
    """What injecting a reminder gave. `accepted` is False when the same one was pending already."""

    transcript: Transcript
    reminder: Reminder
    event_id: str
    left: tuple[Entry, ...] = ()
    warned: bool = False
    accepted: bool = True

    @property
    def replaced(self) -> tuple[Reminder, ...]:
        """The older reminders with its key that left."""
        return tuple(entry.reminder for entry in self.left)

    @property
    def records(self) -> tuple[Record, ...]:
        """`deduped` if something was replaced, `injected`, and a first HARN-RMD-004 warning."""
        if not self.accepted:
            return ()
        found = [records.deduped(self.replaced, self.reminder)] if self.left else []
        found.append(records.injected(self.reminder))
        if self.warned:
            producer = records.producer_label(self.reminder)
            found.append(records.warning("HARN-RMD-004", producer, _FOREVER, reminder_id=self.reminder.id))
        return tuple(found)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The event, for the transcript topic."""
        if not self.accepted:
            return ()
        return (Change("transcript.injected", {"event": event_of(self.reminder, self.event_id)}),)


def inject(transcript: Transcript, reminder: Reminder, event_id: str) -> Injected:
    """Append `reminder`; older pending ones with its dedupe key leave first.

    Raises:
        DuplicateReminderError: its id is pending with different content (decision 6).
    """
    state = transcript.state
    try:
        shelf, replaced = state.shelf.put(state.next_seq, reminder, event_id)
    except SlotTakenError as taken:
        return _repeated(transcript, state.shelf.remaining(taken.entry), reminder, event_id)
    marks, warned = state.marks, False
    if replaced and marks.standing:
        marks = withdraw(marks, (entry.reminder for entry in replaced), "replaced")
    if reminder.ttl_turns is None and not reminder.preserve_on_compact:
        marks, warned = warn_once(marks, "HARN-RMD-004", records.producer_label(reminder))
    following = State(
        state.messages,
        shelf,
        state.others,
        state.next_seq + 1,
        state.session_id,
        state.agent_id,
        marks,
    )
    return Injected(wrap(following), reminder, event_id, replaced, warned)


def _repeated(transcript: Transcript, known: Reminder, again: Reminder, event_id: str) -> Injected:
    differs = [
        name
        for name in Reminder.__struct_fields__
        if name not in ("ttl_turns", "fired_at_turn") and getattr(known, name) != getattr(again, name)
    ]
    if not _could_have_become(again.ttl_turns, known.ttl_turns):
        differs.append("ttl_turns")
    if differs:
        raise DuplicateReminderError(again.id, tuple(differs))
    return Injected(transcript, known, event_id, accepted=False)


def _could_have_become(asked: int | None, left: int | None) -> bool:
    if asked is None or left is None:
        return asked is left
    return asked >= left


def warn_once(marks: Marks, code: str, producer: str) -> tuple[Marks, bool]:
    """Remember that `producer` was warned; False if it had been (decision 16)."""
    mark = f"{code} {producer}"
    if mark in marks.warned:
        return marks, False
    return replace(marks, warned=marks.warned | {mark}), True


def withdraw(marks: Marks, gone: Iterable[Reminder], reason: str) -> Marks:
    """Note those that an append-only history still shows, so that one line can say they are off."""
    notes = tuple(
        Withdrawn(reminder.id, reason, reminder.body, reminder.trust, reminder.scope)
        for reminder in gone
        if slot_of(reminder) in marks.standing
    )
    return replace(marks, withdrawn=marks.withdrawn + notes) if notes else marks


class Selector(msgspec.Struct, frozen=True):
    """Which reminders to clear: all given must match."""

    id: str | None = None
    tag: str | None = None
    dedupe_key: str | None = None

    @classmethod
    def of(cls, options: object) -> Selector:
        """The selector that `options` describe; blank means absent.

        Raises:
            DiagnosticError: HARN-RMD-001 for an unknown key, a wrong type, or nothing given.
        """
        known = cls.__struct_fields__
        if not isinstance(options, Mapping):
            fix = f"give keywords or one mapping; got {shown(options)}"
            raise DiagnosticError("clear_reminders", (Problem("HARN-RMD-001", "", "", fix),))
        problems = [
            Problem("HARN-RMD-001", str(name), "", f"unknown selector `{name}`; use {', '.join(known)}")
            for name in options
            if name not in known
        ]
        problems += [
            Problem("HARN-RMD-001", name, shown(value), f"`{name}` must be a string; got {shown(value)}")
            for name, value in options.items()
            if name in known and not (value is None or isinstance(value, str))
        ]
        given = {
            name: value.strip()
            for name, value in options.items()
            if name in known and isinstance(value, str) and value.strip()
        }
        if not problems and not given:
            fix = "give at least one of id, tag, dedupe_key"
            problems.append(Problem("HARN-RMD-001", "selector", "", fix))
        if problems:
            raise DiagnosticError("clear_reminders", tuple(problems))
        return cls(**given)

    def matches(self, reminder: Reminder) -> bool:
        """Whether everything given fits."""
        key = reminder.dedupe_key and reminder.dedupe_key.strip()
        return (
            (self.id is None or reminder.id == self.id)
            and (self.dedupe_key is None or key == self.dedupe_key)
            and (self.tag is None or self.tag in reminder.tags)
        )


class Removed(msgspec.Struct, frozen=True, gc=False):
    """What clearing gave."""

    transcript: Transcript
    before: Shelf
    entries: tuple[Entry, ...] = ()

    @property
    def removed(self) -> tuple[Reminder, ...]:
        """The reminders that left, with the ttl they had."""
        return tuple(self.before.remaining(entry) for entry in self.entries)

    @property
    def removed_count(self) -> int:
        """How many left."""
        return len(self.entries)

    @property
    def records(self) -> tuple[Record, ...]:
        """One `expired` (cleared) each."""
        return tuple(records.expired(entry.reminder, "cleared") for entry in self.entries)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The removed event ids."""
        if not self.entries:
            return ()
        gone = [entry.event_id for entry in self.entries]
        return (Change("transcript.cleared", {"event_ids": gone}),)


def clear(transcript: Transcript, selector: Selector) -> Removed:
    """Remove the pending reminders that `selector` matches."""
    state = transcript.state
    shelf = state.shelf
    if not shelf.scopes and selector.tag is None and (selector.id is None or selector.dedupe_key is None):
        left, gone = shelf.pull(selector.id, selector.dedupe_key)
        return _removed(transcript, state, left, gone, "cleared")
    matching = [e for e in _candidates(shelf, selector) if selector.matches(e.reminder)]
    return remove(transcript, sorted(matching, key=lambda entry: entry.seq), "cleared")


def _candidates(shelf: Shelf, selector: Selector) -> Sequence[Entry]:
    """Those with the id, else with the key, else all: only a tag needs a scan."""
    if selector.id is None and selector.dedupe_key is None:
        return shelf.entries()
    if not shelf.scopes:
        return _in_scope(shelf, selector, None)
    return [e for scope in (None, *shelf.scopes) for e in _in_scope(shelf, selector, scope)]


def _in_scope(shelf: Shelf, selector: Selector, scope: str | None) -> Sequence[Entry]:
    if selector.id is None:
        key = selector.dedupe_key or ""
        return shelf.same_key(key if scope is None else (scope, key))
    entry = shelf.find(selector.id if scope is None else (scope, selector.id))
    return () if entry is None else (entry,)


def remove(transcript: Transcript, entries: Sequence[Entry], reason: str) -> Removed:
    """Remove these entries of the transcript."""
    state = transcript.state
    shelf = state.shelf.change([(entry, None) for entry in entries])
    return _removed(transcript, state, shelf, tuple(entries), reason)


def _removed(
    transcript: Transcript, state: State, shelf: Shelf, gone: tuple[Entry, ...], reason: str
) -> Removed:
    if not gone:
        return Removed(transcript, state.shelf)
    marks = state.marks
    if marks.standing:
        marks = withdraw(marks, (entry.reminder for entry in gone), reason)
    following = State(
        state.messages,
        shelf,
        state.others,
        state.next_seq,
        state.session_id,
        state.agent_id,
        marks,
    )
    return Removed(wrap(following), state.shelf, gone)


class Passed(msgspec.Struct, frozen=True):
    """What a post-turn pass gave."""

    transcript: Transcript
    turn: int
    before: Shelf
    gone: tuple[Entry, ...]
    decremented_count: int
    remaining_count: int

    @property
    def expired(self) -> tuple[Reminder, ...]:
        """The reminders that ran out, with their last ttl."""
        return tuple(self.before.remaining(entry) for entry in self.gone)

    @property
    def expired_count(self) -> int:
        """How many ran out."""
        return len(self.gone)

    @property
    def records(self) -> tuple[Record, ...]:
        """One `expired` (ttl) each."""
        turn: Payload = {"expired_at_turn": self.turn}
        return tuple([records.expired(entry.reminder, "ttl", turn) for entry in self.gone])

    @property
    def changes(self) -> tuple[Change, ...]:
        """The pass."""
        return (Change("transcript.passed", {"turn": self.turn}),)


def post_turn(transcript: Transcript, turn: int) -> Passed:
    """The pass that follows answered request `turn`: finite ttls count down, 1 becomes gone.

    A reminder stamped with a later turn is left alone (decision 1).
    """
    check_turn(turn)
    state = transcript.state
    aged = state.shelf.age(turn)
    marks = replace(state.marks, turn=turn) if turn > state.marks.turn else state.marks
    following = Transcript.of(replace(state, shelf=aged.shelf, marks=marks))
    return Passed(following, turn, state.shelf, aged.expired, aged.decremented, aged.shelf.size)


def check_turn(turn: object) -> None:
    """Turns count from 1; 0 is before the first."""
    if isinstance(turn, bool) or not isinstance(turn, int) or turn < 0:
        raise CallerError(f"`turn` must be a whole number, 0 or more; got {shown(turn)}")


def stamp_turn(transcript: Transcript) -> int:
    """The turn that will first show a reminder injected now; 0 before the first request."""
    turn = transcript.turn
    return turn + 1 if turn else 0


def drop_invalid(transcript: Transcript, event_ids: frozenset[str]) -> Transcript:
    """Without the invalid reminder events of these ids (decision 7)."""
    if not event_ids:
        return transcript
    state = transcript.state
    kept = tuple((seq, e) for seq, e in state.others if invalid_id(e) not in event_ids)
    return Transcript.of(replace(state, others=kept))


def invalid_id(event: Payload) -> str:
    """How an invalid reminder event is named: reminder id, else event id, else a fixed word."""
    reminder = event.get("reminder")
    inner = reminder.get("id") if isinstance(reminder, Mapping) else None
    return next((i for i in (inner, event.get("id")) if isinstance(i, str) and i), "invalid-reminder")
