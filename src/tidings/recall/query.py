"""From a query's words to the few that are worth looking up, and what each weighs.

A word that most facts contain costs the most to look up and tells the least. In a large namespace
the words in more than 5 % of its facts are left out and the 5 rarest of the rest are kept; when
all are that common, the rarest that can be afforded. A small namespace is asked with more words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

import msgspec

COMMON_SHARE = 0.05
KEPT = 5
SMALL = 1_000
KEPT_IF_SMALL = 32
LONGEST_QUERY = 20_000
"""Characters of a query that are read; a task text is shorter, a pasted file need not be."""

K1 = 1.2
B = 0.75


class Weighed(msgspec.Struct, frozen=True):
    """The chosen words with their weights, and the average length that lengths are judged by."""

    weights: dict[str, float]
    average: float

    def score(self, words: list[str], length: int) -> float:
        """BM25 of a fact with these words; 0 when none of the chosen is among them."""
        norm = K1 * (1 - B + B * length / self.average)
        total = 0.0
        for word, weight in self.weights.items():
            if count := words.count(word):
                total += weight * count * (K1 + 1) / (count + norm)
        return total


def prune(found: Mapping[str, int], documents: int) -> tuple[str, ...]:
    """The words to look up, rarest first; `found` says how many of `documents` contain each."""
    known = sorted((word for word, count in found.items() if count), key=found.__getitem__)
    if documents <= SMALL:
        return tuple(known[:KEPT_IF_SMALL])
    rare = [word for word in known if found[word] <= COMMON_SHARE * documents]
    return tuple((rare or _affordable(known, found, documents))[:KEPT])


def weigh(words: Iterable[str], found: Mapping[str, int], documents: int, total: int) -> Weighed:
    """The chosen words with their inverse document frequency; `total` counts all words stored."""
    average = total / documents if documents and total else 1.0
    return Weighed({word: idf(found[word], documents) for word in words}, average)


def idf(count: int, documents: int) -> float:
    """How much a word tells that `count` of `documents` contain."""
    return log(1 + (documents - count + 0.5) / (count + 0.5))


def _affordable(known: list[str], found: Mapping[str, int], documents: int) -> list[str]:
    """The rarest words whose facts together are no more than `KEPT` rare ones may have."""
    kept, budget = known[:1], KEPT * COMMON_SHARE * documents
    for word in known[1:]:
        if sum(found[one] for one in kept) + found[word] > budget:
            break
        kept.append(word)
    return kept
