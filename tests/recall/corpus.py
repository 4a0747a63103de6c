"""Facts in bulk, and the plainest BM25 there is to hold the store against."""

from __future__ import annotations

from math import log

from tidings.recall.fact import Fact
from tidings.recall.store import FactStore
from tidings.recall.tokens import tokens

NOW = 1_700_000_000_000


def option(claim: str, at: int = 0, **more: object) -> dict[str, object]:
    return {"kind": "claim", "claim": claim, "confidence": 0.9, "asserted_at": NOW + at, **more}


def claims(store: FactStore, query: str, **more: object) -> list[str]:
    return [one.fact.claim for one in store.recall_facts(query, **more)]  # type: ignore[arg-type]


def naive(facts: list[Fact], query: str) -> dict[str, float]:
    """BM25 of every fact, by its id: k1 1.2, b .75, the sum over the query's different words."""
    documents = {
        fact.id: tokens(" ".join([fact.claim, *fact.tags, *(e.ref for e in fact.evidence)]))
        for fact in facts
    }
    average = sum(map(len, documents.values())) / len(documents) or 1
    scores = dict.fromkeys(documents, 0.0)
    for word in set(tokens(query)):
        containing = sum(word in words for words in documents.values())
        idf = log((len(documents) - containing + 0.5) / (containing + 0.5) + 1)
        for name, words in documents.items():
            count = words.count(word)
            norm = 1.2 * (1 - 0.75 + 0.75 * len(words) / average)
            scores[name] += idf * count * 2.2 / (count + norm)
    return scores
