"""The write path: packets become rows on top of each topic's head, in one transaction.

Heads are remembered between commits and moved by compare-and-set: when another process wrote in
between, the update touches no row, and the batch is laid again on heads read under the write lock.
What is remembered changes only after COMMIT, so a failed commit leaves it right. Any thread may
commit; one at a time does.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import TypeAlias, TypeVar

import msgspec

from tidings.errors import LogCorruptError, LogUsageError
from tidings.log.chain import ORIGIN, SPAN, TABLES, Row, table_of
from tidings.log.chain import link as link_of
from tidings.log.failure import closed_error, log_error
from tidings.log.pack import Packets

T = TypeVar("T")

_REMEMBERED_TOPICS = 10_000
_COMMIT_BYTES = 3 * 4096
"""What even the smallest commit adds to the write-ahead log: a few pages, whole."""

_COLUMNS = "(id, at_ms, kind, payload, link) VALUES (?, ?, ?, ?, ?)"
_INSERT = {table: f"INSERT INTO {table} {_COLUMNS}" for table in TABLES}
_ADVANCE = "UPDATE chains SET cursor = ?, link = ? WHERE id = ? AND cursor = ? AND link = ?"
_FIND = "SELECT id, cursor, link FROM chains WHERE name = ?"
_CREATE = "INSERT INTO chains (name, base_cursor, base_link, cursor, link) VALUES (?, 0, ?, 0, ?)"


Head: TypeAlias = tuple[int, int, bytes]
"""Where a topic ends: its id, its last cursor and the link there."""
Move: TypeAlias = tuple[int, bytes, int, int, bytes]
"""A head's new cursor and link, its topic, and the cursor and link that it must have had."""


class Stack(msgspec.Struct, frozen=True):
    """Packets laid on their heads: rows to insert, by table, and where the heads go."""

    rows: dict[str, list[Row]]
    heads: dict[str, Head]
    moves: list[Move]


def stack(packets: Packets, heads: Mapping[str, Head]) -> Stack:
    """Give each packet its place and each topic its next link."""
    rows: dict[str, list[Row]] = {}
    after: dict[str, Head] = {}
    moves: list[Move] = []
    for topic, given in packets.items():
        topic_id, before, previous = heads[topic]
        laid: list[Row] = []
        last, first = before, topic_id * SPAN
        for count, at_ms, kinds, payloads in given:
            last += count
            laid.append((first + last, at_ms, kinds, payloads, None))
        link = link_of(previous, topic, laid)
        laid[-1] = (first + last, at_ms, kinds, payloads, link)
        after[topic] = (topic_id, last, link)
        moves.append((last, link, topic_id, before, previous))
        rows.setdefault(table_of(topic_id), []).extend(laid)
    return Stack(rows, after, moves)


def create_topic(connection: sqlite3.Connection, topic: str) -> Head:
    """Make a topic without records, inside the caller's transaction; gives its head."""
    created = connection.execute(_CREATE, (topic, ORIGIN, ORIGIN))
    return (created.lastrowid or 0, 0, ORIGIN)


def insert_rows(cursor: sqlite3.Cursor, stacked: Stack) -> None:
    """Put the rows into their tables, inside the caller's transaction."""
    for table, rows in stacked.rows.items():
        cursor.executemany(_INSERT[table], rows)


class Writer:
    """The log's one writing connection."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self.written_bytes = 0
        self._path = path
        self._pid = os.getpid()
        self._lock = Lock()
        self._heads: dict[str, Head] = {}
        self._closed = False

    def commit(self, packets: Packets) -> list[Move]:
        """Write all packets or none, visible to every process on return; says how each topic's head moved.

        Raises:
            LogUnavailableError: SQLite refused, and nothing was written.
        """
        with self._lock:
            self._check_usable()
            try:
                moves = self._attempt(packets) or self._attempt_afresh(packets)
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise log_error(error, self._path) from error
                raise
        return moves

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction of its own; when it raises, nothing of it stays.

        Raises:
            LogUnavailableError: SQLite refused.
        """
        with self._lock:
            self._check_usable()
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                done = work(self.connection)
                self.connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error):
                    raise log_error(error, self._path) from error
                raise
        return done

    def close(self) -> None:
        """Close the connection after the commit that may be under way."""
        with self._lock:
            self._closed = True
            self.connection.close()

    def _attempt(self, packets: Packets) -> list[Move] | None:
        """Run the transaction; None when a remembered head was not the head any more."""
        cursor, heads = self._cursor, self._heads
        cursor.execute("BEGIN IMMEDIATE")
        if not packets.keys() <= heads.keys():
            heads = {topic: heads.get(topic) or self._load(topic) for topic in packets}
        stacked = stack(packets, heads)
        if cursor.executemany(_ADVANCE, stacked.moves).rowcount != len(packets):
            cursor.execute("ROLLBACK")
            return None
        insert_rows(cursor, stacked)
        cursor.execute("COMMIT")
        self._remember(stacked.heads)
        self.written_bytes += _COMMIT_BYTES + sum(
            [len(row[3]) for rows in stacked.rows.values() for row in rows]
        )
        return stacked.moves

    def _attempt_afresh(self, packets: Packets) -> list[Move]:
        self._heads.clear()
        moves = self._attempt(packets)
        if moves is None:
            raise LogCorruptError(f"event log {self._path}: a topic's head changed under its lock")
        return moves

    def _load(self, topic: str) -> Head:
        found: Head | None = self.connection.execute(_FIND, (topic,)).fetchone()
        if found is not None:
            return found
        return create_topic(self.connection, topic)

    def _remember(self, heads: Mapping[str, Head]) -> None:
        if len(self._heads) > _REMEMBERED_TOPICS:
            self._heads.clear()
        self._heads.update(heads)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _check_usable(self) -> None:
        if self._closed:
            raise closed_error(self._path)
        if os.getpid() != self._pid:
            raise LogUsageError(f"event log {self._path} was opened before a fork; open it in each process")
