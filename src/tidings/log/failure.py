"""From SQLite's result codes to the errors a caller can act on: one table, one function.

The message names the file, what SQLite said and the fix. Codes that are not in the table are still
a `LogUnavailableError`: whatever stops SQLite stops the log.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tidings.errors import LogCorruptError, LogError, LogUnavailableError

_FIXES: dict[int, str] = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and append again",
    sqlite3.SQLITE_READONLY: "the file or its directory is read-only; make both writable",
    sqlite3.SQLITE_PERM: "the file may not be accessed; make it readable and writable",
    sqlite3.SQLITE_AUTH: "the file may not be accessed; make it readable and writable",
    sqlite3.SQLITE_CANTOPEN: ("the file cannot be opened; check that its directory exists and is writable"),
    sqlite3.SQLITE_BUSY: "another process holds the write lock; end it or wait, then try again",
    sqlite3.SQLITE_LOCKED: "another process holds the write lock; end it or wait, then try again",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and append again",
    sqlite3.SQLITE_NOMEM: "there is no memory left; free some and append again",
}
_CORRUPT = "restore it from a copy, or move it and its -wal away and start a new log"
_CORRUPT_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def log_error(error: sqlite3.Error, path: Path) -> LogError:
    """Translate what SQLite raised while working on `path`."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _CORRUPT_CODES or "decode to UTF-8" in str(error):
        return LogCorruptError(f"event log {path} is damaged ({error}); {_CORRUPT}")
    fix = _FIXES.get(code, "check the file and open the log again")
    return LogUnavailableError(f"event log {path}: {error}: {fix}")


def closed_error(path: Path) -> LogUnavailableError:
    """Say that the log was closed."""
    return LogUnavailableError(f"event log {path} is closed; open it again with open_log")
