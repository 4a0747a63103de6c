"""Memories as JSON lines: out of one file, into another. All of an import is taken, or nothing.

Each line is an object with the fields of a memory; `id` and `created` may be left out by whoever writes
one by hand. A line whose memory is there already is passed over; a line that contradicts one is a problem.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from tidings.core.producers import shorten
from tidings.memory import reading
from tidings.memory.entry import KEPT, Memory, build_memory, to_line
from tidings.memory.failure import MemoryInputError
from tidings.memory.store import MemoryStore
from tidings.shell.ids import new_id, now_ms

LONGEST_LINE = 256 * 1024
MOST_LINES = 1_000_000
MOST_PROBLEMS = 20
"""How many bad lines are named; the others are counted."""


class Imported(msgspec.Struct, frozen=True):
    """How many memories were added, and how many were there already."""

    added: int
    known: int


def export_lines(store: MemoryStore) -> list[str]:
    """Every memory as a line of JSON, without its newline, in the order in which they came.

    Raises:
        MemoryStoreError: the file cannot be read.
    """
    with store.file.reading() as connection:
        return [msgspec.json.encode(to_line(memory)).decode() for memory in reading.everything(connection)]


def import_lines(store: MemoryStore, lines: Iterable[str | bytes]) -> Imported:
    """Add the memories of `lines`, in one transaction.

    Raises:
        MemoryInputError: with every bad line and its number; nothing was added.
        MemoryStoreError: the file cannot be written; nothing was added.
    """
    memories = read_lines(lines)
    pen = store.pen()
    added = 0
    with store.file.writing() as connection:
        problems = _contradictions(connection, memories)
        if problems:
            raise _refusal(problems)
        for memory in memories.values():
            if reading.load(connection, memory.id) is None:
                pen.add(connection, memory)
                added += 1
    return Imported(added, len(memories) - added)


def read_lines(lines: Iterable[str | bytes]) -> dict[int, Memory]:
    """The memories of `lines` by line number; blank lines are passed over.

    Raises:
        MemoryInputError: with every bad line and its number.
    """
    found: dict[int, Memory] = {}
    problems: list[str] = []
    ids: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if number > MOST_LINES:
            problems.append(f"line {number}: more than {MOST_LINES:,} lines; split the file")
            break
        if not line.strip():
            continue
        try:
            memory = _read(line)
        except (MemoryInputError, msgspec.DecodeError, UnicodeDecodeError) as error:
            said = "; ".join(error.problems) if isinstance(error, MemoryInputError) else str(error)
            problems.append(f"line {number}: {said}")
            continue
        if memory.id in ids:
            problems.append(f"line {number}: id {memory.id!r} stands in line {ids[memory.id]} already")
        ids.setdefault(memory.id, number)
        found[number] = memory
    if problems:
        raise _refusal(problems)
    return found


def _read(line: str | bytes) -> Memory:
    if len(line) > LONGEST_LINE:
        raise MemoryInputError("import", (f"has more than {LONGEST_LINE:,} characters",))
    options = msgspec.json.decode(line)
    return build_memory(options, id=new_id(), now=now_ms(), fields=KEPT)


def _contradictions(connection: sqlite3.Connection, memories: dict[int, Memory]) -> list[str]:
    problems = []
    for number, memory in memories.items():
        before = reading.load(connection, memory.id)
        if before is not None and _said(before) != _said(memory):
            said = shorten(repr(before.text))
            problems.append(
                f"line {number}: id {memory.id!r} is another memory here ({said}); change the id"
            )
    return problems


def _said(memory: Memory) -> Memory:
    """What a memory says, whatever became of it since."""
    return msgspec.structs.replace(memory, surfaced=0, last_surfaced=None, replaces=(), pinned=False)


def _refusal(problems: list[str]) -> MemoryInputError:
    shown = problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        shown.append(f"and {len(problems) - MOST_PROBLEMS} more")
    return MemoryInputError("import: nothing was imported", tuple(shown))
