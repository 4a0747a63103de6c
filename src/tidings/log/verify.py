"""Verification: walk every topic's chain from its base to its head and name the first break.

Reads one snapshot over a connection of its own, batch by batch, so that memory holds one commit at
a time. Finds changed, removed, inserted and cut-off records. Called by `SqliteLog.verify`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tidings.errors import LogCorruptError
from tidings.log.chain import SPAN, Row, link, row_id
from tidings.log.failure import log_error
from tidings.log.pack import count
from tidings.log.record import Verified

_TOPICS = "SELECT id, name, base_cursor, base_link, cursor, link FROM topics ORDER BY id"
_ROWS = "SELECT id, at_ms, kind, payload, link FROM records WHERE id > ? AND id < ? ORDER BY id"


class _Topic(msgspec.Struct, frozen=True):
    id: int
    name: str
    base_cursor: int
    base_link: bytes
    cursor: int
    link: bytes


class _Walked(msgspec.Struct, frozen=True):
    batches: int
    rows: int


def verify(connection: sqlite3.Connection, path: Path) -> Verified:
    """Check the whole file.

    Raises:
        LogCorruptError: naming the topic and cursor of the first break.
    """
    try:
        connection.execute("BEGIN")
        topics = [_Topic(*row) for row in connection.execute(_TOPICS)]
        _check_no_topic_missing(topics, path)
        walked = [_check_topic(connection, topic, path) for topic in topics]
        _check_no_stray(connection, sum(chain.rows for chain in walked), path)
    except sqlite3.Error as error:
        raise log_error(error, path) from error
    records = sum(topic.cursor - topic.base_cursor for topic in topics)
    batches = sum(chain.batches for chain in walked)
    return Verified(sum(topic.cursor > 0 for topic in topics), records, batches)


def _check_no_topic_missing(topics: list[_Topic], path: Path) -> None:
    for expected, topic in enumerate(topics, 1):
        if topic.id != expected:
            raise LogCorruptError(f"event log {path}: topic number {expected} is missing")


def _check_topic(connection: sqlite3.Connection, topic: _Topic, path: Path) -> _Walked:
    """Walk one chain and count what it consists of."""
    cursor, previous, batches, stored = topic.base_cursor, topic.base_link, 0, 0
    for rows in _batches(connection, topic):
        last = _check_dense(rows, topic, cursor, path)
        found = rows[-1][4]
        rows[-1] = (*rows[-1][:4], None)
        if found is None or link(previous, topic.name, rows) != found:
            raise _broken(path, topic, cursor + 1, f"records {cursor + 1} to {last} were changed")
        cursor, previous, batches, stored = last, found, batches + 1, stored + len(rows)
    if cursor != topic.cursor:
        at = min(cursor, topic.cursor) + 1
        raise _broken(path, topic, at, f"it ends at {cursor} where {topic.cursor} were written")
    if previous != topic.link:
        raise _broken(path, topic, cursor, "its head does not match its last record")
    return _Walked(batches, stored)


def _batches(connection: sqlite3.Connection, topic: _Topic) -> Iterator[list[Row]]:
    """Group a topic's rows by commit; the last group lacks its link when the tail was cut."""
    bounds = (row_id(topic.id, topic.base_cursor), row_id(topic.id + 1, 0))
    batch: list[Row] = []
    for row in connection.execute(_ROWS, bounds):
        batch.append(row)
        if row[4] is not None:
            yield batch
            batch = []
    if batch:
        yield batch


def _check_dense(rows: list[Row], topic: _Topic, cursor: int, path: Path) -> int:
    """The cursor that `rows` reach, when each begins where the one before it ended."""
    for row in rows:
        end = cursor + count(str(row[2]))
        if row[0] % SPAN != end:
            raise _broken(path, topic, cursor + 1, f"record {cursor + 1} is missing")
        cursor = end
    return cursor


def _check_no_stray(connection: sqlite3.Connection, rows: int, path: Path) -> None:
    stored = connection.execute("SELECT count(*) FROM records").fetchone()[0]
    if stored != rows:
        raise LogCorruptError(f"event log {path}: {stored - rows} rows belong to no topic's chain")


def _broken(path: Path, topic: _Topic, cursor: int, what: str) -> LogCorruptError:
    return LogCorruptError(
        f"event log {path}: topic {topic.name!r} does not verify at cursor {cursor}: {what}",
        topic=topic.name,
        cursor=cursor,
    )
