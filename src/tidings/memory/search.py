"""Which memories could answer: proposed by words (FTS5) and by similarity, with the evidence for each.

FTS5 only proposes; the weight of a word is counted in the projects that are asked, because a word that is
rare elsewhere may stand in every memory of this one. How many rows FTS5 may visit is bounded, so that a
question costs about the same in a large memory. Every function works on a connection inside a read
transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from tidings.memory.question import Asked
from tidings.memory.reading import Row
from tidings.recall.query import Weighed, idf

MOST_WORDS = 10
COMMON_SHARE = 0.2
SMALL = 200
"""In fewer memories no word counts as common."""

MOST_VISITED = 12_000
"""How many postings of the chosen words FTS5 visits at most; the rarest word is always looked up."""

PROPOSED = 48
MORE = 512
"""How many are proposed at first, and when nearly all of those no longer hold."""

AROUND = 0.3
"""What a word of a neighbouring turn counts, against one of the memory's own."""

KIN = 3
"""How many of a memory's words must be near to the question's; the same word is as near as can be."""

BORROWED = 0.5
"""What a word of the message before counts, against one of the message."""


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """The question's words with their weights, and how often each occurs in the projects asked."""

    weighed: Weighed
    counts: dict[str, int]
    memories: int
    scopes: tuple[int, ...]

    @property
    def chosen(self) -> list[str]:
        """The words to look up, rarest first."""
        known = sorted((stem for stem, count in self.counts.items() if count), key=self.counts.__getitem__)
        common = self.memories * COMMON_SHARE if self.memories > SMALL else self.memories
        kept: list[str] = []
        visited = 0
        for stem in known[:MOST_WORDS]:
            visited += self.counts[stem]
            if kept and (self.counts[stem] > common or visited > MOST_VISITED):
                break
            kept.append(stem)
        return kept

    def is_rare(self, stem: str) -> bool:
        """Whether a word tells its memory from most others."""
        return 0 < self.counts.get(stem, 0) <= max(2, self.memories * 0.05)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Why a memory could answer: words in common, and similarity where it is known.

    `crowd` is a cosine that several memories reach here. `kin` is how near its nearest words are to the
    question's, `ours` that the question is about what we do here.
    """

    row: Row
    matched: tuple[str, ...]
    rare: int
    coverage: float
    back: float
    bm25: float
    ours: bool = False
    kin: float = 0.0
    cosine: float | None = None
    crowd: float = 0.0


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """What similarity found: more rows, and the cosines of all; nothing, where there is none."""

    rows: tuple[Row, ...] = ()
    cosines: dict[int, float] = {}
    crowd: float = 0.0


def look_up(connection: sqlite3.Connection, asked: Asked, scopes: Sequence[int]) -> Lookup:
    """Count the question's words in the projects `scopes`."""
    wanted = (*asked.stems, *asked.borrowed)
    parameters = {"scopes": _json(scopes), "terms": _json(wanted)}
    memories, total = connection.execute(
        "SELECT coalesce(sum(memories), 0), coalesce(sum(words), 0) FROM scopes"
        " WHERE id IN (SELECT value FROM json_each(:scopes))",
        parameters,
    ).fetchone()
    rows = connection.execute(
        "SELECT t.value, sum(w.memories) FROM json_each(:terms) t CROSS JOIN json_each(:scopes) s"
        " CROSS JOIN words w ON w.scope = s.value AND w.term = t.value GROUP BY t.value",
        parameters,
    )
    counts = {**dict.fromkeys(wanted, 0), **dict(rows)}
    weights = {stem: idf(counts[stem], memories) for stem in asked.stems}
    weights |= {stem: BORROWED * idf(counts[stem], memories) for stem in asked.borrowed}
    weighed = Weighed(weights, total / memories if total else 1.0)
    return Lookup(weighed=weighed, counts=counts, memories=memories, scopes=tuple(scopes))


def propose(connection: sqlite3.Connection, lookup: Lookup, limit: int) -> list[int]:
    """The numbers of the memories that FTS5 ranks best for the chosen words."""
    chosen = lookup.chosen
    if not chosen or not lookup.scopes:
        return []
    scopes = " OR ".join(f'scope : "{number}"' for number in lookup.scopes)
    terms = " OR ".join(f'"{stem}"' for stem in chosen)
    rows = connection.execute(
        f"SELECT rowid FROM found WHERE found MATCH ? ORDER BY bm25(found, 1.0, {AROUND}, 0.0) LIMIT ?",
        (f"({scopes}) AND {{terms around}} : ({terms})", limit),
    )
    return [seq for (seq,) in rows]


def weigh(lookup: Lookup, asked: Asked, rows: Iterable[Row], near: Near) -> list[Evidence]:
    """The evidence for each row."""
    return [_evidence(lookup, asked, row, near) for row in rows]


def _evidence(lookup: Lookup, asked: Asked, row: Row, similar: Near) -> Evidence:
    weights = lookup.weighed.weights
    own = set(row.terms)
    near = set(row.around)
    matched = tuple(stem for stem in weights if stem in own)
    total = sum(weights.values()) or 1.0
    covered = sum(weights[stem] for stem in matched)
    covered += AROUND * sum(weight for stem, weight in weights.items() if stem in near and stem not in own)
    best = total * 2.2
    bm25 = lookup.weighed.score(list(row.terms), row.length)
    bm25 += AROUND * lookup.weighed.score(list(row.around), len(row.around)) if row.around else 0.0
    return Evidence(
        row=row,
        matched=matched,
        rare=sum(lookup.is_rare(stem) for stem in matched),
        coverage=covered / total,
        back=len(matched) / max(len(own), 1),
        bm25=min(bm25 / best, 1.0),
        ours=asked.ours,
        kin=min(len(matched), KIN) / KIN,
        cosine=similar.cosines.get(row.seq),
        crowd=similar.crowd,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
