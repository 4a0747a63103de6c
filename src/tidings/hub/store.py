"""The hub's log: records in, the board they give, and a promise about the disk.

`commit` writes records in one commit and takes them into the board, so that the board never knows more
than the log; that outlives `kill -9`. `settle` waits until they also outlive a power cut: everybody who
waits at the same time shares one sync. Opening a store goes on from the last snapshot of its board and
replays what came later; `save` writes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tidings.core.records import Alike, Record, count
from tidings.hub.snapshot import restored, taken, write
from tidings.log import EventLog, open_log
from tidings.log.pack import appender
from tidings.shell.journal import gathered_of

TOPIC = "hub"
SETTLED_TOPIC = "hub.settled"


class Store:
    """A board and the log that it is the fold of. The hub is the only one who writes this log."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.board, self.saved = restored(log)
        for entry in log.read(TOPIC, self.saved):
            self.board.apply(Record(entry.kind, entry.payload))
        self._append = appender(log)
        self._written = log.latest(TOPIC)
        self._settled = self._written
        self._settling = asyncio.Lock()
        self._saving = asyncio.Lock()

    @property
    def cursor(self) -> int:
        """The number of the last record."""
        return self._written

    def commit(self, records: Sequence[Record | Alike]) -> None:
        """Write records, all or none, and take them into the board.

        Raises:
            LogUnavailableError: nothing was written, and nothing has changed.
        """
        if not records:
            return
        self._append(gathered_of(TOPIC, records, {}))
        self._written += count(records)
        for each in records:
            self.board.apply(each)

    async def settle(self) -> None:
        """Wait until everything written so far is safe on disk.

        Raises:
            LogUnavailableError: the disk did not confirm it.
        """
        wanted = self._written
        async with self._settling:
            if wanted > self._settled:
                reached = self._written
                await self.log.append_durable(SETTLED_TOPIC, "hub.settled", {"cursor": reached})
                self._settled = reached

    async def save(self) -> None:
        """Write a snapshot of the board, beside the event loop; `saved` is the cursor it stands for.

        Raises:
            LogUnavailableError: it could not be written; the one before still counts.
        """
        async with self._saving:
            if self._written > self.saved:
                state = taken(self.board, self._written)
                await asyncio.to_thread(write, self.log, state)
                self.saved = state.cursor


def open_store(path: Path) -> Store:
    """The store in a file, which is made if need be; an acknowledged reminder outlives a power cut.

    Raises:
        LogError: the file cannot be used.
    """
    return Store(open_log(path, durability="fsync"))
