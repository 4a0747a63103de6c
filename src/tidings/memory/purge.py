"""Forgetting for good: the rows, what follows from them, and their bytes in the file.

Deleted content is overwritten (secure_delete), the full-text index is merged so that it keeps no dead
words, the file is rewritten and the write-ahead log cut to nothing. Then the raw bytes are searched. What
a disk, a backup or an export keeps elsewhere is out of reach.
"""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tidings.memory.entry import LONGEST_NAME, LONGEST_TEXT, MOST_REPLACED, checked
from tidings.memory.failure import MemoryInputError, MemoryStoreError
from tidings.memory.file import MemoryFile
from tidings.memory.writing import Pen
from tidings.recall import checks
from tidings.recall.checks import Check, Wrong

WINDOW = 24
"""Bytes of a forgotten text that are looked for at a time."""

MOST_VERIFIED = 500
"""How many forgotten texts are looked for in the raw file."""


_AGAIN = "close the programs that use it; the next one that opens it clears the bytes"


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was forgotten. `verified` says that the raw file holds none of it; else `reason` says why not.

    `standing` names older memories that the forgotten ones had replaced and that hold again.
    """

    ids: tuple[str, ...] = ()
    verified: bool = True
    reason: str = ""
    standing: tuple[str, ...] = ()


def _ids(value: object) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not found or len(found) > MOST_REPLACED:
        raise Wrong(f"must be an id, or a list of 1 to {MOST_REPLACED} ids")
    return tuple(checks.text(one, LONGEST_NAME) for one in found)


def _name(value: object) -> str:
    return checks.text(value, LONGEST_NAME)


def _project(value: object) -> str:
    return "" if value == "" else _name(value)


def _words(value: object) -> str:
    return checks.text(value, LONGEST_TEXT)


SELECTION: dict[str, Check] = {
    "id": _ids,
    "key": _name,
    "containing": _words,
    "conversation": _name,
    "project": _project,
    "before": checks.moment,
}
_CONDITIONS = {
    "id": "m.id IN (SELECT value FROM json_each(:id))",
    "key": "m.key = :key",
    "containing": "instr(lower(m.text), lower(:containing)) > 0",
    "conversation": "m.conversation = :conversation",
    "project": "s.name = :project",
    "before": "m.created < :before",
}


def select(connection: sqlite3.Connection, selection: Mapping[str, object]) -> list[tuple[int, str]]:
    """Number and id of every memory that matches all that is given.

    Raises:
        MemoryInputError: with every problem, also when nothing is given.
    """
    given = checked("forget", SELECTION, selection)
    if not given:
        fix = f"give at least one of {', '.join(SELECTION)}; nothing was forgotten"
        raise MemoryInputError("forget", (fix,))
    where = " AND ".join(_CONDITIONS[name] for name in given)
    if "id" in given:
        given["id"] = msgspec.json.encode(given["id"]).decode()
    return connection.execute(
        f"SELECT m.seq, m.id FROM memories m JOIN scopes s ON s.id = m.scope WHERE {where} ORDER BY m.seq",
        given,
    ).fetchall()


def forget(file: MemoryFile, pen: Pen, selection: Mapping[str, object]) -> Forgotten:
    """Forget every memory that matches all that is given.

    Raises:
        MemoryInputError: with every problem, also when nothing is given.
        MemoryStoreError: the file cannot be written; nothing was forgotten.
    """
    with file.writing() as connection:
        found = select(connection, selection)
        seqs, ids = [seq for seq, _ in found], [name for _, name in found]
        texts = _texts(connection, seqs)
        standing = _standing(connection, ids)
        pen.remove(connection, seqs)
    reason = clear(file) if ids else ""
    if not reason and residue(file, texts):
        reason = f"some of its bytes are still in the file; {_AGAIN}"
    return Forgotten(ids=tuple(ids), verified=not reason, reason=reason, standing=standing)


def residue(file: MemoryFile, texts: Sequence[str]) -> bool:
    """Whether the raw file or its write-ahead log holds a part of `texts` that no memory holds."""
    windows = {window for text in texts for window in _windows(text)}
    found = [window for path in (file.path, _wal(file.path)) for window in _found(path, windows)]
    if not found:
        return False
    with file.reading() as connection:
        return any(not _is_held(connection, window) for window in found)


def clear(file: MemoryFile) -> str:
    """Write the file anew without what is gone, if anything is; says why not, if not."""
    try:
        with file.alone() as connection:
            if not connection.execute("SELECT unclean FROM state").fetchone()[0]:
                return ""
            connection.execute("INSERT INTO found (found) VALUES ('optimize')")
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                connection.execute("UPDATE state SET unclean = 0")
    except MemoryStoreError as error:
        return f"it is forgotten, but the file could not be rewritten ({error}); {_AGAIN}"
    return f"another program reads the file; {_AGAIN}" if busy else ""


def _texts(connection: sqlite3.Connection, seqs: Sequence[int]) -> list[str]:
    rows = connection.execute(
        "SELECT text FROM memories WHERE seq IN (SELECT value FROM json_each(?)) LIMIT ?",
        (msgspec.json.encode(list(seqs)).decode(), MOST_VERIFIED),
    )
    return [text for (text,) in rows]


def _standing(connection: sqlite3.Connection, ids: Sequence[str]) -> tuple[str, ...]:
    """The memories that some of `ids` had put out of force, and that stay."""
    gone = msgspec.json.encode(list(ids)).decode()
    rows = connection.execute(
        "SELECT r.old FROM replaced r JOIN memories o ON o.id = r.old"
        " WHERE r.new IN (SELECT value FROM json_each(:gone))"
        " UNION SELECT o.id FROM memories n JOIN memories o ON o.key = n.key AND o.scope = n.scope"
        " AND (o.created, o.seq) < (n.created, n.seq) WHERE n.id IN (SELECT value FROM json_each(:gone))",
        {"gone": gone},
    )
    return tuple(sorted(name for (name,) in rows if name not in set(ids)))


def _windows(text: str) -> list[bytes]:
    data = text.encode()
    if len(data) <= WINDOW:
        return [data]
    starts = (0, (len(data) - WINDOW) // 2, len(data) - WINDOW)
    return [data[at : at + WINDOW] for at in starts]


def _found(path: Path, windows: set[bytes]) -> list[bytes]:
    with suppress(FileNotFoundError), path.open("rb") as file:
        if path.stat().st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return [window for window in windows if data.find(window) >= 0]
    return []


def _is_held(connection: sqlite3.Connection, window: bytes) -> bool:
    """Whether a memory that stays holds these bytes; its words are in lower case beside its text."""
    return bool(
        connection.execute(
            "SELECT EXISTS (SELECT 1 FROM memories WHERE instr(CAST(text AS BLOB), :part)"
            " OR instr(CAST(terms AS BLOB), :part) OR instr(CAST(around AS BLOB), :part)"
            " OR instr(CAST(source || ' ' || coalesce(key, '') || tags AS BLOB), :part))",
            {"part": window},
        ).fetchone()[0]
    )


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")
