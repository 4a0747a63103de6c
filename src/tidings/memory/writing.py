"""Writing memories, and keeping what follows from them in step: stems, counts, full text, vectors.

Every method works on a connection inside a write transaction that its caller opened. A short turn of a
conversation is also found by the stems of the turns around it, so adding or removing one refreshes its
neighbours: what was forgotten must not live on beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from tidings.memory.embedding import Embedder
from tidings.memory.entry import Memory, digest
from tidings.memory.vectors import packed
from tidings.memory.words import Stems

SHORT = 15
"""A turn with fewer words of content is found by its neighbours' words too."""

MOST_AROUND = 60
"""How many stems of each neighbour count."""


_SAME = (
    "conversation = :conversation AND conversation <> ''"
    " AND scope = (SELECT scope FROM memories WHERE seq = :seq)"
)
"""In the same conversation, and about the same project: words never cross from one to another."""


class Pen:
    """Adds and removes memories; `embedder` None leaves the vectors out."""

    def __init__(self, stems: Stems, embedder: Embedder | None) -> None:
        self._stems = stems
        self._embedder = embedder

    def add(self, connection: sqlite3.Connection, memory: Memory) -> int:
        """Store a memory that is not there yet; gives its number."""
        scope = _scope(connection, memory.project)
        terms = self._stems.of(" ".join((memory.text, memory.key or "", *memory.tags)))
        seq = _insert(connection, memory, scope, terms)
        _replace(connection, memory)
        _count(connection, scope, terms, 1)
        near = _neighbours(connection, memory.conversation, memory.created, seq)
        connection.execute("UPDATE memories SET around = ? WHERE seq = ?", (_around(connection, seq), seq))
        _index(connection, seq)
        self._embed(connection, seq)
        self._refresh(connection, near)
        return seq

    def remove(self, connection: sqlite3.Connection, seqs: Iterable[int], *, forget: bool = True) -> None:
        """Take memories out, with everything that follows from them; `forget`: their bytes must go, too."""
        gone = set(seqs)
        near: set[int] = set()
        for seq in gone:
            row = connection.execute(
                "SELECT id, scope, terms, conversation, created FROM memories WHERE seq = ?", (seq,)
            ).fetchone()
            name, scope, terms, conversation, created = row
            near |= set(_neighbours(connection, conversation, created, seq))
            _unindex(connection, seq)
            _count(connection, scope, terms.split(), -1)
            connection.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
            connection.execute("DELETE FROM replaced WHERE old = :id OR new = :id", {"id": name})
            connection.execute("DELETE FROM memories WHERE seq = ?", (seq,))
        connection.execute("DELETE FROM scopes WHERE memories = 0")
        if gone:
            connection.execute("UPDATE state SET epoch = epoch + 1, unclean = unclean OR ?", (forget,))
        self._refresh(connection, near - gone)

    def _refresh(self, connection: sqlite3.Connection, seqs: Iterable[int]) -> None:
        """Derive anew what depends on neighbours; the resident vectors are read again if one changed."""
        for seq in seqs:
            around = _around(connection, seq)
            (before,) = connection.execute("SELECT around FROM memories WHERE seq = ?", (seq,)).fetchone()
            if around != before:
                _unindex(connection, seq)
                connection.execute("UPDATE memories SET around = ? WHERE seq = ?", (around, seq))
                _index(connection, seq)
            if self._embed(connection, seq):
                connection.execute("UPDATE state SET epoch = epoch + 1")

    def _embed(self, connection: sqlite3.Connection, seq: int) -> bool:
        """Store the vector of a memory; says whether it differs from the one before."""
        if self._embedder is None:
            return False
        vector = packed(self._embedder.embed([_said(connection, seq)])[0])
        row = (seq, self._embedder.name, vector)
        before = connection.execute(
            "SELECT seq, model, vector FROM vectors WHERE seq = ?", (seq,)
        ).fetchone()
        if before == row:
            return False
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", row)
        return before is not None

    def catch_up(self, connection: sqlite3.Connection, most: int) -> int:
        """Embed up to `most` memories that have no vector of this model yet; says how many."""
        if self._embedder is None:
            return 0
        rows = connection.execute(
            "SELECT m.seq FROM memories m LEFT JOIN vectors v ON v.seq = m.seq AND v.model = ?"
            " WHERE v.seq IS NULL ORDER BY m.seq LIMIT ?",
            (self._embedder.name, most),
        ).fetchall()
        for (seq,) in rows:
            self._embed(connection, seq)
        if rows:
            connection.execute("UPDATE state SET epoch = epoch + 1")
        return len(rows)


