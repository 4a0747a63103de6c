"""The file: memories and what follows from them, marked as ours, in WAL mode, deleting for good.

`memories` is the truth, with `replaced` (which memory stands in whose place). Each row also carries the
stems that it is found by. `words` (in how many memories of a project a stem occurs), the totals in
`scopes`, the full-text table and `vectors` follow from it and change in the same transaction. `state`
counts what made resident vectors stale, and notes a forgetting whose bytes are not cleared yet;
`departures` says what left for want of room.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from tidings.errors import CallerError
from tidings.log.wal import takes_wal
from tidings.memory.failure import MemoryUnavailableError, memory_error

APPLICATION_ID = 0x7464676D  # "tdgm"
VERSION = 1

_ALWAYS = (
    """CREATE TABLE IF NOT EXISTS departures (
        number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, count INTEGER NOT NULL,
        oldest INTEGER NOT NULL, newest INTEGER NOT NULL)""",
    """CREATE INDEX IF NOT EXISTS memories_seen
        ON memories (surfaced > 0, coalesce(last_surfaced, created), seq)
        WHERE kind = 'turn' AND pinned = 0""",
)
"""What files of an earlier Tidings may lack."""

DERIVED = (
    """CREATE TABLE words (
        scope INTEGER NOT NULL, term TEXT NOT NULL, memories INTEGER NOT NULL,
        PRIMARY KEY (scope, term)) WITHOUT ROWID""",
    """CREATE VIRTUAL TABLE found USING fts5(
        terms, around, scope, content='memories', content_rowid='seq', tokenize='ascii')""",
    "CREATE TABLE vectors (seq INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL)",
)
_TABLES = (
    "CREATE TABLE state (epoch INTEGER NOT NULL, unclean INTEGER NOT NULL)",
    "INSERT INTO state VALUES (0, 0)",
    """CREATE TABLE scopes (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        memories INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE memories (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, scope INTEGER NOT NULL,
        text TEXT NOT NULL, created INTEGER NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL,
        conversation TEXT NOT NULL, key TEXT, valid_from INTEGER, valid_to INTEGER,
        source TEXT NOT NULL, tags TEXT NOT NULL, pinned INTEGER NOT NULL,
        surfaced INTEGER NOT NULL, last_surfaced INTEGER,
        sha TEXT NOT NULL, length INTEGER NOT NULL, terms TEXT NOT NULL, around TEXT NOT NULL)""",
    "CREATE INDEX memories_by_key ON memories (scope, key, created, seq) WHERE key IS NOT NULL",
    "CREATE INDEX memories_by_text ON memories (scope, sha)",
    "CREATE INDEX memories_by_age ON memories (scope, created DESC, seq DESC)",
    """CREATE INDEX memories_by_conversation ON memories (conversation, created, seq)
        WHERE conversation <> ''""",
    """CREATE TABLE replaced (
        old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (old, new)) WITHOUT ROWID""",
    "CREATE INDEX replaced_by_new ON replaced (new)",
    *DERIVED,
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


def prepare(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open the file for writing, creating it or checking that it is a memory we understand.

    Raises:
        CallerError: the file is a database of something else.
        MemoryUnavailableError: it cannot be written, or a newer Tidings wrote it.
        MemoryCorruptError: it is not a database.
    """
    _create_private(path)
    connection = connect(path, busy_seconds)
    try:
        _adopt(connection, path)
        _use_wal(connection, path, time.monotonic() + busy_seconds)
    except sqlite3.Error as error:
        connection.close()
        raise memory_error(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open one more connection to a prepared file; the caller closes it.

    What is deleted is overwritten with zeros, by every connection: forgetting relies on it.

    Raises:
        MemoryUnavailableError: the file cannot be opened.
    """
    try:
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise memory_error(error, path) from error
    try:
        connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut
        connection.execute("PRAGMA secure_delete = ON").fetchone()
        connection.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error as error:
        connection.close()
        raise memory_error(error, path) from error
    return connection


def _create_private(path: Path) -> None:
    """Make a new file, and its folder if need be, readable by its owner alone."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        fix = "give a file in a folder that you may write to"
        raise MemoryUnavailableError(f"memory {path} cannot be opened: {error.strerror}; {fix}") from error


def _adopt(connection: sqlite3.Connection, path: Path) -> None:
    """Under the write lock, which also proves that the file can be written: create or check."""
    connection.execute("BEGIN IMMEDIATE")
    marks = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if marks == (0, 0, 0):
        for statement in _TABLES:
            connection.execute(statement)
    elif marks[0] != APPLICATION_ID:
        raise CallerError(
            f"{path} is a SQLite database of another application; give the memory a file of its own"
        )
    elif marks[1] > VERSION:
        raise MemoryUnavailableError(
            f"memory {path} has schema {marks[1]}, this Tidings reads up to {VERSION}; upgrade Tidings"
        )
    for statement in _ALWAYS:
        connection.execute(statement)
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    if not takes_wal(connection, deadline):
        raise MemoryUnavailableError(
            f"memory {path} cannot use write-ahead logging here; put it on a local disk"
        )
