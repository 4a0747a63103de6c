"""From evidence to the few memories that are shown: the gate, what says the same, and the size.

Values and pure functions. `choose` decides which memories fit and in which order; `fit` cuts them to the
budget, with a visible mark where something was left out. An empty answer is an answer: nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from tidings.memory.entry import iso
from tidings.memory.question import Asked, sentences
from tidings.memory.relevance import RELATIVE, relevance, scale_of
from tidings.memory.sameness import (
    ECHO,
    Context,
    is_akin,
    is_change,
    is_question,
    is_variant,
    shared,
)
from tidings.memory.search import Evidence

MOST_ITEMS = 5
MOST_CHARS = 1_200
MOST_WEIGHED = 20
"""How many of those that fit are compared with one another."""

SHORTEST_PIECE = 80
"""A memory that would be cut shorter than this is left out."""

AS_WELL = 0.75
"""A newer memory that covers this share of what an older one covers of the question answers it as well."""

MARK = "[…]"

Repeats: TypeAlias = Callable[[Evidence], bool]
"""Whether a memory says what stands in the conversation already, by similarity."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How much an answer may take: items, characters of content, milliseconds for the similarity."""

    max_items: int = MOST_ITEMS
    max_chars: int = MOST_CHARS
    deadline_ms: int = 200


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One memory that fits; `cut` says that `content` is only a part of it."""

    id: str
    content: str
    relevance: float
    source: str
    date: str
    why: str
    sha: str
    cut: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What fits a message. `silent` says why nothing does; `late` that similarity was not ready in time."""

    items: tuple[Item, ...] = ()
    silent: str = ""
    similarity: bool = False
    late: bool = False


class Scored(msgspec.Struct, frozen=True):
    """A memory with its relevance."""

    relevance: float
    evidence: Evidence

    @property
    def order(self) -> tuple[float, int, int]:
        """Sorts the better first, the newer first among equals."""
        return (-self.relevance, -self.evidence.row.memory.created, -self.evidence.row.seq)


def choose(
    found: Sequence[Evidence],
    asked: Asked,
    context: Context,
    now: int,
    *,
    repeats: Repeats | None = None,
    least: float | None = None,
) -> list[Scored]:
    """The memories to show, best first; `least` replaces the relevance that the gate demands."""
    scored = sorted((Scored(relevance(one, now), one) for one in found), key=lambda one: one.order)
    fitting = [one for one in scored if one.relevance >= (least or scale_of(one.evidence).least)]
    fitting = [one for one in fitting[:MOST_WEIGHED] if one.relevance >= RELATIVE * fitting[0].relevance]
    kept = [_newest(one, scored) for one in fitting if not _is_echo(one.evidence, asked)]
    once = {one.evidence.row.seq: one for one in reversed(kept)}
    shown = sorted(once.values(), key=lambda one: one.order)
    return [one for one in shown if not _is_known(one.evidence, context, repeats)]


def fit(chosen: Sequence[Scored], budget: Budget, asked: Asked) -> tuple[Item, ...]:
    """The first of them that fit the budget, the last perhaps in part."""
    items: list[Item] = []
    left = budget.max_chars
    for one in chosen:
        if len(items) >= budget.max_items:
            break
        content = excerpt(one.evidence, left)
        if content:
            items.append(_item(one, content, asked))
            left -= len(content)
    return tuple(items)


def excerpt(evidence: Evidence, most: int) -> str:
    """The text, or the sentences around what matched, in `most` characters; "" if those are too few."""
    text = evidence.row.memory.text
    if len(text) <= most:
        return text
    if most < SHORTEST_PIECE:
        return ""
    room = most - 2 * len(MARK) - 2
    pieces = sentences(text)
    words = {stem[:4] for stem in evidence.matched}
    hits = [sum(word in piece.lower() for word in words) for piece in pieces]
    first = last = hits.index(max(hits))
    size = len(pieces[first])
    while size <= room and (first > 0 or last < len(pieces) - 1):
        grow_back = first > 0 and (last == len(pieces) - 1 or hits[first - 1] >= hits[last + 1])
        more = pieces[first - 1] if grow_back else pieces[last + 1]
        if size + len(more) > room:
            break
        first, last, size = first - grow_back, last + (not grow_back), size + len(more)
    return _marked("".join(pieces[first : last + 1]), room, first > 0, last < len(pieces) - 1)


def _marked(piece: str, room: int, before: bool, after: bool) -> str:
    kept = piece.strip()
    if len(kept) > room:
        kept, after = kept[:room].rstrip(), True
    return f"{MARK + ' ' if before else ''}{kept}{' ' + MARK if after else ''}"


def _item(one: Scored, content: str, asked: Asked) -> Item:
    row = one.evidence.row
    return Item(
        id=row.memory.id,
        content=content,
        relevance=round(one.relevance, 3),
        source=row.memory.source,
        date=iso(row.memory.created),
        why=_why(one.evidence, asked),
        sha=row.sha,
        cut=content != row.memory.text,
    )


def _why(evidence: Evidence, asked: Asked) -> str:
    words = [asked.words.get(stem, stem) for stem in evidence.matched[:6]]
    reasons = [f"words: {', '.join(words)}"] if words else []
    if evidence.cosine is not None:
        reasons.append(f"similarity {evidence.cosine:.2f}")
    if evidence.row.memory.pinned:
        reasons.append("pinned")
    return "; ".join(reasons)


def _is_echo(evidence: Evidence, asked: Asked) -> bool:
    """Whether the memory is about the question itself, asked before; a statement may well confirm it."""
    memory = evidence.row.memory
    if memory.kind != "turn" and not is_question(memory.text):
        return False
    return shared(evidence.row.terms, asked.said) >= ECHO


def _is_known(evidence: Evidence, context: Context, repeats: Repeats | None) -> bool:
    row = evidence.row
    if context.holds(row.memory.id, row.sha, row.memory.text):
        return True
    return repeats is not None and repeats(evidence)


def _newest(one: Scored, scored: Sequence[Scored]) -> Scored:
    """The memory, or the newest that puts it out of force: as relevant, even if too weak by itself."""
    newer = [other for other in scored if _outdates(other.evidence, one.evidence)]
    if not newer:
        return one
    latest = max(newer, key=lambda other: _age(other.evidence))
    return Scored(max(latest.relevance, one.relevance), latest.evidence)


def _outdates(new: Evidence, old: Evidence) -> bool:
    """Whether `new` says that `old` is no longer so; or says about the same, later, and answers as well."""
    newer, older = new.row.memory, old.row.memory
    if is_question(newer.text) or _age(new) <= _age(old) or newer.role == "assistant" != older.role:
        return False
    if is_change(newer.text, new.row.terms, old.row.terms):
        return True
    if newer.kind == "turn" != older.kind:
        return False  # what was told is not undone by what is said in passing
    if is_variant(new.row.terms, old.row.terms) and set(old.matched) <= set(new.matched):
        return True
    return _answers_as_well(new, old) and is_akin(new.row.terms, old.row.terms)


def _answers_as_well(new: Evidence, old: Evidence) -> bool:
    """Whether both hold at least two words of the question in common, and the newer hardly fewer in all."""
    both = set(new.matched) & set(old.matched)
    return len(both) > 1 and new.coverage >= AS_WELL * old.coverage


def _age(evidence: Evidence) -> tuple[int, int]:
    return evidence.row.memory.created, evidence.row.seq