def _insert(connection: sqlite3.Connection, memory: Memory, scope: int, terms: list[str]) -> int:
    row = {
        "id": memory.id,
        "scope": scope,
        "text": memory.text,
        "created": memory.created,
        "kind": memory.kind,
        "role": memory.role,
        "conversation": memory.conversation,
        "key": memory.key,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "source": memory.source,
        "tags": msgspec.json.encode(memory.tags).decode(),
        "pinned": memory.pinned,
        "surfaced": memory.surfaced,
        "last_surfaced": memory.last_surfaced,
        "sha": digest(memory.text),
        "length": len(terms),
        "terms": " ".join(terms),
        "around": "",
    }
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    seq = connection.execute(f"INSERT INTO memories ({names}) VALUES ({values})", row).lastrowid
    assert seq is not None
    return seq


def _replace(connection: sqlite3.Connection, memory: Memory) -> None:
    """Note what the memory replaces, and what that had replaced itself."""
    for old in memory.replaces:
        connection.execute(
            "INSERT OR IGNORE INTO replaced SELECT :old, :new"
            " UNION SELECT r.old, :new FROM replaced r WHERE r.new = :old AND r.old <> :new",
            {"old": old, "new": memory.id},
        )


def _scope(connection: sqlite3.Connection, project: str) -> int:
    connection.execute("INSERT OR IGNORE INTO scopes (name) VALUES (?)", (project,))
    return int(connection.execute("SELECT id FROM scopes WHERE name = ?", (project,)).fetchone()[0])


def _count(connection: sqlite3.Connection, scope: int, terms: list[str], sign: int) -> None:
    keys = [(scope, term) for term in sorted(set(terms))]
    if sign > 0:
        connection.executemany(
            "INSERT INTO words VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET memories = memories + 1", keys
        )
    else:
        connection.executemany(
            "UPDATE words SET memories = memories - 1 WHERE scope = ? AND term = ?", keys
        )
        connection.executemany("DELETE FROM words WHERE scope = ? AND term = ? AND memories <= 0", keys)
    connection.execute(
        "UPDATE scopes SET memories = memories + ?, words = words + ? WHERE id = ?",
        (sign, sign * len(terms), scope),
    )


def _index(connection: sqlite3.Connection, seq: int) -> None:
    connection.execute(
        "INSERT INTO found (rowid, terms, around, scope)"
        " SELECT seq, terms, around, scope FROM memories WHERE seq = ?",
        (seq,),
    )


def _unindex(connection: sqlite3.Connection, seq: int) -> None:
    connection.execute(
        "INSERT INTO found (found, rowid, terms, around, scope)"
        " SELECT 'delete', seq, terms, around, scope FROM memories WHERE seq = ?",
        (seq,),
    )


def _neighbours(connection: sqlite3.Connection, conversation: str, created: int, seq: int) -> list[int]:
    """The turns before and after, in their conversation."""
    if not conversation:
        return []
    found: list[int] = []
    for relation, order in (("<", "DESC"), (">", "ASC")):
        row = connection.execute(
            f"SELECT seq FROM memories WHERE {_SAME} AND (created, seq) {relation} (:created, :seq)"
            f" ORDER BY created {order}, seq {order} LIMIT 1",
            {"conversation": conversation, "created": created, "seq": seq},
        ).fetchone()
        found += [] if row is None else [row[0]]
    return found


def _around(connection: sqlite3.Connection, seq: int) -> str:
    """The stems of the neighbours of a short turn."""
    conversation, created, kind, length = connection.execute(
        "SELECT conversation, created, kind, length FROM memories WHERE seq = ?", (seq,)
    ).fetchone()
    if kind != "turn" or length >= SHORT:
        return ""
    stems: list[str] = []
    for near in _neighbours(connection, conversation, created, seq):
        (terms,) = connection.execute("SELECT terms FROM memories WHERE seq = ?", (near,)).fetchone()
        stems += terms.split()[:MOST_AROUND]
    return " ".join(stems)


def _said(connection: sqlite3.Connection, seq: int) -> str:
    """What is embedded: the text, for a short turn after the one before."""
    text, conversation, created, kind, length = connection.execute(
        "SELECT text, conversation, created, kind, length FROM memories WHERE seq = ?", (seq,)
    ).fetchone()
    if kind != "turn" or length >= SHORT or not conversation:
        return str(text)
    before = connection.execute(
        f"SELECT text FROM memories WHERE {_SAME} AND (created, seq) < (:created, :seq)"
        " ORDER BY created DESC, seq DESC LIMIT 1",
        {"conversation": conversation, "created": created, "seq": seq},
    ).fetchone()
    return str(text) if before is None else f"{before[0]}\n{text}"
