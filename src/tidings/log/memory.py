"""The log in memory: the same promises while the process lives, for tests and throw-away sessions.

Records are kept as encoded entries and decoded for each reader, so no two readers share a payload.
With a `capacity` each topic keeps its newest records only, and whoever asks for older ones is told
how many are gone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock
from types import TracebackType
from typing import Self

from tidings.errors import LogUnavailableError
from tidings.log.checkpoint import entries_for, newest, told
from tidings.log.entry import (
    Draft,
    Entry,
    check_cursor,
    check_name,
    check_prefix,
    entries_of,
    entry_of,
    now_ms,
    payloads_of,
)
from tidings.log.folded import check_cut
from tidings.log.follow import Page, check_kept, follow
from tidings.log.port import DEFAULT_MAX_LAG
from tidings.log.record import CHECKPOINTS, Checkpoint, LogRecord, Verified, mark_of
from tidings.log.wake import Bell, Bells

PAGE = 256


class _Topic:
    """One topic's kept entries; `base` is the last cursor that was dropped, `ends` that of each commit."""

    __slots__ = ("base", "ends", "entries")

    def __init__(self) -> None:
        self.base = 0
        self.ends: list[int] = []
        self.entries: list[Entry] = []

    @property
    def head(self) -> int:
        return self.base + len(self.entries)

    def after(self, position: int, count: int) -> list[tuple[int, Entry]]:
        start = position - self.base
        return list(enumerate(self.entries[start : start + count], position + 1))

    def last_end(self, through: int) -> int:
        """The end of the last commit up to a cursor."""
        place = bisect_right(self.ends, through)
        return self.ends[place - 1] if place else self.base

    def drop_through(self, cursor: int) -> None:
        if cursor > self.base:
            del self.entries[: cursor - self.base]
            del self.ends[: bisect_right(self.ends, cursor)]
            self.base = cursor


