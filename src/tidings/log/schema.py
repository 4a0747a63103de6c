"""The file: three tables in WAL mode, marked as ours, and the connections to it.

`records` is clustered by one integer, topic and cursor packed together: measured against a
two-column key WITHOUT ROWID it writes a third faster and is smaller. A row holds what `pack` put
into it. The first topic, the lifecycle of all reminders, has `first_records` to itself: nearly every commit
adds to it, and if its end were in the middle of a tree, most would move neighbouring pages too (7.6 pages
written for a turn of an agent, not 4.7). `chains` keeps each topic's head, and its base: where a purge cut
history off and the chain goes on. Freed pages can be given back.

A file of an older schema is brought up to date when it is opened. An older Tidings that has it open then
finds no table `topics` any more, and writes nothing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.errors import LogUnavailableError, LogUsageError
from tidings.log.chain import ORIGIN, SPAN, TABLES
from tidings.log.failure import log_error
from tidings.log.wal import takes_wal

APPLICATION_ID = 0x7464676C  # "tdgl"
VERSION = 3

_ROWS = """CREATE TABLE {} (
    id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL, payload TEXT NOT NULL, link BLOB)"""
_CREATE = (
    """CREATE TABLE chains (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        base_cursor INTEGER NOT NULL, base_link BLOB NOT NULL,
        cursor INTEGER NOT NULL, link BLOB NOT NULL)""",
    *[_ROWS.format(table) for table in TABLES],
    f"INSERT INTO chains VALUES (1, '{LIFECYCLE_TOPIC}', 0, x'{ORIGIN.hex()}', 0, x'{ORIGIN.hex()}')",
    f"PRAGMA application_id = {APPLICATION_ID}",
)
_DIVIDE = (
    "ALTER TABLE topics RENAME TO chains",
    _ROWS.format(TABLES[0]),
    f"INSERT INTO {TABLES[0]} SELECT * FROM {TABLES[1]} WHERE id < {2 * SPAN} ORDER BY id",
    f"DELETE FROM {TABLES[1]} WHERE id < {2 * SPAN}",
)
_STEPS: dict[int, tuple[str, ...]] = {1: (), 2: _DIVIDE}
"""What leads on from each schema: 1 had a row for each record, read as it is; 2 had one table of rows."""


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open one more connection to a prepared file; the caller closes it.

    Raises:
        LogUnavailableError: the file cannot be opened.
    """
    try:
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise log_error(error, path) from error
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error as error:
        connection.close()
        raise log_error(error, path) from error
    return connection


def prepare(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open the file for writing, creating it or checking that it is a log we understand.

    Raises:
        LogUsageError: the file is a database of something else.
        LogUnavailableError: it cannot be written, or a newer Tidings wrote it.
        LogCorruptError: it is not a database.
    """
    connection = connect(path, busy_seconds)
    try:
        _bring_up_to_date(connection, path)
        _switch_to_wal(connection, path, time.monotonic() + busy_seconds)
        _prove_writable(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise log_error(error, path) from error
        raise
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # whoever creates the file meanwhile has done all of it or nothing
    schema = _schema(connection, path)
    connection.execute("COMMIT")
    if schema == VERSION:
        return
    if schema == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _way_from(_schema(connection, path)):
        connection.execute(statement)
    connection.execute("COMMIT")


def _way_from(found: int) -> Iterator[str]:
    """What makes the file of today out of one of schema `found`; 0 is an empty one."""
    if found == VERSION:
        return
    if found == 0:
        yield from _CREATE
    else:
        for schema in range(found, VERSION):
            yield from _STEPS[schema]
    yield f"PRAGMA user_version = {VERSION}"


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    """Tell an empty file, 0, from a log of ours; refuse everything else untouched."""
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    tables = _number(connection, "SELECT count(*) FROM sqlite_master")
    if (application, version, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION_ID:
        raise LogUsageError(
            f"{path} is a SQLite database of another application; give the log a file of its own"
        )
    if version > VERSION:
        raise LogUnavailableError(
            f"event log {path} has schema {version}, this Tidings reads up to {VERSION}; upgrade Tidings"
        )
    return version


def _switch_to_wal(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    if not takes_wal(connection, deadline):
        raise LogUnavailableError(
            f"event log {path} cannot use write-ahead logging here; put it on a local disk"
        )


def _prove_writable(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])
