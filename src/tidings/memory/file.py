"""One memory file, open: one connection that writes, one that reads, each behind its lock.

In WAL mode a reader never waits for the writer's disk, so an answer is not late because something is being
remembered. Every call is one transaction that is undone when anything is raised. `store.py` calls this.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from tidings.errors import CallerError
from tidings.memory.failure import MemoryUnavailableError, memory_error
from tidings.memory.schema import connect, prepare

_PATIENCE = 30.0
"""Seconds that a thread waits for another one, beyond what SQLite waits for other processes."""


class MemoryFile:
    """The SQLite file at `path`, created when it does not exist.

    Raises:
        CallerError: the file is a database of something else.
        MemoryStoreError: it cannot be opened, or is damaged.
    """

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._process = os.getpid()
        self._identity: tuple[int, int] | None = None
        self._locks = {"BEGIN IMMEDIATE": Lock(), "BEGIN": Lock()}
        writer = prepare(path, busy_seconds)
        try:
            self._connections = {"BEGIN IMMEDIATE": writer, "BEGIN": connect(path, busy_seconds)}
        except BaseException:
            writer.close()
            raise
        self._identity = _identity(path)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that may write."""
        with self._held("BEGIN IMMEDIATE") as connection, _transaction(connection, "BEGIN IMMEDIATE"):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one state of the file."""
        with self._held("BEGIN") as connection, _transaction(connection, "BEGIN"):
            yield connection

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The writer outside a transaction while nobody here reads: for vacuum and checkpoint."""
        with self._held("BEGIN"), self._held("BEGIN IMMEDIATE") as connection:
            yield connection

    def must_be_open(self) -> None:
        """Refuse to work on a closed file.

        Raises:
            MemoryUnavailableError: it is closed.
        """
        if not self._connections:
            raise MemoryUnavailableError(f"memory {self.path} is closed; open it again")

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        for name, lock in self._locks.items():
            with lock:
                connection = self._connections.pop(name, None)
                if connection is not None and self._process == os.getpid():
                    connection.close()

    def _must_be_the_same(self) -> None:
        """Refuse to work on a file that is no longer at its place: what is written to it would be lost."""
        if _identity(self.path) != self._identity:
            raise MemoryUnavailableError(
                f"memory {self.path} was deleted, moved or replaced while it was open; open it again"
            )

    @contextmanager
    def _held(self, name: str) -> Iterator[sqlite3.Connection]:
        if self._process != os.getpid():
            raise CallerError(f"memory {self.path} was opened before a fork; open it in each process")
        if not self._locks[name].acquire(timeout=self._busy_seconds + _PATIENCE):
            raise MemoryUnavailableError(f"memory {self.path} is busy in other threads; try again")
        try:
            if name not in self._connections:
                raise MemoryUnavailableError(f"memory {self.path} is closed; open it again")
            self._must_be_the_same()
            yield self._connections[name]
        except sqlite3.Error as error:
            raise memory_error(error, self.path) from error
        finally:
            self._locks[name].release()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
