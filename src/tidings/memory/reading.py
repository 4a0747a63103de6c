"""Reading memories: which hold at a moment, and the rows as values.

A memory holds while it is valid and no newer valid one stands in its place: one with the same key in the
same project, or one that says it replaces it. That is decided when it is read, never stored, so memories
may arrive in any order, start later, and end. Every function works on a connection inside a transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tidings.memory.entry import EVERYWHERE, Memory

FIELDS = (
    "m.id, m.text, m.created, m.kind, m.role, s.name, m.conversation, m.key, m.valid_from, m.valid_to,"
    " m.source, m.tags, m.pinned, m.surfaced, m.last_surfaced,"
    " (SELECT json_group_array(old) FROM (SELECT old FROM replaced WHERE new = m.id ORDER BY old))"
)
FROM = "memories m JOIN scopes s ON s.id = m.scope"


def _valid(row: str) -> str:
    return (
        f"({row}.valid_from IS NULL OR {row}.valid_from <= :now)"
        f" AND ({row}.valid_to IS NULL OR {row}.valid_to > :now)"
    )


HOLDS = (
    f"{_valid('m')}"
    " AND NOT EXISTS (SELECT 1 FROM memories n WHERE n.key IS NOT NULL AND n.scope = m.scope"
    f" AND n.key = m.key AND (n.created, n.seq) > (m.created, m.seq) AND {_valid('n')})"
    " AND NOT EXISTS (SELECT 1 FROM replaced r JOIN memories n ON n.id = r.new"
    f" WHERE r.old = m.id AND {_valid('n')})"
)
"""The condition on `memories m` that a memory holds at `:now`."""


class Row(msgspec.Struct, frozen=True):
    """A memory that holds, with what ranking needs to know."""

    seq: int
    memory: Memory
    sha: str
    length: int
    terms: tuple[str, ...]
    around: tuple[str, ...]


def scopes_of(connection: sqlite3.Connection, project: str) -> tuple[int, ...]:
    """The numbers of what may be shown in `project`: its own memories, and those that hold everywhere."""
    found = connection.execute("SELECT id FROM scopes WHERE name IN (?, ?)", (project, EVERYWHERE))
    return tuple(sorted(number for (number,) in found))


def holding(
    connection: sqlite3.Connection, seqs: Iterable[int], scopes: Sequence[int], now: int
) -> list[Row]:
    """Those of the memories `seqs` that hold at `now` and may be shown in `scopes`."""
    rows = connection.execute(
        f"SELECT m.seq, m.sha, m.length, m.terms, m.around, {FIELDS} FROM json_each(:seqs) j"
        " CROSS JOIN memories m ON m.seq = j.value JOIN scopes s ON s.id = m.scope"
        f" WHERE m.scope IN (SELECT value FROM json_each(:scopes)) AND {HOLDS}",
        {"seqs": _json(list(seqs)), "scopes": _json(list(scopes)), "now": now},
    )
    return [
        Row(seq, memory_of(fields), sha, length, tuple(terms.split()), tuple(around.split()))
        for seq, sha, length, terms, around, *fields in rows
    ]


def load(connection: sqlite3.Connection, id: str) -> Memory | None:
    """The memory of that id."""
    row = connection.execute(f"SELECT {FIELDS} FROM {FROM} WHERE m.id = ?", (id,)).fetchone()
    return None if row is None else memory_of(row)


def everything(connection: sqlite3.Connection) -> Iterator[Memory]:
    """All memories, in the order in which they came."""
    for row in connection.execute(f"SELECT {FIELDS} FROM {FROM} ORDER BY m.seq"):
        yield memory_of(row)


def memory_of(row: Sequence[object]) -> Memory:
    """The memory in a row of `FIELDS`."""
    names = ("id", "text", "created", "kind", "role", "project", "conversation", "key", "valid_from",
             "valid_to", "source", "tags", "pinned", "surfaced", "last_surfaced", "replaces")  # fmt: skip
    values = dict(zip(names, row, strict=True))
    values["tags"] = msgspec.json.decode(str(values["tags"]))
    values["replaces"] = msgspec.json.decode(str(values["replaces"]))
    values["pinned"] = bool(values["pinned"])
    return msgspec.convert(values, Memory)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
