"""The pending reminders of a transcript: found by id and by dedupe key, expiring by pass.

A `Shelf` is an immutable value. Behind a family of versions stands one table of plain dicts that
belongs to the newest; an older version knows how to get from its successor back to itself
(Baker's rerooting), and takes the table over when it is read. So adding, replacing, finding and
removing cost the same at any size, order is the dict's own, and nothing is ever seen to change.
After as many changes as there are reminders the table is copied and the family starts anew:
an old version that is kept holds on to a bounded history, and no read costs more than a copy.

Time to live is an absolute pass number: a pass touches what expires, not what stays.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidings.core.reminder import Payload, Reminder
from tidings.core.table import Change, Entry, Listed, Slot, Table, place


class Shelf(msgspec.Struct, eq=False, gc=False):
    """One version of the pending reminders.

    `size` counts them, `finite` those whose ttl counts down, `external` those from outside; `passes`
    the passes so far, `horizon` the latest turn of one; `scopes` are the external origins seen. Only
    `newer`, `undo` and `listed` are ever set again, by the family itself, and nobody can see that.
    """

    table: Table
    size: int = 0
    finite: int = 0
    passes: int = 0
    horizon: int = 0
    scopes: frozenset[str] = frozenset()
    external: int = 0
    age_of_table: int = 0
    newer: Shelf | None = None
    undo: tuple[Change, ...] = ()
    listed: Listed | None = None

    @classmethod
    def of(cls, stored: Iterable[tuple[int, Reminder, str, Payload]]) -> Shelf:
        """A shelf with stored reminders: (seq, reminder, event id, event), as they are.

        Raises:
            SlotTakenError: two have the same id.
        """
        shelf = cls(Table())
        entries: dict[Slot, Entry] = {}
        for seq, reminder, event_id, event in stored:
            entry = shelf.entry(seq, reminder, event_id, event)
            if entry.slot in entries:
                raise SlotTakenError(entry)
            entries[entry.slot] = entry
        return shelf.change([(None, entry) for entry in entries.values()])

    def listing(self) -> Listed:
        """All entries in order, listed once for all versions that have the same."""
        if self.listed is None:
            with self.table.lock:
                self.listed = Listed(self._root().ordered())
        return self.listed

    def entries(self) -> tuple[Entry, ...]:
        """All entries in order."""
        return self.listing().entries

    def is_within(self, slots: frozenset[Slot]) -> bool:
        """Whether all that is here is among `slots`."""
        with self.table.lock:
            return self._root().by_id.keys() <= slots

    def find(self, slot: Slot) -> Entry | None:
        """The entry with this id."""
        with self.table.lock:
            return self._root().by_id.get(slot)

    def same_key(self, key: Slot) -> tuple[Entry, ...]:
        """The entries with this dedupe key, oldest first."""
        with self.table.lock:
            return self._root().by_key.get(key, ())

    def remaining(self, entry: Entry) -> Reminder:
        """The entry's reminder with the ttl it has left in this version."""
        ttl = entry.reminder.ttl_turns
        if entry.expires is None or ttl is None or ttl < 1:
            return entry.reminder
        left = entry.expires - self.passes
        return entry.reminder if left == ttl else msgspec.structs.replace(entry.reminder, ttl_turns=left)

    def put(self, seq: int, reminder: Reminder, event_id: str) -> tuple[Shelf, tuple[Entry, ...]]:
        """With `reminder` at the end, and the same-key entries of no higher trust that left.

        The usual case, one reminder taking the place of the only one with its key, is written out
        here: this is the hot path, and calls are what it costs.

        Raises:
            SlotTakenError: an entry with its id stands there already.
        """
        if reminder.meta is None:
            ttl, expires = reminder.ttl_turns, None
            if ttl is not None and reminder.fired_at_turn <= self.horizon:
                expires = self.passes + (ttl if ttl > 0 else 1)
            entry = Entry(seq, reminder.id, reminder.dedupe_key, 2, event_id, reminder, expires)
        else:
            entry = self.entry(seq, reminder, event_id)
        table, slot, key = self.table, entry.slot, entry.key
        with table.lock:
            if self.newer is not None:
                self._root()
            if slot in table.by_id:
                raise SlotTakenError(table.by_id[slot])
            same = None if key is None else table.by_key.get(key)
            if key is None or same is None or len(same) > 1 or same[0].rank > entry.rank:
                return self._put_generally(entry, same or ())
            (old,) = same
            age, finite = self.age_of_table + 1, self.finite
            if age > 2 * self.size + 128:
                table, age = table.copy(), 0
            del table.by_id[old.slot]
            table.by_id[slot] = entry
            table.by_key[key] = (entry,)
            if seq < table.top:
                table.in_order = False
            table.top = seq
            if old.expires is not None:
                finite -= 1
                del table.due[old.expires][old.seq]
            elif old.held:
                table.unschedule(old)
            if entry.expires is not None:
                finite += 1
                if entry.expires in table.due:
                    table.due[entry.expires][seq] = entry
                else:
                    table.due[entry.expires] = {seq: entry}
            elif entry.held:
                table.schedule(entry)
            newer = Shelf(
                table, self.size, finite, self.passes, self.horizon, self.scopes, self.external, age
            )
            if table is self.table:
                self.newer, self.undo = newer, ((entry, old),)
        return newer, same

    def _put_generally(self, entry: Entry, same: tuple[Entry, ...]) -> tuple[Shelf, tuple[Entry, ...]]:
        replaced = tuple(old for old in same if old.rank <= entry.rank)
        removals: list[Change] = [(old, None) for old in replaced]
        return self._after((*removals, (None, entry))), replaced

    def entry(self, seq: int, reminder: Reminder, event_id: str, event: Payload | None = None) -> Entry:
        """The entry for `reminder`; its ttl counts from now, unless a later turn shows it first."""
        slot: Slot = reminder.id
        key: Slot | None = reminder.dedupe_key
        rank, ttl, expires = 2, reminder.ttl_turns, None
        if reminder.meta is not None:
            slot, key, rank = place(reminder)
        if ttl is not None and reminder.fired_at_turn <= self.horizon:
            expires = self.passes + (ttl if ttl > 0 else 1)
        return Entry(seq, slot, key, rank, event_id, reminder, expires, event)

    def pull(self, slot: Slot | None, key: Slot | None) -> tuple[Shelf, tuple[Entry, ...]]:
        """Without what has this id, or else this key, and what that was: the other hot path."""
        with self.table.lock:
            table = self.table if self.newer is None else self._root()
            if slot is None:
                found = table.by_key.get(key or "", ())
            else:
                entry = table.by_id.get(slot)
                found = () if entry is None else (entry,)
            if len(found) == 1:
                return self._without(found[0]), found
            return (self._after(tuple([(old, None) for old in found])) if found else self), found

    def _without(self, entry: Entry) -> Shelf:
        finite, table, age = self.finite, self.table, self.age_of_table + 1
        if age > 2 * self.size + 128:
            table, age = table.copy(), 0
        del table.by_id[entry.slot]
        if entry.key is not None:
            table.forget_key(entry.key, entry)
        if entry.expires is not None:
            finite -= 1
            del table.due[entry.expires][entry.seq]
        elif entry.held:
            table.unschedule(entry)
        external = self.external if entry.rank else self.external - 1
        newer = Shelf(table, self.size - 1, finite, self.passes, self.horizon, self.scopes, external, age)
        if table is self.table:
            self.newer, self.undo = newer, ((None, entry),)
        return newer

    def change(self, changes: Iterable[Change]) -> Shelf:
        """With `changes` made; each `old` must be an entry of this version."""
        with self.table.lock:
            self._root()
            return self._after(tuple(changes))

    def age(self, turn: int | None) -> Aged:
        """One lifecycle pass for `turn`: what it shows loses a turn, what ran out leaves.

        None ages everything (decision 4); a reminder stamped with a later turn is left alone.
        """
        with self.table.lock:
            self._root()
            if turn is not None and turn < self.horizon:
                changes = self._aged_backwards(turn)
            elif any(turn is None or first <= turn for first in self.table.held):
                changes = self._aged(turn)
            else:
                return self._expired(self.horizon if turn is None else turn)
            horizon = self.horizon if turn is None else max(self.horizon, turn)
            shelf = self._after(tuple(changes), passes=self.passes + 1, horizon=horizon)
        expired = tuple(old for old, new in changes if old is not None and new is None)
        waiting = sum(1 for _, new in changes if new is not None and new.held)
        postponed = sum(1 for old, new in changes if _postponed(old, new))
        return Aged(shelf, expired, decremented=shelf.finite - postponed + waiting)

    def _expired(self, horizon: int) -> Aged:
        """The usual pass: nobody's ttl begins, one bucket is due, the rest is not touched."""
        due = self.table.due.get(self.passes + 1)
        if not due:
            newer = msgspec.structs.replace(self, passes=self.passes + 1, horizon=horizon)
            self.newer, self.undo = newer, ()
            return Aged(newer, (), self.finite)
        gone = tuple(due.values())
        table, age = self._table_to_change(len(gone))
        table.expire(self.passes + 1)
        external = self.external - sum([entry.rank == 0 for entry in gone])
        left = self.size - len(gone)
        finite = self.finite - len(gone)
        newer = Shelf(table, left, finite, self.passes + 1, horizon, self.scopes, external, age)
        if table is self.table:
            self.newer, self.undo = newer, tuple([(None, entry) for entry in gone])
        return Aged(newer, gone, finite)

    def _aged(self, turn: int | None) -> list[Change]:
        table, following = self.table, self.passes + 1
        changes: list[Change] = []
        for first_turn in [t for t in table.held if turn is None or t <= turn]:
            for entry in table.held[first_turn].values():
                changes.append((entry, self._woken(entry, turn)))
        changes += [(entry, None) for entry in table.due.get(following, {}).values()]
        changes.sort(key=lambda change: change[0].seq if change[0] else 0)
        return changes

    def _woken(self, entry: Entry, turn: int | None) -> Entry | None:
        ttl = entry.reminder.ttl_turns
        if ttl is None or ttl <= 1:
            return None
        if turn is None:
            older = msgspec.structs.replace(entry.reminder, ttl_turns=ttl - 1)
            return msgspec.structs.replace(entry, reminder=older)
        return msgspec.structs.replace(entry, expires=self.passes + ttl)

    def _aged_backwards(self, turn: int) -> list[Change]:
        """A pass for a turn before one already passed: what is stamped later waits one more."""
        changes: list[Change] = []
        for entry in self.table.ordered():
            if entry.expires is None:
                continue
            if entry.reminder.fired_at_turn > turn:
                later = msgspec.structs.replace(entry, expires=entry.expires + 1)
                changes.append((entry, later))
            elif entry.expires == self.passes + 1:
                changes.append((entry, None))
        return changes

    def _root(self) -> Table:
        """The table, brought back to this version. Call with the lock held."""
        path: list[Shelf] = []
        version = self
        while version.newer is not None:
            path.append(version)
            version = version.newer
        for older in reversed(path):
            newer, undo = older.newer, older.undo
            assert newer is not None
            self.table.apply(undo)
            newer.newer, newer.undo = older, _inverse(undo)
            older.newer, older.undo = None, ()
        return self.table

    def _after(
        self, changes: tuple[Change, ...], passes: int | None = None, horizon: int | None = None
    ) -> Shelf:
        """The next version; takes the table along, or a copy when the family grew old."""
        table, age = self._table_to_change(len(changes))
        table.apply(changes)
        added = [new for _, new in changes if new is not None]
        removed = [old for old, _ in changes if old is not None]
        counting = sum(e.expires is not None for e in added)
        newer = Shelf(
            table,
            self.size + len(added) - len(removed),
            self.finite + counting - sum(e.expires is not None for e in removed),
            self.passes if passes is None else passes,
            self.horizon if horizon is None else horizon,
            self.scopes | {e.slot[0] for e in added if e.rank == 0},
            self.external + sum(e.rank == 0 for e in added) - sum(e.rank == 0 for e in removed),
            age,
        )
        if table is self.table:
            self.newer, self.undo = newer, _inverse(changes)
        return newer

    def _table_to_change(self, changes: int) -> tuple[Table, int]:
        """The table and its age after `changes`; a copy, of age 0, when the family grew old."""
        age = self.age_of_table + changes
        if age > 2 * self.size + 128:
            return self.table.copy(), 0
        return self.table, age


def _inverse(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    return tuple([(new, old) for old, new in reversed(changes)])


class SlotTakenError(Exception):
    """An entry with this id stands on the shelf already."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        super().__init__(entry.slot)


class Aged(msgspec.Struct, frozen=True):
    """What a lifecycle pass gave."""

    shelf: Shelf
    expired: tuple[Entry, ...]
    decremented: int


def _postponed(old: Entry | None, new: Entry | None) -> bool:
    return old is not None and new is not None and old.expires is not None
