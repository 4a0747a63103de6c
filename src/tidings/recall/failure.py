"""From SQLite's result codes to the errors of the fact store: one table, one function.

The message names the file, what SQLite said and the fix. Codes that are not in the table are
still `FactsUnavailableError`: whatever stops SQLite stops the store.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tidings.errors import TidingsError


class FactsError(TidingsError, OSError):
    """The fact store cannot keep its promise right now."""


class FactsUnavailableError(FactsError):
    """The store is read-only, full, locked or closed. Nothing of the refused call was written."""


class FactsCorruptError(FactsError):
    """The file is not a database, or a damaged one."""


_LOCKED = "another process holds the write lock; end it or wait, then try again"
_DENIED = "the file or its directory may not be written; make both writable"
_FIXES: dict[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: _DENIED,
    sqlite3.SQLITE_PERM: _DENIED,
    sqlite3.SQLITE_AUTH: _DENIED,
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that its directory exists and is writable",
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and try again",
    sqlite3.SQLITE_NOMEM: "there is no memory left; free some and try again",
}
_CORRUPT_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def facts_error(error: sqlite3.Error, path: Path) -> FactsError:
    """Translate what SQLite raised while working on `path`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _CORRUPT_CODES:
        fix = "restore it from a copy, or move it and its -wal away and start a new store"
        return FactsCorruptError(f"fact store {path} is damaged ({error}); {fix}")
    if "no such module: fts5" in str(error):
        return FactsUnavailableError(f"this Python's SQLite has no FTS5 ({error}); use one that has it")
    fix = _FIXES.get(code, "check the file and open the store again")
    return FactsUnavailableError(f"fact store {path}: {error}: {fix}")
