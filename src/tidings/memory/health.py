"""Is a memory file sound, and what to do when it is not: check it, or save what is readable into a new one.

A repair never changes the damaged file: it is moved aside, and a new one takes its place, made from what
could be read and from an export, if there is one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import msgspec

from tidings.memory import reading
from tidings.memory.entry import Memory, digest
from tidings.memory.failure import MemoryStoreError, corrupt
from tidings.memory.rescue import rescued
from tidings.memory.schema import connect
from tidings.memory.store import EmbedderChoice, MemoryStore
from tidings.memory.transfer import read_lines

MOST_PROBLEMS = 20
SIDES = ("", "-wal", "-shm")


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair saved: from the damaged file, from the export; and where the damaged file is now."""

    readable: int
    from_export: int
    damaged: Path


def check(path: Path) -> list[str]:
    """What is wrong with the file; nothing, if it is sound.

    Raises:
        CallerError: the file is a database of something else.
        MemoryStoreError: it cannot be opened, or is no database at all.
    """
    with MemoryStore(path, embedder=None) as store:
        with store.file.reading() as connection:
            found = [row for (row,) in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})")]
            problems = [f"the file: {row}" for row in found if row != "ok"]
            if problems:
                return problems
            problems = _miscounts(connection)
        with store.file.writing() as connection:
            return problems + _index_problems(connection)


def repair(
    path: Path, export: Iterable[str | bytes] = (), *, embedder: EmbedderChoice = "auto"
) -> Repaired:
    """Put a sound file in the place of a damaged one.

    Raises:
        MemoryInputError: the export has bad lines; nothing was changed.
        MemoryStoreError: nothing is readable and nothing was exported, or the new file cannot be written.
    """
    exported = list(read_lines(export).values())
    readable = salvage(path)
    if not readable and not exported:
        raise corrupt(path, "nothing in it is readable; an export is needed")
    known = {memory.id for memory in readable}
    more = [memory for memory in exported if memory.id not in known]
    fresh = _beside(path, "new")
    with MemoryStore(fresh, embedder=embedder) as store:
        pen = store.pen()
        with store.file.writing() as connection:
            for memory in (*readable, *more):
                pen.add(connection, memory)
    aside = _beside(path, "damaged")
    for side in SIDES:
        if Path(f"{path}{side}").exists():
            os.replace(f"{path}{side}", f"{aside}{side}")
    os.replace(fresh, path)
    return Repaired(readable=len(readable), from_export=len(more), damaged=aside)


def salvage(path: Path) -> list[Memory]:
    """The memories that can still be read: by SQLite from either end, the others from the raw bytes."""
    found: list[Memory] = []
    try:
        with closing(connect(path, 5.0)) as connection:
            found = [*_readable(connection, "ASC"), *_readable(connection, "DESC")]
    except (sqlite3.Error, MemoryStoreError):
        found = []
    raw = rescued(path.read_bytes()) if path.is_file() else []
    return list({memory.id: memory for memory in (*raw, *found)}.values())


def _readable(connection: sqlite3.Connection, order: str) -> list[Memory]:
    found: list[Memory] = []
    try:
        for sha, *row in connection.execute(
            f"SELECT m.sha, {reading.FIELDS} FROM {reading.FROM} ORDER BY m.seq {order}"
        ):
            memory = reading.memory_of(row)
            found += [memory] if digest(memory.text) == sha else []
    except (sqlite3.Error, msgspec.ValidationError, msgspec.DecodeError):
        return found  # what comes after the damage is read from the other end
    return found


def _miscounts(connection: sqlite3.Connection) -> list[str]:
    (wrong,) = connection.execute(
        "SELECT count(*) FROM scopes s"
        " WHERE s.memories <> (SELECT count(*) FROM memories WHERE scope = s.id)"
    ).fetchone()
    (lost,) = connection.execute(
        "SELECT count(*) FROM vectors WHERE seq NOT IN (SELECT seq FROM memories)"
    ).fetchone()
    problems = [f"{wrong} projects are counted wrongly"] if wrong else []
    other = sum(digest(text) != sha for text, sha in connection.execute("SELECT text, sha FROM memories"))
    problems += [f"{other} memories are not what was written"] if other else []
    return problems + ([f"{lost} vectors belong to no memory"] if lost else [])


def _index_problems(connection: sqlite3.Connection) -> list[str]:
    try:
        connection.execute("INSERT INTO found (found, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return [f"the full-text index: {error}"]
    return []


def _beside(path: Path, word: str) -> Path:
    """A name beside `path` that is not taken."""
    number = 1
    while (found := path.with_name(f"{path.name}.{word}-{number}")).exists():
        number += 1
    return found
