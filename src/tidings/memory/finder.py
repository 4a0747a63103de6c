"""Everything that could answer a question: words and similarity brought together, within a deadline.

The words are looked up while the embedder works in its own thread; if it is late, the words answer alone.
Reads only. `store.py` calls this; what becomes of the evidence is decided in `answer.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from typing import Any

import msgspec

from tidings.memory import reading, search
from tidings.memory.answer import Budget, Repeats
from tidings.memory.embedding import WordEmbedder
from tidings.memory.file import MemoryFile
from tidings.memory.kinship import Kinship
from tidings.memory.question import Asked
from tidings.memory.reading import Row
from tidings.memory.relevance import relevance
from tidings.memory.sameness import REPEATED
from tidings.memory.search import Evidence, Lookup, Near
from tidings.memory.similarity import Similarity
from tidings.memory.vectors import Vectors

NEIGHBOURS = 24
"""How many memories similarity proposes."""

CROWD = 5
"""Which of them tells what similarity means little for this question."""


class Found(msgspec.Struct, frozen=True):
    """The evidence for every memory that could answer, and how it was found."""

    evidence: tuple[Evidence, ...]
    scopes: tuple[int, ...]
    now: int
    similarity: bool
    late: bool


class Finder:
    """Looks into one file; `similarity` None goes by words alone."""

    def __init__(self, file: MemoryFile, similarity: Similarity | None) -> None:
        self._file = file
        self._similarity = similarity
        self._vectors: Vectors | None = None
        self._kinship: Kinship | None = None

    def find(self, asked: Asked, project: str, now: int, budget: Budget, least: float = 0.0) -> Found:
        """The evidence for every memory of `project`, or of everywhere, that could answer.

        What cannot become as relevant as `least` is not looked at word by word.

        Raises:
            MemoryStoreError: the file cannot be read.
        """
        started = None if self._similarity is None else self._similarity.begin(asked.text)
        with self._file.reading() as connection:
            scopes = reading.scopes_of(connection, project)
            lookup = search.look_up(connection, asked, scopes)
            rows = _by_words(connection, lookup, now)
            vector = self._vector(started, budget)
            near = Near()
            if vector is not None:
                near = self._by_similarity(connection, vector, scopes, rows, now)
        evidence = search.weigh(lookup, asked, (*rows, *near.rows), near)
        if vector is not None and self._kinship is not None:
            evidence = _with_kin(self._kinship, asked, evidence, now, least)
        late = vector is None and self._similarity is not None
        return Found(tuple(evidence), scopes, now, vector is not None, late)

    def repeats(self, said: Sequence[str], scopes: Sequence[int], budget: Budget) -> Repeats | None:
        """Whether a memory is as good as the same as something that was said; None when nobody can tell."""
        similarity, vectors = self._similarity, self._vectors
        if similarity is None or vectors is None or not said:
            return None
        seconds = budget.deadline_ms / 1000

        @cache
        def heard() -> tuple[Any, ...]:
            found = (similarity.finish(similarity.begin(text), seconds) for text in said)
            return tuple(vector for vector in found if vector is not None)

        def repeats(evidence: Evidence) -> bool:
            seq = evidence.row.seq
            near = (vectors.cosines(vector, scopes, [seq]).get(seq, 0.0) for vector in heard())
            return any(cosine >= REPEATED for cosine in near)

        return repeats

    def _by_similarity(
        self, connection: sqlite3.Connection, vector: Any, scopes: Sequence[int], rows: list[Row], now: int
    ) -> Near:
        """What similarity adds to `rows`, and what it says about them."""
        vectors = self._vectors
        assert vectors is not None
        vectors.refresh(connection)
        nearest = vectors.nearest(vector, scopes, NEIGHBOURS)
        crowd = nearest[CROWD][1] if len(nearest) > CROWD else 0.0
        near = dict(nearest)
        known = {row.seq for row in rows}
        more = reading.holding(connection, near.keys() - known, scopes, now)
        cosines = near | vectors.cosines(vector, scopes, known - near.keys())
        return Near(rows=tuple(more), cosines=cosines, crowd=crowd)

    def _vector(self, started: Future[Any] | None, budget: Budget) -> Any | None:
        """The question's vector, if it is there in time."""
        if self._similarity is None:
            return None
        vector = self._similarity.finish(started, budget.deadline_ms / 1000)
        if vector is not None and self._vectors is None:
            embedder = self._similarity.embedder()
            assert embedder is not None
            self._vectors = Vectors(embedder.name)
            self._kinship = Kinship(embedder) if isinstance(embedder, WordEmbedder) else None
        return vector


def _with_kin(
    kinship: Kinship, asked: Asked, evidence: Sequence[Evidence], now: int, least: float
) -> list[Evidence]:
    """The evidence, with how near its words are wherever that could still decide."""
    closest = (msgspec.structs.replace(one, kin=1.0) for one in evidence)
    open_ones = [one.row for one in closest if relevance(one, now) >= least]
    kin = kinship.of(asked.text, open_ones)
    return [msgspec.structs.replace(one, kin=kin.get(one.row.seq, one.kin)) for one in evidence]


def _by_words(connection: sqlite3.Connection, lookup: Lookup, now: int) -> list[Row]:
    """What FTS5 proposes and holds; it is asked for more when nearly all it proposed is outdated."""
    proposed = search.propose(connection, lookup, search.PROPOSED)
    rows = reading.holding(connection, proposed, lookup.scopes, now)
    if len(proposed) == search.PROPOSED and len(rows) < search.PROPOSED // 4:
        proposed = search.propose(connection, lookup, search.MORE)
        rows = reading.holding(connection, proposed, lookup.scopes, now)
    return rows
