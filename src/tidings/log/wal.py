"""Switching a SQLite file to write-ahead logging, for everything of ours that keeps one.

SQLite's own busy timeout does not cover two processes that switch at once. The log, the facts and the
memory call this when they open their file, and name their own error.
"""

from __future__ import annotations

import sqlite3
import time

_PAUSE = 0.005


def takes_wal(connection: sqlite3.Connection, deadline: float) -> bool:
    """Switch to WAL by `deadline` (of `time.monotonic`); gives whether the file's disk allows it.

    Raises:
        sqlite3.Error: the file cannot be used, or others keep it busy.
    """
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return bool(mode == "wal")
