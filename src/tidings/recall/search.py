"""Reading: candidates, their exact BM25 scores, and the tail that BM25 cannot score.

An engine only proposes candidates; `rank` scores them with the namespace's own statistics, so FTS5
and the derived index answer alike. FTS5 proposes all that match in a small namespace and the best
by its own count in a large one, where the words that `prune` leaves weigh within 2 % of ours.
Every function works on a connection inside a read transaction that its caller opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from tidings.recall.fact import Fact
from tidings.recall.ledger import load
from tidings.recall.query import LONGEST_QUERY, SMALL, Weighed, prune, weigh
from tidings.recall.question import Question
from tidings.recall.schema import words_table
from tidings.recall.tokens import tokens

POOL = 4
"""How many candidates per fact asked for FTS5 proposes in a large namespace, and at least 32."""

Candidate: TypeAlias = tuple[int, int, int, str]
"""seq, asserted_at, length, words joined by spaces."""

_CANDIDATE = "l.seq, l.asserted_at, l.length, l.terms"


class Recalled(msgspec.Struct, frozen=True):
    """A fact that answers a query; `score` is 0 when only its age put it here. `rank` is from 1."""

    fact: Fact
    score: float
    rank: int


class Prepared(msgspec.Struct, frozen=True):
    """A question made ready: the namespace's number and size, and the weighed words."""

    question: Question
    namespace: int
    documents: int
    weighed: Weighed

    @property
    def words(self) -> tuple[str, ...]:
        """The words to look up, rarest first."""
        return tuple(self.weighed.weights)


Scored: TypeAlias = tuple[float, int, int]
"""score, asserted_at, seq: greater is better."""


def make_ready(connection: sqlite3.Connection, question: Question) -> Prepared | None:
    """Look up the namespace and the words' frequencies; None when the namespace is unknown."""
    totals = connection.execute(
        "SELECT id, documents, words FROM namespaces WHERE name = ?", (question.namespace,)
    ).fetchone()
    if totals is None:
        return None
    namespace, documents, total = totals
    asked = list(dict.fromkeys(tokens(question.query[:LONGEST_QUERY])))
    rows = connection.execute(
        "SELECT value, documents FROM json_each(?) CROSS JOIN terms ON namespace = ? AND term = value"
        " ORDER BY key",
        (msgspec.json.encode(asked).decode(), namespace),
    )
    found: dict[str, int] = dict(rows)
    weighed = weigh(prune(found, documents), found, documents, total)
    return Prepared(question, namespace, documents, weighed)


def propose(connection: sqlite3.Connection, ready: Prepared) -> list[Candidate]:
    """The facts that FTS5 finds for the words, its best first, newest first among equals."""
    if not ready.words:
        return []
    table, (where, values) = words_table(ready.namespace), _filters(ready.question)
    limit = SMALL if ready.documents <= SMALL else max(POOL * ready.question.max_facts, 32)
    return connection.execute(
        f"SELECT {_CANDIDATE} FROM {table} JOIN live l ON l.seq = {table}.rowid"
        f" WHERE {table} MATCH ? AND {where}"
        f" ORDER BY bm25({table}), l.asserted_at DESC, l.seq DESC LIMIT ?",
        (" OR ".join(f'"{word}"' for word in ready.words), *values, limit),
    ).fetchall()


def read(connection: sqlite3.Connection, ready: Prepared, seqs: Iterable[int]) -> list[Candidate]:
    """Those of the records `seqs` that are live and pass the question's filters."""
    where, values = _filters(ready.question)
    return connection.execute(
        f"SELECT {_CANDIDATE} FROM json_each(?) CROSS JOIN live l ON l.seq = value"
        f" WHERE l.namespace = ? AND {where}",
        (msgspec.json.encode(list(seqs)).decode(), ready.namespace, *values),
    ).fetchall()


def rank(ready: Prepared, candidates: Iterable[Candidate]) -> list[Scored]:
    """The candidates that answer, best first, newest first among equals."""
    score = ready.weighed.score
    scored = [(score(terms.split(), length), at, seq) for seq, at, length, terms in candidates]
    return sorted((one for one in scored if one[0] > 0), reverse=True)[: ready.question.max_facts]


def tail(connection: sqlite3.Connection, ready: Prepared, scored: Sequence[Scored]) -> list[Scored]:
    """The newest of the facts that pass the filters and are not scored, as many as are missing."""
    missing = ready.question.max_facts - len(scored)
    if missing <= 0:
        return []
    taken = {seq for _, _, seq in scored}
    where, values = _filters(ready.question)
    rows = connection.execute(
        f"SELECT l.asserted_at, l.seq FROM live l WHERE l.namespace = ? AND {where}"
        " ORDER BY l.asserted_at DESC, l.seq DESC LIMIT ?",
        (ready.namespace, *values, missing + len(taken)),
    )
    return [(0.0, at, seq) for at, seq in rows if seq not in taken][:missing]


def answer(connection: sqlite3.Connection, ready: Prepared, scored: list[Scored]) -> tuple[Recalled, ...]:
    """The scored facts and their tail, read and numbered."""
    ordered = [*scored, *tail(connection, ready, scored)]
    return tuple(
        Recalled(load(connection, seq), score, number)
        for number, (score, _, seq) in enumerate(ordered, start=1)
    )


def _filters(question: Question) -> tuple[str, tuple[object, ...]]:
    where = "l.confidence >= ? AND (l.valid_until IS NULL OR l.valid_until > ?)"
    values: tuple[object, ...] = (question.min_confidence, question.now)
    if question.kind_filter:
        where += f" AND l.kind IN ({', '.join('?' * len(question.kind_filter))})"
        values += question.kind_filter
    return where, values
