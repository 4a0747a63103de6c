"""After the answer: which reminders a request showed. Pure; `mark_fired` is its shell.

A request that was answered writes `fired` for what it rendered, drops the invalid events it
found, and stamps what it did not show with the next turn, so that no ttl is spent unseen
(decisions 1, 2, 7 and 18). A failed request never comes here: it fires nothing (decision 8).
"""

from __future__ import annotations

from functools import cached_property
from itertools import groupby

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.lifecycle import check_turn, drop_invalid, warn_once
from tidings.core.records import Alike, Change, Record
from tidings.core.reminder import Reminder
from tidings.core.table import Entry, Slot, listed, slot, slot_of
from tidings.core.transcript import Marks, Transcript, Withdrawn


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reminder that a request rendered, the role it was given, and its origin if that is external."""

    reminder_id: str
    rendered_role: str
    scope: str | None = None

    @property
    def slot(self) -> Slot:
        """Its id in the namespace of its origin."""
        return slot(self.scope, self.reminder_id)


class Unused(msgspec.Struct, frozen=True):
    """A reminder that a request could not use: `invalid` or `capability_mismatch`."""

    reminder_id: str
    reason: str
    detail: str = ""


class Warned(msgspec.Struct, frozen=True):
    """A warning that rendering found, written once per session, code and producer."""

    code: str
    producer: str
    message: str
    reminder_id: str


class Shot(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What an answered request did with the pending reminders.

    `issued` are new in its history, `waiting` are the external ones that it had no room for, in line.
    Requests that show the same may share one: what is worked out from it is worked out once.
    """

    placement: str
    issued: tuple[Reminder, ...] = ()
    shown: tuple[Shown, ...] = ()
    unused: tuple[Unused, ...] = ()
    warnings: tuple[Warned, ...] = ()
    standing: frozenset[Slot] = frozenset()
    announced: frozenset[Slot] = frozenset()
    waiting: tuple[Slot, ...] = ()

    @cached_property
    def seen(self) -> frozenset[Slot]:
        """What the model has seen: now, or in a history that still stands."""
        return frozenset([shown.slot for shown in self.shown]) | self.standing

    @cached_property
    def by_role(self) -> list[tuple[str, tuple[str, ...]]]:
        """The ids of those it showed, in order, parted where the role changes."""
        runs = groupby(self.shown, key=lambda shown: shown.rendered_role)
        return [(role, tuple([shown.reminder_id for shown in run])) for role, run in runs]


class Fired(msgspec.Struct, frozen=True):
    """What marking a request as answered gave; `told` is for the log."""

    transcript: Transcript
    told: tuple[Record | Alike, ...]
    changes: tuple[Change, ...]

    @property
    def records(self) -> tuple[Record, ...]:
        """What happened to each reminder."""
        return records.one_by_one(self.told)


def fire(transcript: Transcript, shot: Shot, turn: int) -> Fired:
    """Note that request `turn` was answered and what it showed."""
    check_turn(turn)
    warned, marks = [], transcript.state.marks
    for found in shot.warnings:
        marks, first = warn_once(marks, found.code, found.producer)
        if first:
            warned.append(
                records.warning(found.code, found.producer, found.message, reminder_id=found.reminder_id)
            )
    kept = [note for note in marks.withdrawn if note.slot not in shot.announced]
    late = _withdrawn_meanwhile(transcript, shot)
    marks = replace(
        marks,
        turn=max(marks.turn, turn),
        standing=shot.standing,
        withdrawn=(*kept, *late),
        waiting=shot.waiting,
    )
    dropped = [_dropped(unused) for unused in shot.unused]
    fired = [records.fired(names, role, turn, shot.placement) for role, names in shot.by_role]
    state = replace(transcript.state, marks=marks)
    following = Transcript.of(state)
    if shot.unused:
        following = drop_invalid(following, _invalid(shot))
    unseen = _unseen(transcript, shot, turn)
    change = Change("transcript.fired", {"turn": turn, **_effects(shot, unseen, marks)})
    return Fired(_postpone(following, unseen, turn), (*dropped, *fired, *warned), (change,))


def _dropped(unused: Unused) -> Record:
    detail = {"detail": unused.detail} if unused.detail else {}
    return records.dropped(unused.reminder_id, unused.reason, **detail)


def _invalid(shot: Shot) -> frozenset[str]:
    return frozenset(u.reminder_id for u in shot.unused if u.reason == "invalid")


def _unseen(transcript: Transcript, shot: Shot, turn: int) -> list[Entry]:
    """The pending reminders that the request did not show; most requests show all."""
    shelf = transcript.state.shelf
    if shelf.is_within(shot.seen):
        return []
    entries = shelf.entries()
    return [e for e in entries if e.slot not in shot.seen and e.reminder.fired_at_turn <= turn]


def _postpone(transcript: Transcript, unseen: list[Entry], turn: int) -> Transcript:
    """Stamp `unseen` with the turn that can first show them."""
    if not unseen:
        return transcript
    state = transcript.state
    later = [
        (
            entry,
            replace(entry, reminder=_stamped(state.shelf.remaining(entry), turn + 1), expires=None),
        )
        for entry in unseen
    ]
    return Transcript.of(replace(state, shelf=state.shelf.change(later)))


def _stamped(reminder: Reminder, turn: int) -> Reminder:
    return replace(reminder, fired_at_turn=turn)


def _withdrawn_meanwhile(transcript: Transcript, shot: Shot) -> list[Withdrawn]:
    """What the request put into the history although it had left while the model answered."""
    if not shot.issued:
        return []
    pending = {entry.slot for entry in transcript.state.shelf.entries()}
    gone = [reminder for reminder in shot.issued if slot_of(reminder) not in pending]
    return [Withdrawn(r.id, "cleared", r.body, r.trust, r.scope) for r in gone]


def _effects(shot: Shot, unseen: list[Entry], marks: Marks) -> dict[str, object]:
    """What the request changed besides; lists that would be empty are left out, and mostly all are."""
    found: dict[str, object] = {}
    if unseen:
        found["postponed"] = [entry.event_id for entry in unseen]
    if shot.unused:
        found["invalid"] = sorted(_invalid(shot))
    if shot.standing:
        found["standing"] = listed(sorted(shot.standing, key=str))
    if marks.withdrawn:
        found["withdrawn"] = [msgspec.to_builtins(note) for note in marks.withdrawn]
    if marks.warned:
        found["warned"] = sorted(marks.warned)
    if shot.waiting:
        found["waiting"] = listed(shot.waiting)
    return found


def refire(transcript: Transcript, payload: dict[str, object]) -> Transcript:
    """The transcript after a `transcript.fired` change, for replay."""
    effects = msgspec.convert(payload, _Effects)
    state = transcript.state
    marks = replace(
        state.marks,
        turn=max(state.marks.turn, effects.turn),
        warned=effects.warned,
        standing=effects.standing,
        withdrawn=effects.withdrawn,
        waiting=effects.waiting,
    )
    following = drop_invalid(Transcript.of(replace(state, marks=marks)), effects.invalid)
    unseen = [e for e in state.shelf.entries() if e.event_id in effects.postponed]
    return _postpone(following, unseen, effects.turn)


class _Effects(msgspec.Struct, frozen=True):
    turn: int
    postponed: frozenset[str] = frozenset()
    invalid: frozenset[str] = frozenset()
    standing: frozenset[Slot] = frozenset()
    withdrawn: tuple[Withdrawn, ...] = ()
    waiting: tuple[Slot, ...] = ()
    warned: frozenset[str] = frozenset()
