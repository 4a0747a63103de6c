"""The thread that waits for the disk, so that no event loop has to: it checkpoints and syncs.

A durable batch is committed in the ordinary way; then, outside every lock, this thread syncs the
-wal file and acknowledges. SQLite's synchronous=FULL syncs the same file, but keeps the write lock
meanwhile, and an append in an event loop would wait for it. A reader can therefore see a record
shortly before it is power-safe.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from tidings.errors import LogError, LogUnavailableError
from tidings.log.entry import Columns
from tidings.log.failure import closed_error
from tidings.log.group import Batch
from tidings.log.record import LogRecord

TRUNCATE_BYTES = 64 * 1024 * 1024
sync_file: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)
_logger = logging.getLogger(__name__)


class WalFile:
    """The write-ahead log as a file to sync. It exists as long as the log is open."""

    def __init__(self, path: Path, sync: Callable[[int], None]) -> None:
        self.path = path
        self._sync = sync
        self._failed: OSError | None = None
        self._file = os.open(f"{path}-wal", os.O_RDONLY)
        _sync_directory(path.parent)

    def sync(self) -> None:
        """Wait until everything written so far is on disk.

        Raises:
            LogUnavailableError: the disk refused, now or earlier: it may have dropped what it
                refused, so no later success would prove anything.
        """
        try:
            if self._failed is None:
                self._sync(self._file)
        except OSError as error:
            self._failed = error
        if self._failed is not None:
            raise LogUnavailableError(
                f"event log {self.path}: the disk did not confirm a sync ({self._failed}); "
                "records since then may be lost in a power cut: check the disk, reopen the log"
            ) from self._failed

    def size(self) -> int:
        """Return its length in bytes."""
        return os.fstat(self._file).st_size

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class DiskThread:
    """Does one thing after the other, in the order it was asked; starts when it is first asked."""

    def __init__(
        self,
        wal: WalFile,
        commit: Callable[[Columns], list[LogRecord]],
        open_connection: Callable[[], sqlite3.Connection],
    ) -> None:
        self._wal = wal
        self._commit = commit
        self._connect = open_connection
        self._queue: SimpleQueue[Batch | Callable[[], None] | None] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._closed = False

    def submit(self, batch: Batch) -> None:
        """Queue a batch; its waiters are answered in their own loop."""
        with self._lock:
            if not self._closed:
                self._put(batch)
                return
        batch.refuse(closed_error(self._wal.path))

    def checkpoint(self) -> None:
        """Ask for the write-ahead log to be moved into the database soon."""
        with self._lock:
            if not self._closed:
                self._put(self._checkpoint)

    def close(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._lock:
            already, self._closed = self._closed, True
            self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
        if not already:
            self._wal.close()

    def _put(self, item: Batch | Callable[[], None]) -> None:
        self._queue.put(item)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="tidings-log-disk", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            batches, then = self._gather(item)
            if batches:
                self._serve(batches)
            if then is None:
                return
            then()

    def _gather(
        self, item: Batch | Callable[[], None] | None
    ) -> tuple[list[Batch], Callable[[], None] | None]:
        """Take the batches that are waiting, and what to do after them: None ends the thread."""
        batches = []
        while isinstance(item, Batch):
            batches.append(item)
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batches, _nothing
        return batches, item

    def _serve(self, batches: Sequence[Batch]) -> None:
        entries = [entry for batch in batches for entry in batch.entries]
        try:
            records = self._commit(Columns.of(entries))
            self._wal.sync()
        except Exception as error:  # noqa: BLE001 whatever it is, the waiters must hear of it
            for batch in batches:
                batch.post(partial(batch.refuse, error))
            return
        for batch in batches:
            mine, records = records[: len(batch.entries)], records[len(batch.entries) :]
            batch.post(partial(batch.acknowledge, mine))

    def _checkpoint(self) -> None:
        """Move pages into the database beside the writers.

        Under a load that never pauses the file still grows; when it is far beyond its usual size,
        writers are held for the moment that it takes to cut it off.
        """
        try:
            with closing(self._connect()) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                if self._wal.size() > TRUNCATE_BYTES:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (sqlite3.Error, LogError) as error:
            _logger.warning("event log %s: checkpoint put off: %s", self._wal.path, error)


def _nothing() -> None:
    """Do nothing between two batches."""


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
