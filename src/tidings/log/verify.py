"""Verification: walk every topic's chain from its base to its head and name the first break.

Reads one snapshot over a connection of its own, batch by batch, so that memory holds one commit at
a time. Finds changed, removed, inserted and cut-off records. A topic that was purged begins at its newest
checkpoint, and only there. Called by `SqliteLog.verify`; a purge walks what it is about to delete.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tidings.errors import LogCorruptError
from tidings.log.chain import ORIGIN, SPAN, TABLES, Row, link, row_id, table_of
from tidings.log.checkpoint import newest
from tidings.log.failure import log_error
from tidings.log.pack import WHOLE, count
from tidings.log.record import CHECKPOINTS, Checkpoint, Verified

_COLUMNS = "SELECT id, name, base_cursor, base_link, cursor, link FROM chains"
_TOPICS = f"{_COLUMNS} ORDER BY id"
_TOPIC = f"{_COLUMNS} WHERE name = ?"
_STATED = f"SELECT {WHOLE} FROM {{}} WHERE id > ? AND id < ? ORDER BY id"
_ROWS = "SELECT id, at_ms, kind, payload, link FROM {} WHERE id > ? AND id < ? ORDER BY id"


class Topic(msgspec.Struct, frozen=True):
    """One chain: where it begins, after what was purged, and where it ends."""

    id: int
    name: str
    base_cursor: int
    base_link: bytes
    cursor: int
    link: bytes


class Walked(msgspec.Struct, frozen=True):
    """What a chain, or a part of it, consists of."""

    batches: int
    rows: int


def verify(connection: sqlite3.Connection, path: Path) -> Verified:
    """Check the whole file.

    Raises:
        LogCorruptError: naming the topic and cursor of the first break.
    """
    try:
        connection.execute("BEGIN")
        topics = [Topic(*row) for row in connection.execute(_TOPICS)]
        _check_no_topic_missing(topics, path)
        walked = [check_chain(connection, topic, path) for topic in topics]
        _check_no_stray(connection, sum(chain.rows for chain in walked), path)
        checkpoints = _check_bases(connection, topics, path)
    except sqlite3.Error as error:
        raise log_error(error, path) from error
    kept = sum(topic.cursor > topic.base_cursor for topic in topics)
    records = sum(topic.cursor - topic.base_cursor for topic in topics)
    return Verified(kept, records, sum(chain.batches for chain in walked), checkpoints)


def find_topic(connection: sqlite3.Connection, name: str) -> Topic | None:
    """The topic of that name, if there is one."""
    found = connection.execute(_TOPIC, (name,)).fetchone()
    return None if found is None else Topic(*found)


def checkpoints_in(connection: sqlite3.Connection) -> dict[str, Checkpoint]:
    """The newest checkpoint of each topic that was purged.

    Raises:
        ValueError: a record of them is no checkpoint.
    """
    found = find_topic(connection, CHECKPOINTS)
    if found is None:
        return {}
    bounds = (row_id(found.id, found.base_cursor), row_id(found.id + 1, 0))
    stated = connection.execute(_STATED.format(table_of(found.id)), bounds)
    return newest(line for (lines,) in stated for line in lines.split("\n"))


def _check_bases(connection: sqlite3.Connection, topics: list[Topic], path: Path) -> tuple[Checkpoint, ...]:
    """Compare where each chain begins with what its newest checkpoint says."""
    try:
        known = checkpoints_in(connection)
    except ValueError as error:
        raise LogCorruptError(f"event log {path}: {error}", topic=CHECKPOINTS) from error
    for topic in topics:
        said = known.get(topic.name)
        begins = (topic.base_cursor, topic.base_link.hex())
        if begins != ((0, ORIGIN.hex()) if said is None else (said.purged_through, said.link)):
            raise _broken(path, topic, topic.base_cursor, "no checkpoint says that it begins here")
    return tuple(known[name] for name in sorted(known))


def _check_no_topic_missing(topics: list[Topic], path: Path) -> None:
    for expected, topic in enumerate(topics, 1):
        if topic.id != expected:
            raise LogCorruptError(f"event log {path}: topic number {expected} is missing")


def check_chain(
    connection: sqlite3.Connection, topic: Topic, path: Path, until: int | None = None
) -> Walked:
    """Walk one chain, to its head or to the link at `until`, and count what it consists of.

    Raises:
        LogCorruptError: naming the cursor of the first break.
    """
    cursor, previous, batches, stored = topic.base_cursor, topic.base_link, 0, 0
    end = row_id(topic.id + 1, 0) if until is None else row_id(topic.id, until + 1)
    for rows in _batches(connection, topic, end):
        last = _check_dense(rows, topic, cursor, path)
        found = rows[-1][4]
        rows[-1] = (*rows[-1][:4], None)
        if found is None or link(previous, topic.name, rows) != found:
            raise _broken(path, topic, cursor + 1, f"records {cursor + 1} to {last} were changed")
        cursor, previous, batches, stored = last, found, batches + 1, stored + len(rows)
    if until is None:
        _check_head(topic, cursor, previous, path)
    return Walked(batches, stored)


def _check_head(topic: Topic, cursor: int, last: bytes, path: Path) -> None:
    if cursor != topic.cursor:
        at = min(cursor, topic.cursor) + 1
        raise _broken(path, topic, at, f"it ends at {cursor} where {topic.cursor} were written")
    if last != topic.link:
        raise _broken(path, topic, cursor, "its head does not match its last record")


def _batches(connection: sqlite3.Connection, topic: Topic, end: int) -> Iterator[list[Row]]:
    """Group a topic's rows before `end` by commit; the last lacks its link when the tail was cut."""
    bounds = (row_id(topic.id, topic.base_cursor), end)
    batch: list[Row] = []
    for row in connection.execute(_ROWS.format(table_of(topic.id)), bounds):
        batch.append(row)
        if row[4] is not None:
            yield batch
            batch = []
    if batch:
        yield batch


def _check_dense(rows: list[Row], topic: Topic, cursor: int, path: Path) -> int:
    """The cursor that `rows` reach, when each begins where the one before it ended."""
    for row in rows:
        end = cursor + count(str(row[2]))
        if row[0] % SPAN != end:
            raise _broken(path, topic, cursor + 1, f"record {cursor + 1} is missing")
        cursor = end
    return cursor


def _check_no_stray(connection: sqlite3.Connection, rows: int, path: Path) -> None:
    stored = sum(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES)
    if stored != rows:
        raise LogCorruptError(f"event log {path}: {stored - rows} rows belong to no topic's chain")


def _broken(path: Path, topic: Topic, cursor: int, what: str) -> LogCorruptError:
    return LogCorruptError(
        f"event log {path}: topic {topic.name!r} does not verify at cursor {cursor}: {what}",
        topic=topic.name,
        cursor=cursor,
    )
