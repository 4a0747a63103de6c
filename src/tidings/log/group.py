"""Group commit, the loop's side: what producers append in one turn of the loop becomes one batch.

The first append of a turn schedules the flush; whoever appends before it runs rides along. `submit`
decides what a batch costs: an inline commit, or the fsync thread. At most `limit` records wait for
their acknowledgement; beyond that producers wait for room. Each event loop has a group of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tidings.log.entry import Entry
from tidings.log.record import LogRecord

QUEUE_LIMIT = 4096


class Batch:
    """Entries of one turn and the futures of those who wait for them."""

    __slots__ = ("_done", "_loop", "entries", "futures")

    def __init__(self, loop: asyncio.AbstractEventLoop, done: Callable[[int], None]) -> None:
        self.entries: list[Entry] = []
        self.futures: list[asyncio.Future[LogRecord]] = []
        self._loop = loop
        self._done = done

    def acknowledge(self, records: Sequence[LogRecord]) -> None:
        """Give every waiter its record; those who were cancelled are passed over."""
        for future, record in zip(self.futures, records, strict=True):
            if not future.done():
                future.set_result(record)
        self._done(len(self.entries))

    def refuse(self, error: BaseException) -> None:
        """Tell every waiter that the batch was not kept."""
        for future in self.futures:
            if not future.done():
                future.set_exception(error)
        self._done(len(self.entries))

    def post(self, settle: Callable[[], None]) -> None:
        """Run `settle` in the waiters' loop, from any thread; a closed loop has no waiters."""
        try:
            self._loop.call_soon_threadsafe(settle)
        except RuntimeError:
            if not self._loop.is_closed():
                raise


class Group:
    """The appends of one event loop."""

    def __init__(self, submit: Callable[[Batch], None], limit: int = QUEUE_LIMIT) -> None:
        self.loop = asyncio.get_running_loop()
        self._submit = submit
        self._limit = limit
        self._waiting = 0
        self._room = asyncio.Event()
        self._batch: Batch | None = None

    @property
    def full(self) -> bool:
        """Whether the next producer has to wait for room."""
        return self._waiting >= self._limit

    async def room(self) -> None:
        """Wait until there is room for one more."""
        while self.full:
            self._room.clear()
            await self._room.wait()

    def append(self, entry: Entry) -> asyncio.Future[LogRecord]:
        """Queue an entry; the future is its acknowledgement."""
        batch = self._batch
        if batch is None:
            batch = self._batch = Batch(self.loop, self._settled)
            self.loop.call_soon(self.flush)
        future: asyncio.Future[LogRecord] = self.loop.create_future()
        batch.entries.append(entry)
        batch.futures.append(future)
        self._waiting += 1
        return future

    def flush(self) -> None:
        """Hand over what was collected; called by the loop, and early when the log closes."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._submit(batch)

    def _settled(self, count: int) -> None:
        self._waiting -= count
        self._room.set()
