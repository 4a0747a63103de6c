"""The vectors of a store, resident: which memories are nearest to a question.

One matrix per project, read from the file once and then only what is new; when something was forgotten,
all is read again. Vectors are kept as 16-bit floats in the file and 32-bit ones in memory. Exact: every
vector of the projects asked for is compared, in one thread: those of a BLAS burn more than they save here.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TypeAlias

_STORED = "<f2"

Near: TypeAlias = tuple[int, float]
"""A memory's number and its cosine with the question."""


class _Rows:
    """The vectors of one project, in a buffer that doubles."""

    def __init__(self, numpy: Any, width: int) -> None:
        self._numpy = numpy
        self._buffer = numpy.zeros((64, width), dtype=numpy.float32)
        self.seqs: list[int] = []

    def add(self, seq: int, vector: Any) -> None:
        if len(self.seqs) == len(self._buffer):
            self._buffer = self._numpy.concatenate([self._buffer, self._numpy.zeros_like(self._buffer)])
        self._buffer[len(self.seqs)] = vector
        self.seqs.append(seq)

    def place(self, seq: int) -> int | None:
        """Where the vector of `seq` stands, if it is here; they come in order."""
        at = bisect_left(self.seqs, seq)
        return at if at < len(self.seqs) and self.seqs[at] == seq else None

    @property
    def matrix(self) -> Any:
        return self._buffer[: len(self.seqs)]


class Vectors:
    """The resident vectors of one model."""

    def __init__(self, model: str) -> None:
        self._numpy = import_module("numpy")
        self._model = model
        self._rows: dict[int, _Rows] = {}
        self._seen = (-1, 0)

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Read what is new; all, if something was forgotten or changed since."""
        epoch, last = connection.execute(
            "SELECT epoch, (SELECT coalesce(max(seq), 0) FROM memories) FROM state"
        ).fetchone()
        if epoch != self._seen[0]:
            self._rows, self._seen = {}, (epoch, 0)
        if last == self._seen[1]:
            return
        rows = connection.execute(
            "SELECT m.scope, v.seq, v.vector FROM vectors v JOIN memories m ON m.seq = v.seq"
            " WHERE v.seq > ? AND v.model = ? ORDER BY v.seq",
            (self._seen[1], self._model),
        )
        for scope, seq, vector in rows:
            values = self._numpy.frombuffer(vector, dtype=_STORED)
            self._rows.setdefault(scope, _Rows(self._numpy, len(values))).add(seq, values)
        self._seen = (epoch, last)

    def nearest(self, query: Any, scopes: Iterable[int], count: int) -> list[Near]:
        """The memories that are nearest to `query`, best first."""
        found: list[Near] = []
        for rows in self._of(scopes):
            cosines = self._numpy.einsum("ij,j->i", rows.matrix, query)
            best = _best(self._numpy, cosines, count)
            found += [(rows.seqs[at], float(cosines[at])) for at in best]
        return sorted(found, key=lambda one: -one[1])[:count]

    def cosines(self, query: Any, scopes: Iterable[int], seqs: Iterable[int]) -> dict[int, float]:
        """How near each of the memories `seqs` is to `query`."""
        wanted = list(seqs)
        found: dict[int, float] = {}
        for rows in self._of(scopes):
            at = [place for seq in wanted if (place := rows.place(seq)) is not None]
            if at:
                near = rows.matrix[at] @ query
                found |= {rows.seqs[number]: float(one) for number, one in zip(at, near, strict=True)}
        return found

    def _of(self, scopes: Iterable[int]) -> list[_Rows]:
        return [self._rows[scope] for scope in scopes if scope in self._rows]


def packed(vector: Any) -> bytes:
    """A vector as the file keeps it."""
    data: bytes = vector.astype(_STORED).tobytes()
    return data


def _best(numpy: Any, cosines: Any, count: int) -> Any:
    if len(cosines) <= count:
        return range(len(cosines))
    return numpy.argpartition(-cosines, count)[:count]
