"""How near a memory's words are to a question's, one by one: what the mean of a text blurs.

A question in entirely other words shares no stem with its answer, but several of their words are kin. The
nearest of a memory's words count, so that a long memory does not lose by what else it says. Vectors of
words are kept. Used with embedders that know words (`WordEmbedder`); called by `finder.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from importlib import import_module
from threading import Lock
from typing import Any

from tidings.memory.embedding import WordEmbedder
from tidings.memory.reading import Row
from tidings.memory.search import KIN
from tidings.memory.words import content, words

MOST_KEPT = 20_000
"""How many vectors of words are kept; then all are forgotten and made anew as they come."""

LONGEST = 1_000
"""Characters of a memory whose words are compared."""
MOST_ASKED = 24
"""How many words of a question are."""


class Kinship:
    """Compares words by the vectors of `embedder`. May be asked from any thread."""

    def __init__(self, embedder: WordEmbedder) -> None:
        self._numpy = import_module("numpy")
        self._embedder = embedder
        self._lock = Lock()
        self._kept: dict[str, Any] = {}

    def of(self, question: str, rows: Sequence[Row]) -> dict[int, float]:
        """For each memory the mean nearness of its nearest words to any of the question's."""
        said = {row.seq: set(content(words(row.memory.text[:LONGEST]))) for row in rows}
        every = list(dict.fromkeys(word for own in said.values() for word in own))
        asked, known = self._vectors(content(words(question))[:MOST_ASKED]), self._vectors(every)
        if asked is None or known is None:
            return {}
        nearest = self._numpy.einsum("ik,jk->ij", known, asked).max(axis=1).clip(0, 1)
        near = dict(zip(every, nearest.tolist(), strict=True))
        return {seq: sum(nlargest(KIN, (near[word] for word in own))) / KIN for seq, own in said.items()}

    def _vectors(self, said: Iterable[str]) -> Any | None:
        found = list(said)
        with self._lock:
            new = [word for word in dict.fromkeys(found) if word not in self._kept]
            if len(self._kept) + len(new) > MOST_KEPT:
                self._kept.clear()
                new = list(dict.fromkeys(found))
            if new:
                self._kept.update(zip(new, self._embedder.embed_words(new), strict=True))
            return self._numpy.stack([self._kept[word] for word in found]) if found else None