class MemoryLog:
    """An `EventLog` that lives and dies with its process."""

    def __init__(self, *, capacity: int | None = None, clock: Callable[[], int] = now_ms) -> None:
        self._capacity = None if capacity is None else check_cursor(capacity, "capacity", 1)
        self._clock = clock
        self._lock = Lock()
        self._topics: dict[str, _Topic] = {}
        self._bells = Bells()
        self.closed = False

    def append(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record; see `EventLog.append`."""
        return self._commit([entry_of(topic, kind, payload, self._clock())])[0]

    def append_batch(self, drafts: Iterable[Draft]) -> tuple[LogRecord, ...]:
        """Write drafts in one step; see `EventLog.append_batch`."""
        return tuple(self._commit(entries_of(drafts, self._clock())))

    async def append_durable(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record at once: memory has nothing to wait for."""
        return self.append(topic, kind, payload)

    def latest(self, topic: str) -> int:
        """Return the cursor of the topic's last record, 0 when it has none."""
        check_name("topic", topic)
        with self._lock:
            return self._kept(topic).head

    def purged_through(self, topic: str) -> int:
        """Return the cursor of the last record that is no longer kept, 0 when all are."""
        check_name("topic", topic)
        with self._lock:
            return self._kept(topic).base

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics that have records, sorted."""
        with self._lock:
            self._check_open()
            return tuple(sorted(name for name, topic in self._topics.items() if topic.entries))

    def read(
        self, topic: str, from_cursor: int = 0, kind_prefix: str = "", limit: int | None = None
    ) -> Iterator[LogRecord]:
        """Iterate over what exists now; see `EventLog.read`."""
        check_name("topic", topic)
        position, prefix = check_cursor(from_cursor), check_prefix(kind_prefix)
        with self._lock:
            kept = self._kept(topic)
            check_kept(topic, position, kept.base, kept.head)
            found = _matching(kept.after(position, kept.head), prefix)
        if limit is not None:
            del found[check_cursor(limit, "limit") :]
        return _paged(found)

    def subscribe(
        self,
        topic: str,
        from_cursor: int = 0,
        kind_prefix: str = "",
        max_lag: int = DEFAULT_MAX_LAG,
    ) -> AsyncGenerator[LogRecord, None]:
        """Follow a topic; see `EventLog.subscribe`."""
        check_name("topic", topic)
        position, prefix = check_cursor(from_cursor), check_prefix(kind_prefix)
        check_cursor(max_lag, "max_lag", 1)
        self._check_open()
        return follow(self, topic, position, prefix, max_lag)

    def page(self, topic: str, position: int, kind_prefix: str, size: int) -> Page:
        """Read a page for a subscriber; see `follow.Source`."""
        with self._lock:
            kept = self._kept(topic)
            check_kept(topic, position, kept.base, kept.head)
            found = kept.after(position, size)
            matching = _matching(found, kind_prefix)
            characters = sum(len(entry.payload) for _, entry in matching)
            return Page(_records(matching), position + len(found), kept.head, characters)

    def listen(self, topic: str) -> AbstractContextManager[Bell]:
        """Hang up a subscriber's bell; see `follow.Source`."""
        return self._bells.listen(topic)

    def purge(self, topic: str, through_cursor: int, *, dry_run: bool = False) -> Checkpoint | None:
        """Drop a topic's oldest commits; see `EventLog.purge`. There is no chain, so no link either."""
        check_name("topic", topic)
        through = check_cursor(through_cursor, "through_cursor")
        self._check_open()
        whole = check_cut(self, topic, through)
        with self._lock:
            kept = self._kept(topic)
            grown = whole and kept.head > through
            purged = None if grown else self._cut(topic, kept, through)
            if purged is not None and not dry_run:
                self._drop(purged)
        if grown:
            return self.purge(topic, through, dry_run=dry_run)
        self._bells.ring((CHECKPOINTS,))
        return purged

    def size(self) -> int:
        """Return how many characters the payloads have."""
        with self._lock:
            self._check_open()
            return sum(len(one.payload) for topic in self._topics.values() for one in topic.entries)

    def verify(self) -> Verified:
        """Count what is kept: memory has no file that anyone could have changed."""
        with self._lock:
            self._check_open()
            kept = [topic for topic in self._topics.values() if topic.entries]
            records = sum(len(topic.entries) for topic in kept)
            batches = sum(len(topic.ends) for topic in kept)
            known = self._checkpoints()
            return Verified(len(kept), records, batches, tuple(known[name] for name in sorted(known)))

    def close(self) -> None:
        """End the subscribers and refuse everything from now on."""
        with self._lock:
            self.closed = True
        self._bells.ring_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _commit(self, entries: Sequence[Entry]) -> list[LogRecord]:
        payloads = payloads_of(entries)
        with self._lock:
            self._check_open()
            placed = [self._place(entry) for entry in entries]
            touched = {entry.topic for entry in entries}
            for name in touched:
                self._settle(self._topics[name])
        self._bells.ring(touched)
        return _with_payloads(placed, payloads)

    def _cut(self, topic: str, kept: _Topic, through: int) -> Checkpoint | None:
        cut = kept.last_end(through)
        if cut == kept.base:
            return None
        return Checkpoint(
            topic=topic,
            purged_through=cut,
            link="",
            count=cut - kept.base,
            at_ms=self._clock(),
            first=self._first(topic, kept),
        )

    def _first(self, topic: str, kept: _Topic) -> str:
        """The mark of the first record, or of the first that is known if older ones were dropped."""
        known = self._checkpoints().get(topic)
        return mark_of(_records(kept.after(kept.base, 1))[0]) if known is None else known.first

    def _drop(self, purged: Checkpoint) -> None:
        """Write the checkpoint, then forget what it says is gone."""
        known = self._checkpoints() if purged.topic == CHECKPOINTS else {}
        for entry in entries_for(told(purged, known), purged.at_ms):
            self._place(entry)
        self._settle(self._topics[CHECKPOINTS])
        self._topics[purged.topic].drop_through(purged.purged_through)

    def _checkpoints(self) -> dict[str, Checkpoint]:
        return newest(entry.payload for entry in self._kept(CHECKPOINTS).entries)

    def _place(self, entry: Entry) -> tuple[int, Entry]:
        topic = self._topics.setdefault(entry.topic, _Topic())
        topic.entries.append(entry)
        return topic.head, entry

    def _settle(self, topic: _Topic) -> None:
        topic.ends.append(topic.head)
        if self._capacity is not None:
            topic.drop_through(topic.head - self._capacity)

    def _kept(self, topic: str) -> _Topic:
        self._check_open()
        return self._topics.get(topic) or _Topic()

    def _check_open(self) -> None:
        if self.closed:
            raise LogUnavailableError("memory log is closed; open a new one with open_log")


def _matching(found: list[tuple[int, Entry]], kind_prefix: str) -> list[tuple[int, Entry]]:
    return [(cursor, entry) for cursor, entry in found if entry.kind.startswith(kind_prefix)]


def _records(found: Sequence[tuple[int, Entry]]) -> list[LogRecord]:
    return _with_payloads(found, payloads_of([entry for _, entry in found]))


def _with_payloads(
    found: Sequence[tuple[int, Entry]], payloads: list[dict[str, object]]
) -> list[LogRecord]:
    return [
        LogRecord(cursor, entry.topic, entry.kind, payload, entry.occurred_at_ms)
        for (cursor, entry), payload in zip(found, payloads, strict=True)
    ]


def _paged(found: list[tuple[int, Entry]]) -> Iterator[LogRecord]:
    for start in range(0, len(found), PAGE):
        yield from _records(found[start : start + PAGE])
