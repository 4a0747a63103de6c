"""How near a memory's words are to a question's, one by one: what the mean of a text blurs.

A question in entirely other words shares no stem with its answer, but several of their words are kin. The
nearest of a memory's words count, so that a long memory does not lose by what else it says. Vectors of
words are kept. Used with embedders that know words (`WordEmbedder`); called by `finder.py`.
"""

from __future__ import annotations

from collections import OrderedDict
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
        self._kept: OrderedDict[str, Any] = OrderedDict()

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
        with self._lock:
            found = [self._vector(word) for word in said]
        return self._numpy.stack(found) if found else None

    def _vector(self, word: str) -> Any:
        vector = self._kept.get(word)
        if vector is None:
            vector = self._kept[word] = self._embedder.embed_word(word)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return vector
