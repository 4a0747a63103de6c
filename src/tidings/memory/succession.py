"""What a new memory does to older ones: it is the same again, or it says nearly the same and replaces them.

Only what is nearly word for word the same is replaced by itself; a new value for an old subject needs a
`key` or says what it `replaces`. (At answer time the newer of two variants counts as well; see
`answer.py`.) Every function works on a connection inside a write transaction.
"""

from __future__ import annotations

import sqlite3

import msgspec

from tidings.memory.entry import Memory, digest
from tidings.memory.failure import MemoryInputError
from tidings.memory.question import Asked
from tidings.memory.reading import scopes_of
from tidings.memory.sameness import is_near_duplicate, is_question
from tidings.memory.search import look_up
from tidings.memory.words import Stems

CANDIDATES = 8
MOST_WORDS = 3
"""By how many of its rarest known words a near duplicate is looked for: it shares nearly all."""

FEWEST_WORDS = 2


def known(connection: sqlite3.Connection, memory: Memory) -> str | None:
    """The id of the memory that says exactly this, in the same project, role and validity."""
    row = connection.execute(
        "SELECT m.id FROM memories m JOIN scopes s ON s.id = m.scope WHERE s.name = ? AND m.sha = ?"
        " AND m.role = ? AND m.kind = ? AND m.key IS ? AND m.valid_from IS ? AND m.valid_to IS ?"
        " ORDER BY m.created DESC LIMIT 1",
        (
            memory.project, digest(memory.text), memory.role, memory.kind, memory.key,
            memory.valid_from, memory.valid_to,
        ),
    ).fetchone()  # fmt: skip
    return None if row is None else str(row[0])


def say_again(connection: sqlite3.Connection, id: str, memory: Memory) -> None:
    """What is said again holds from now on; a turn keeps its place in its conversation."""
    if memory.kind == "turn":
        return
    connection.execute(
        "UPDATE memories SET created = max(created, ?), pinned = max(pinned, ?) WHERE id = ?",
        (memory.created, memory.pinned, id),
    )
    connection.execute("DELETE FROM replaced WHERE old = ?", (id,))


def succeeding(connection: sqlite3.Connection, memory: Memory, stems: Stems) -> Memory:
    """The memory, with the older ones that it nearly repeats added to what it replaces.

    Raises:
        MemoryInputError: it replaces what does not exist, or what belongs to another project.
    """
    for old in memory.replaces:
        _must_exist(connection, old, memory.project)
    if memory.kind == "turn":
        return memory
    found = _near_duplicates(connection, memory, stems)
    replaces = tuple(dict.fromkeys((*memory.replaces, *found)))
    return msgspec.structs.replace(memory, replaces=replaces)


def _must_exist(connection: sqlite3.Connection, id: str, project: str) -> None:
    row = connection.execute(
        "SELECT s.name FROM memories m JOIN scopes s ON s.id = m.scope WHERE m.id = ?", (id,)
    ).fetchone()
    if row is None or row[0] != project:
        where = f"project {project!r}" if project else "the memories that hold everywhere"
        problem = f"`replaces` names {id!r}, which is not in {where}; look it up with list"
        raise MemoryInputError("remember", (problem,))


def _near_duplicates(connection: sqlite3.Connection, memory: Memory, stems: Stems) -> list[str]:
    own = stems.of(memory.text)
    asked = Asked(text="", stems=tuple(dict.fromkeys(own)))
    rarest = look_up(connection, asked, scopes_of(connection, memory.project)).chosen[:MOST_WORDS]
    if len(asked.stems) < FEWEST_WORDS or not rarest:
        return []
    terms = " OR ".join(f'"{stem}"' for stem in rarest)
    rows = connection.execute(
        "SELECT m.id, m.text FROM found f JOIN memories m ON m.seq = f.rowid"
        " JOIN scopes s ON s.id = m.scope WHERE found MATCH ? AND s.name = ? AND m.kind <> 'turn'"
        " AND m.created <= ? AND (m.role = 'assistant' OR ? = 'user') AND m.key IS ?"
        " ORDER BY bm25(found, 1.0, 0.0, 0.0) LIMIT ?",
        (f"terms : ({terms})", memory.project, memory.created, memory.role, memory.key, CANDIDATES),
    ).fetchall()
    asks = is_question(memory.text)
    return [
        old for old, text in rows if is_question(text) == asks and is_near_duplicate(own, stems.of(text))
    ]
