"""The embedded log: one SQLite file in WAL mode that any number of processes write and follow.

This class only joins the parts: `writer` commits, `group` and `disk` batch what is awaited,
`reading` pages, `wake`, `watch` and `nudge` wake subscribers, `verify` walks the chain, `purge` cuts
it. What is promised on return, by durability:

    append, append_batch   both       visible to every process, outlives kill -9
    append_durable         "normal"   the same, committed once per turn of the loop, in the loop
                           "fsync"    also outlives a power cut; the loop never waits for the disk

In "fsync" a record from `append` is power-safe with the next `append_durable` that returns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from tidings.log.disk import DiskThread, WalFile, sync_file
from tidings.log.entry import (
    Columns,
    Draft,
    Written,
    alone,
    check_cursor,
    check_name,
    check_prefix,
    columns_of,
    entry_of,
    now_ms,
)
from tidings.log.failure import closed_error
from tidings.log.folded import check_cut
from tidings.log.follow import Page, follow
from tidings.log.group import QUEUE_LIMIT, Batch, Group
from tidings.log.nudge import Nudger, nudge_directory
from tidings.log.open import Durability
from tidings.log.pack import Packets, packets, packets_of
from tidings.log.port import DEFAULT_MAX_LAG
from tidings.log.purge import Cut, cut_off, find_cut, give_back
from tidings.log.reading import Reader
from tidings.log.record import CHECKPOINTS, Checkpoint, LogRecord, Verified
from tidings.log.schema import connect, prepare
from tidings.log.verify import verify
from tidings.log.wake import Bell, Bells
from tidings.log.watch import Watch, Watches
from tidings.log.writer import Move, Writer

CHECKPOINT_BYTES = 16 * 1024 * 1024
PAGE_BYTES = 4096
PAGES_AT_ONCE = 64
"""How many free pages go back to the disk in one transaction: writers wait for no more than that."""


class SqliteLog:
    """An `EventLog` in a file. `poll_seconds` is the safety net behind nudges.

    `busy_seconds` is how long a commit waits, blocking, for another process's write lock;
    `queue_limit` how many awaited appends each event loop may have under way; `sync` is what makes
    a file descriptor's content power-safe.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        durability: Durability = "normal",
        clock: Callable[[], int] = now_ms,
        poll_seconds: float = 0.04,
        busy_seconds: float = 5.0,
        queue_limit: int = QUEUE_LIMIT,
        sync: Callable[[int], None] = sync_file,
    ) -> None:
        self.path = Path(path).resolve()
        self.closed = False
        self._durability = durability
        self._clock = clock
        self._busy = busy_seconds
        self._poll = poll_seconds
        self._queue_limit = queue_limit
        self._closing = Lock()
        self._groups: dict[asyncio.AbstractEventLoop, Group] = {}
        self._bells = Bells()
        self._watches = Watches(self._watch)
        with ExitStack() as undo:
            self._writer = Writer(prepare(self.path, busy_seconds), self.path)
            undo.callback(self._writer.close)
            self._reader = Reader(connect(self.path, busy_seconds), self.path)
            undo.callback(self._reader.close)
            self._nudger = Nudger(nudge_directory(self.path), self._watches.is_own)
            undo.callback(self._nudger.close)
            self._disk = self._disk_thread(sync)
            undo.pop_all()

    def append(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record; see `EventLog.append`."""
        return self._commit(alone(topic, kind, payload, self._clock()))[0]

    def append_batch(self, drafts: Iterable[Draft]) -> tuple[LogRecord, ...]:
        """Write drafts in one commit; see `EventLog.append_batch`."""
        return tuple(self._commit(columns_of(drafts, self._clock())))

    def append_series(self, written: Written) -> None:
        """Write lines and series in one commit; see `SeriesLog.append_series`."""
        if written:
            self._write(packets_of(written, self._clock()))

    async def append_durable(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record by group commit, from any loop; see `EventLog.append_durable`."""
        entry = entry_of(topic, kind, payload, self._clock())
        if self.closed:
            raise closed_error(self.path)
        group = self._groups.get(asyncio.get_running_loop()) or self._add_group()
        if group.full:
            await group.room()
        return await group.append(entry)

    def latest(self, topic: str) -> int:
        """Return the cursor of the topic's last record, 0 when it has none."""
        return self._reader.head(check_name("topic", topic))

    def purged_through(self, topic: str) -> int:
        """Return the cursor of the last record that is no longer kept, 0 when all are."""
        return self._reader.base(check_name("topic", topic))

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics that have records, sorted."""
        return self._reader.topics()

    def read(
        self, topic: str, from_cursor: int = 0, kind_prefix: str = "", limit: int | None = None
    ) -> Iterator[LogRecord]:
        """Iterate over what exists now, page by page; see `EventLog.read`."""
        check_name("topic", topic)
        position, prefix = check_cursor(from_cursor), check_prefix(kind_prefix)
        most = None if limit is None else check_cursor(limit, "limit")
        return self._reader.replay(topic, position, prefix, most)

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
        return self._reader.page(topic, position, kind_prefix, size)

    @contextmanager
    def listen(self, topic: str) -> Iterator[Bell]:
        """Hang up a subscriber's bell and watch other processes; see `follow.Source`."""
        with self._watches.watching(), self._bells.listen(topic) as bell:
            yield bell

    def purge(self, topic: str, through_cursor: int, *, dry_run: bool = False) -> Checkpoint | None:
        """Delete a topic's oldest commits, and give back their space; see `EventLog.purge`."""
        check_name("topic", topic)
        through = check_cursor(through_cursor, "through_cursor")
        self._check_open()
        whole = check_cut(self, topic, through)
        while (cut := self._find_cut(topic, through)) is not None:
            purged = cut.checkpoint(self._clock())
            if dry_run or self._cut_off(cut, purged, whole):
                return purged
            whole = check_cut(self, topic, through)
        return None

    def size(self) -> int:
        """Return how many bytes of the file are in use; what a purge freed is not."""
        return self._reader.size()

    def verify(self) -> Verified:
        """Check every record against the hash chain; see `EventLog.verify`."""
        self._check_open()
        with closing(connect(self.path, self._busy)) as connection:
            return verify(connection, self.path)

    def close(self) -> None:
        """Finish what is queued, end the subscribers, release the file. May wait for the disk."""
        with self._closing:
            if self.closed:
                return
            self._flush_here()
            self._disk.close()
            self.closed = True
            self._bells.ring_all()
            self._reader.close()
            self._writer.close()
            self._nudger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _commit(self, batch: Columns) -> list[LogRecord]:
        if not batch.topics:
            return []
        packed = packets(batch)
        return _records(batch, packed, self._write(packed))

    def _write(self, packed: Packets) -> list[Move]:
        moves = self._writer.commit(packed)
        self._bells.ring(packed)
        self._nudger.nudge()
        self._checkpoint_if_due()
        return moves

    def _checkpoint_if_due(self) -> None:
        if self._writer.written_bytes > CHECKPOINT_BYTES:
            self._writer.written_bytes = 0
            self._disk.checkpoint()

    def _find_cut(self, topic: str, through: int) -> Cut | None:
        with closing(connect(self.path, self._busy)) as connection:
            return find_cut(connection, topic, through, self.path)

    def _cut_off(self, cut: Cut, purged: Checkpoint, whole: bool) -> bool:
        """Purge; False when the topic changed meanwhile in a way that matters."""
        if not self._writer.transact(partial(cut_off, cut=cut, purged=purged, whole=whole)):
            return False
        self._bells.ring((CHECKPOINTS,))
        self._nudger.nudge()
        self._give_back()
        return True

    def _give_back(self) -> None:
        """Return free pages to the disk in small transactions; who writes gets in between them."""
        free = True
        while free:
            begun = time.monotonic()
            free = self._writer.transact(partial(give_back, pages=PAGES_AT_ONCE)) > 0
            self._writer.written_bytes += 2 * PAGES_AT_ONCE * PAGE_BYTES
            self._checkpoint_if_due()
            time.sleep(time.monotonic() - begun)

    def _commit_batch(self, batch: Batch) -> None:
        try:
            records = self._commit(Columns.of(batch.entries))
        except Exception as error:  # noqa: BLE001 whatever it is, the waiters must hear of it
            batch.refuse(error)
        else:
            batch.acknowledge(records)

    def _disk_thread(self, sync: Callable[[int], None]) -> DiskThread:
        """Leave checkpoints to the thread: they sync, and a commit may run in an event loop."""
        self._writer.connection.execute("PRAGMA wal_autocheckpoint = 0")
        wal = WalFile(self.path, sync)
        return DiskThread(wal, self._commit, partial(connect, self.path, self._busy))

    def _add_group(self) -> Group:
        submit = self._disk.submit if self._durability == "fsync" else self._commit_batch
        group = Group(submit, self._queue_limit)
        kept = {loop: other for loop, other in self._groups.items() if not loop.is_closed()}
        self._groups = {**kept, group.loop: group}
        return group

    def _flush_here(self) -> None:
        """Hand over what the running loop has collected; other loops do it on their own turn."""
        try:
            group = self._groups.get(asyncio.get_running_loop())
        except RuntimeError:
            return
        if group is not None:
            group.flush()

    def _watch(self) -> Watch:
        directory = nudge_directory(self.path)
        return Watch(directory, self._reader.data_version, self._bells.ring_all, self._poll)

    def _check_open(self) -> None:
        if self.closed:
            raise closed_error(self.path)


def _records(batch: Columns, packed: Packets, moves: Iterable[Move]) -> list[LogRecord]:
    """The records of `batch`, counted from the heads that it was laid on."""
    counting = {topic: count(before + 1) for topic, (_, _, _, before, _) in zip(packed, moves, strict=True)}
    cursors = [next(counting[topic]) for topic in batch.topics]
    return [*map(LogRecord, cursors, batch.topics, batch.kinds, batch.payloads, batch.times)]
