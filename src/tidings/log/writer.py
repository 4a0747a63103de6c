"""The write path: entries become rows on top of each topic's head, in one transaction.

Heads are remembered between commits and moved by compare-and-set: when another process wrote in
between, the update touches no row, and the batch is laid again on heads read under the write lock.
What is remembered changes only after COMMIT, so a failed commit leaves it right. Any thread may
commit; one at a time does.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec

from tidings.errors import LogCorruptError, LogUsageError
from tidings.log.chain import ORIGIN, Row, row_id, seal
from tidings.log.entry import Entry
from tidings.log.failure import closed_error, log_error
from tidings.log.record import LogRecord

T = TypeVar("T")

_REMEMBERED_TOPICS = 10_000
_COMMIT_BYTES = 3 * 4096
"""What even the smallest commit adds to the write-ahead log: a few pages, whole."""

_INSERT = "INSERT INTO records (id, at_ms, kind, payload, link) VALUES (?, ?, ?, ?, ?)"
_TOGETHER = 50
_INSERT_MANY = _INSERT + ", (?, ?, ?, ?, ?)" * (_TOGETHER - 1)
_ADVANCE = "UPDATE topics SET cursor = ?, link = ? WHERE id = ? AND cursor = ? AND link = ?"
_FIND = "SELECT id, cursor, link FROM topics WHERE name = ?"
_CREATE = "INSERT INTO topics (name, base_cursor, base_link, cursor, link) VALUES (?1, 0, ?2, 0, ?2)"


class Head(msgspec.Struct, frozen=True):
    """Where a topic ends: its last cursor and the link there."""

    topic_id: int
    cursor: int
    link: bytes


class Stack(msgspec.Struct, frozen=True):
    """A batch laid on its heads: rows to insert, the cursor of each entry, the heads afterwards."""

    rows: list[Row]
    cursors: Sequence[int]
    heads: dict[str, Head]


def stack(entries: Sequence[Entry], heads: Mapping[str, Head]) -> Stack:
    """Give each entry its cursor and each topic its next link."""
    if len(heads) == 1:
        return _stack_one(entries, *next(iter(heads.items())))
    piles: dict[str, list[Entry]] = {topic: [] for topic in heads}
    cursors: list[int] = []
    for entry in entries:
        pile = piles[entry.topic]
        pile.append(entry)
        cursors.append(heads[entry.topic].cursor + len(pile))
    rows: list[Row] = []
    after = {}
    for topic, head in heads.items():
        laid = _rows(piles[topic], head)
        after[topic] = Head(head.topic_id, head.cursor + len(laid), seal(head.link, topic, laid))
        rows += laid
    return Stack(rows, cursors, after)


def _stack_one(entries: Sequence[Entry], topic: str, head: Head) -> Stack:
    """The usual batch: one topic, so the cursors are a range."""
    rows = _rows(entries, head)
    last = head.cursor + len(rows)
    after = Head(head.topic_id, last, seal(head.link, topic, rows))
    return Stack(rows, range(head.cursor + 1, last + 1), {topic: after})


class Writer:
    """The log's one writing connection."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.written_bytes = 0
        self._path = path
        self._pid = os.getpid()
        self._lock = Lock()
        self._heads: dict[str, Head] = {}
        self._closed = False

    def commit(self, entries: Sequence[Entry]) -> list[LogRecord]:
        """Write all entries or none; they are visible to every process on return.

        Raises:
            LogUnavailableError: SQLite refused, and nothing was written.
        """
        if not entries:
            return []
        with self._lock:
            self._check_usable()
            cursors = self._commit(entries)
        return [
            LogRecord(cursor, entry.topic, entry.kind, entry.payload, entry.occurred_at_ms)
            for cursor, entry in zip(cursors, entries, strict=True)
        ]

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

    def _commit(self, entries: Sequence[Entry]) -> Sequence[int]:
        try:
            done = self._attempt(entries) or self._attempt_afresh(entries)
        except BaseException as error:
            self._roll_back()
            if isinstance(error, sqlite3.Error):
                raise log_error(error, self._path) from error
            raise
        self._remember(done.heads)
        self.written_bytes += _COMMIT_BYTES + sum([len(entry.payload) for entry in entries])
        return done.cursors

    def _attempt(self, entries: Sequence[Entry]) -> Stack | None:
        """Run the transaction; None when a remembered head was not the head any more."""
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        heads = self._heads_of({entry.topic for entry in entries})
        stacked = stack(entries, heads)
        if not self._advance(heads, stacked.heads):
            execute("ROLLBACK")
            return None
        self._insert(stacked.rows)
        execute("COMMIT")
        return stacked

    def _insert(self, rows: list[Row]) -> None:
        """Insert many rows at a time where there are many: a statement costs more than its rows."""
        whole = len(rows) - len(rows) % _TOGETHER
        for start in range(0, whole, _TOGETHER):
            values = chain.from_iterable(rows[start : start + _TOGETHER])
            self.connection.execute(_INSERT_MANY, tuple(values))
        if whole < len(rows):
            self.connection.executemany(_INSERT, rows[whole:])

    def _attempt_afresh(self, entries: Sequence[Entry]) -> Stack:
        self._heads.clear()
        stacked = self._attempt(entries)
        if stacked is None:
            raise LogCorruptError(f"event log {self._path}: a topic's head changed under its lock")
        return stacked

    def _heads_of(self, topics: Iterable[str]) -> dict[str, Head]:
        return {topic: self._heads.get(topic) or self._load(topic) for topic in topics}

    def _load(self, topic: str) -> Head:
        found = self.connection.execute(_FIND, (topic,)).fetchone()
        if found is not None:
            return Head(*found)
        created = self.connection.execute(_CREATE, (topic, ORIGIN))
        return Head(created.lastrowid or 0, 0, ORIGIN)

    def _advance(self, before: Mapping[str, Head], after: Mapping[str, Head]) -> bool:
        moves = [
            (new.cursor, new.link, new.topic_id, before[topic].cursor, before[topic].link)
            for topic, new in after.items()
        ]
        return self.connection.executemany(_ADVANCE, moves).rowcount == len(moves)

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


def _rows(entries: Sequence[Entry], head: Head) -> list[Row]:
    first = row_id(head.topic_id, head.cursor + 1)
    return [
        (at, entry.occurred_at_ms, entry.kind, entry.payload, None)
        for at, entry in enumerate(entries, first)
    ]
