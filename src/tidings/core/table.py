"""The table behind pending reminders: plain dicts by id, by dedupe key and by when they expire.

Mutable, and owned by one version of a `Shelf` at a time, which holds its lock for every access; nobody
else sees it. An `Entry` is a reminder at its place; it never changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import TypeAlias

import msgspec

from tidings.core.reminder import Payload, Reminder, Trust

Slot: TypeAlias = str | tuple[str, str]
"""An id or a dedupe key; an external origin's stand in a namespace of its own."""

RANK: dict[Trust, int] = {"external": 0, "host": 1, "operator": 2}


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A reminder at its place. `expires` is the pass that removes it: None if it has no ttl, or
    while it is held back for a later turn."""

    seq: int
    slot: Slot
    key: Slot | None
    rank: int
    event_id: str
    reminder: Reminder
    expires: int | None = None
    event: Payload | None = None

    @property
    def held(self) -> bool:
        """Whether its ttl has not begun to count."""
        return self.expires is None and self.reminder.ttl_turns is not None


class Listed:
    """Entries in order; what all of them hold is listed once, however many versions have the same."""

    __slots__ = ("_bodies", "_reminders", "entries")

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._reminders: list[Reminder] | None = None
        self._bodies: list[str] | None = None

    @property
    def reminders(self) -> list[Reminder]:
        """The reminders, as they were put."""
        if self._reminders is None:
            self._reminders = [entry.reminder for entry in self.entries]
        return self._reminders

    @property
    def bodies(self) -> list[str]:
        """Their bodies."""
        if self._bodies is None:
            self._bodies = [entry.reminder.body for entry in self.entries]
        return self._bodies


Change: TypeAlias = tuple[Entry | None, Entry | None]
"""(old, new): an addition has no old, a removal no new; a rewrite with the same slot keeps the place."""


class Table:
    """Plain dicts, owned by one version at a time. Every access holds `lock`."""

    __slots__ = ("by_id", "by_key", "due", "held", "in_order", "lock", "top")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.by_id: dict[Slot, Entry] = {}
        self.by_key: dict[Slot, tuple[Entry, ...]] = {}
        self.due: dict[int, dict[int, Entry]] = {}
        self.held: dict[int, dict[int, Entry]] = {}
        self.in_order = True
        self.top = -1
        self.lock = Lock()
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Put an entry at the end."""
        self.by_id[entry.slot] = entry
        if entry.seq < self.top:
            self.in_order = False
        else:
            self.top = entry.seq
        if entry.key is not None:
            same = self.by_key.get(entry.key)
            self.by_key[entry.key] = (entry,) if same is None else (*same, entry)
        self.schedule(entry)

    def copy(self) -> Table:
        """A table of its own with the same content."""
        copied = Table()
        self.ordered()
        copied.by_id, copied.by_key, copied.top = self.by_id.copy(), self.by_key.copy(), self.top
        copied.due = {when: entries.copy() for when, entries in self.due.items() if entries}
        copied.held = {turn: entries.copy() for turn, entries in self.held.items() if entries}
        return copied

    def remove(self, entry: Entry) -> None:
        """Take an entry out."""
        del self.by_id[entry.slot]
        self.unschedule(entry)
        if entry.key is not None:
            self.forget_key(entry.key, entry)

    def expire(self, when: int) -> None:
        """Take out everything that is due at this pass."""
        for entry in self.due.pop(when, {}).values():
            del self.by_id[entry.slot]
            if entry.key is not None:
                self.forget_key(entry.key, entry)

    def forget_key(self, key: Slot, entry: Entry) -> None:
        """Take an entry out of the index by key."""
        same = self.by_key.pop(key)
        if len(same) > 1:
            self.by_key[key] = tuple(e for e in same if e is not entry)

    def rewrite(self, old: Entry, new: Entry) -> None:
        """Exchange an entry for another with the same id, at its place."""
        self.by_id[new.slot] = new
        if new.key is not None:
            self.by_key[new.key] = tuple(new if e is old else e for e in self.by_key[new.key])
        self.unschedule(old)
        self.schedule(new)

    def schedule(self, entry: Entry) -> None:
        """Note when its time is up, or which turn it waits for."""
        if entry.expires is not None:
            self.due.setdefault(entry.expires, {})[entry.seq] = entry
        elif entry.reminder.ttl_turns is not None:
            self.held.setdefault(entry.reminder.fired_at_turn, {})[entry.seq] = entry

    def unschedule(self, entry: Entry) -> None:
        """Forget when."""
        if entry.expires is not None:
            schedule, when = self.due, entry.expires
        elif entry.reminder.ttl_turns is not None:
            schedule, when = self.held, entry.reminder.fired_at_turn
        else:
            return
        del schedule[when][entry.seq]
        if not schedule[when]:
            del schedule[when]

    def apply(self, changes: Iterable[Change]) -> None:
        """Make changes, one after the other."""
        for old, new in changes:
            if old is None:
                if new is not None:
                    self.add(new)
            elif new is None:
                self.remove(old)
            elif old.slot == new.slot:
                self.rewrite(old, new)
            else:
                self.remove(old)
                self.add(new)

    def ordered(self) -> tuple[Entry, ...]:
        """All entries in order."""
        if not self.in_order:
            entries = sorted(self.by_id.values(), key=lambda entry: entry.seq)
            self.by_id = {entry.slot: entry for entry in entries}
            self.in_order = True
        return tuple(self.by_id.values())


def place(reminder: Reminder) -> tuple[Slot, Slot | None, int]:
    """Its id and key as slots, and the rank of its trust (decision 3)."""
    key, scope, rank = reminder.dedupe_key, reminder.scope, RANK[reminder.trust]
    if scope is None:
        return reminder.id, key, rank
    return (scope, reminder.id), None if key is None else (scope, key), rank


def slot_of(reminder: Reminder) -> Slot:
    """Its id, in the namespace of its origin (decision 3)."""
    if reminder.meta is None:
        return reminder.id
    return slot(reminder.scope, reminder.id)


def slot(scope: str | None, id: str) -> Slot:
    """The slot of an id in a namespace; None is everybody's own."""
    return id if scope is None else (scope, id)


def listed(slots: Iterable[Slot]) -> list[str | list[str]]:
    """Slots, JSON-ready."""
    return [each if isinstance(each, str) else list(each) for each in slots]
