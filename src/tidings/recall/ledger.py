"""Writing: assertions and tombstones are appended, and what follows from them is kept in step.

Every function works on a connection inside a write transaction that its caller opened. Nothing in
`records` ever changes; a row leaves `live` when its fact is asserted anew or invalidated.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import msgspec

from tidings.recall.fact import Fact, canonical
from tidings.recall.question import Selection
from tidings.recall.schema import create_words_table, words_table
from tidings.recall.tokens import tokens

_decode = msgspec.json.Decoder(Fact).decode


class Entry(msgspec.Struct, frozen=True):
    """One record of a fact's history; without a fact it is a tombstone."""

    seq: int
    namespace: str
    at_ms: int
    fact: Fact | None


class _Row(msgspec.Struct, frozen=True):
    """What taking a fact out of the index needs to know."""

    seq: int
    namespace: int
    fact_id: str
    asserted_at: int
    length: int
    terms: str


_ROW = "SELECT seq, namespace, fact_id, asserted_at, length, terms FROM live"


def words_of(fact: Fact) -> list[str]:
    """The words that a fact is found by: its claim, its tags, and what its evidence points at."""
    return tokens(" ".join((fact.claim, *fact.tags, *(item.ref for item in fact.evidence))))


def assert_fact(connection: sqlite3.Connection, fact: Fact) -> None:
    """Append `fact`; it becomes the live record of its id unless a later assertion is."""
    namespace = _namespace(connection, fact.namespace)
    seq = _append(connection, namespace, fact.id, fact.asserted_at, canonical(fact).decode())
    found = connection.execute(
        f"{_ROW} WHERE fact_id = ? AND namespace = ?", (fact.id, namespace)
    ).fetchone()
    if found is not None:
        row = _Row(*found)
        if row.asserted_at > fact.asserted_at:
            return
        _remove(connection, row)
    _add(connection, seq, namespace, fact)


def invalidate(connection: sqlite3.Connection, selection: Selection, now: int) -> int:
    """Append a tombstone for each live fact that matches; says how many did."""
    matching = list(_matching(connection, selection))
    for row in matching:
        _append(connection, row.namespace, row.fact_id, now, None)
        _remove(connection, row)
    return len(matching)


def history(connection: sqlite3.Connection, fact_id: str) -> tuple[Entry, ...]:
    """Everything ever recorded about a fact, oldest first."""
    rows = connection.execute(
        "SELECT r.seq, n.name, r.at_ms, r.fact FROM records r JOIN namespaces n ON n.id = r.namespace"
        " WHERE r.fact_id = ? ORDER BY r.seq",
        (fact_id,),
    )
    return tuple(
        Entry(seq, name, at_ms, None if fact is None else _decode(fact)) for seq, name, at_ms, fact in rows
    )


def load(connection: sqlite3.Connection, seq: int) -> Fact:
    """The fact that record `seq` asserted."""
    return _decode(connection.execute("SELECT fact FROM records WHERE seq = ?", (seq,)).fetchone()[0])


def _namespace(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute("SELECT id FROM namespaces WHERE name = ?", (name,)).fetchone()
    if found is not None:
        return int(found[0])
    created = connection.execute("INSERT INTO namespaces (name) VALUES (?)", (name,)).lastrowid
    assert created is not None
    create_words_table(connection, created)
    return created


def _append(
    connection: sqlite3.Connection, namespace: int, fact_id: str, at_ms: int, fact: str | None
) -> int:
    seq = connection.execute(
        "INSERT INTO records (namespace, fact_id, at_ms, fact) VALUES (?, ?, ?, ?)",
        (namespace, fact_id, at_ms, fact),
    ).lastrowid
    assert seq is not None
    return seq


def _add(connection: sqlite3.Connection, seq: int, namespace: int, fact: Fact) -> None:
    words = words_of(fact)
    terms = " ".join(words)
    row = (seq, namespace, fact.id, fact.kind, fact.confidence, fact.valid_until, fact.asserted_at)
    connection.execute("INSERT INTO live VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, len(words), terms))
    connection.execute(f"INSERT INTO {words_table(namespace)} (rowid, terms) VALUES (?, ?)", (seq, terms))
    connection.executemany(
        "INSERT INTO terms VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET documents = documents + 1",
        [(namespace, word) for word in sorted(set(words))],
    )
    _count(connection, namespace, 1, len(words))


def _remove(connection: sqlite3.Connection, row: _Row) -> None:
    words = words_table(row.namespace)
    connection.execute(
        f"INSERT INTO {words} ({words}, rowid, terms) VALUES ('delete', ?, ?)", (row.seq, row.terms)
    )
    connection.execute("DELETE FROM live WHERE seq = ?", (row.seq,))
    keys = [(row.namespace, word) for word in sorted(set(row.terms.split()))]
    connection.executemany(
        "UPDATE terms SET documents = documents - 1 WHERE namespace = ? AND term = ?", keys
    )
    connection.executemany("DELETE FROM terms WHERE namespace = ? AND term = ? AND documents = 0", keys)
    _count(connection, row.namespace, -1, -row.length)


def _count(connection: sqlite3.Connection, namespace: int, documents: int, words: int) -> None:
    connection.execute(
        "UPDATE namespaces SET documents = documents + ?, words = words + ? WHERE id = ?",
        (documents, words, namespace),
    )


def _matching(connection: sqlite3.Connection, selection: Selection) -> Iterator[_Row]:
    """The live rows that match; claim and tags are read from the facts themselves."""
    conditions = {
        "fact_id = ?": selection.id,
        "kind = ?": selection.kind,
        "asserted_at < ?": selection.asserted_before,
        "namespace = (SELECT id FROM namespaces WHERE name = ?)": selection.namespace,
    }
    given = {condition: value for condition, value in conditions.items() if value is not None}
    where = " AND ".join(given) or "1"
    rows = connection.execute(f"{_ROW} WHERE {where} ORDER BY seq", tuple(given.values())).fetchall()
    for row in (_Row(*found) for found in rows):
        if selection.claim is None and selection.tag is None:
            yield row
            continue
        fact = load(connection, row.seq)
        if selection.claim in (None, fact.claim) and (selection.tag is None or selection.tag in fact.tags):
            yield row
