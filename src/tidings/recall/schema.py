"""The file: an append-only history and what follows from it, marked as ours, in WAL mode.

`records` is the truth: assertions and tombstones in order. `live` (one row per fact that holds),
`terms` (how many live facts contain a word), the totals in `namespaces` and one FTS5 table per
namespace follow from it and change in the same transaction. FTS5 gets words, not text: its
tokenizer has nothing left to decide.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from tidings.errors import CallerError
from tidings.log.wal import takes_wal
from tidings.recall.failure import FactsUnavailableError, facts_error

APPLICATION_ID = 0x74646766  # "tdgf"
VERSION = 1

_TABLES = (
    "CREATE TABLE store (id TEXT NOT NULL)",
    "INSERT INTO store VALUES (lower(hex(randomblob(16))))",
    """CREATE TABLE namespaces (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        documents INTEGER NOT NULL DEFAULT 0, words INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE records (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, namespace INTEGER NOT NULL, fact_id TEXT NOT NULL,
        at_ms INTEGER NOT NULL, fact TEXT)""",
    "CREATE INDEX records_by_fact ON records (fact_id)",
    """CREATE TABLE live (
        seq INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, fact_id TEXT NOT NULL,
        kind TEXT NOT NULL, confidence REAL NOT NULL, valid_until INTEGER,
        asserted_at INTEGER NOT NULL, length INTEGER NOT NULL, terms TEXT NOT NULL)""",
    "CREATE UNIQUE INDEX live_by_fact ON live (fact_id, namespace)",
    """CREATE INDEX live_by_age ON live (
        namespace, asserted_at DESC, seq DESC, kind, confidence, valid_until)""",
    """CREATE TABLE terms (
        namespace INTEGER NOT NULL, term TEXT NOT NULL, documents INTEGER NOT NULL,
        PRIMARY KEY (namespace, term)) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


def words_table(namespace: int) -> str:
    """The name of a namespace's FTS5 table."""
    return f"words_{namespace:d}"


def create_words_table(connection: sqlite3.Connection, namespace: int) -> None:
    """Create a new namespace's FTS5 table over the words of `live`."""
    connection.execute(
        f"CREATE VIRTUAL TABLE {words_table(namespace)} USING fts5("
        "terms, content='live', content_rowid='seq', tokenize='ascii')"
    )


def connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open one more connection to a prepared file; the caller closes it.

    Raises:
        FactsUnavailableError: the file cannot be opened.
    """
    try:
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise facts_error(error, path) from error
    return connection


def prepare(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open the file for writing, creating it or checking that it is a store we understand.

    Raises:
        CallerError: the file is a database of something else.
        FactsUnavailableError: it cannot be written, or a newer Tidings wrote it.
        FactsCorruptError: it is not a database.
    """
    connection = connect(path, busy_seconds)
    try:
        connection.execute("PRAGMA synchronous = FULL")  # facts are few: each survives a power cut
        _adopt(connection, path)
        _use_wal(connection, path, time.monotonic() + busy_seconds)
    except sqlite3.Error as error:
        connection.close()
        raise facts_error(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


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
            f"{path} is a SQLite database of another application; give the facts a file of their own"
        )
    elif marks[1] > VERSION:
        raise FactsUnavailableError(
            f"fact store {path} has schema {marks[1]}, this Tidings reads up to {VERSION}; upgrade Tidings"
        )
    connection.execute("COMMIT")


def _use_wal(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    if not takes_wal(connection, deadline):
        raise FactsUnavailableError(
            f"fact store {path} cannot use write-ahead logging here; put it on a local disk"
        )
