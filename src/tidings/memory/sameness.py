"""What says the same: a memory that stands in the conversation, echoes the question, or repeats another.

Word for word by hash and by runs of five words, loosely by shared stems, by similarity where it is known.
Pure functions over texts and stems; thresholds are data here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidings.core.text import is_unicode
from tidings.memory.entry import digest
from tidings.memory.languages import CHANGED
from tidings.memory.words import words

RUN = 5
"""Words in a row that are compared."""

CONTAINED = 0.6
"""A memory of whose runs this share stands in the conversation is there already."""

REPEATED = 0.95
"""Two texts whose vectors are this near say the same."""

ECHO = 0.8
"""A memory that shares this much with the question tells nothing new."""

NEAR_DUPLICATE = 0.85
"""Two statements that share this much are one; the newer counts."""

OPENING = 3
"""Two statements whose first words of content are the same, this many, are about the same."""

VARIANT = 0.6
"""Two statements that begin alike and share this much are about the same."""

SUBJECT = 0.5
"""A statement that says that something changed changes what it shares this much with, and two words."""

AKIN = 0.6
"""Two statements of which the shorter shares this much with the other, and two words, may answer alike."""


class Context:
    """What the model has before it: texts, by hash and by runs of words, and ids and hashes."""

    def __init__(self, texts: Sequence[str], given: Collection[str] = ()) -> None:
        self._given = {name.removeprefix("sha256:") for name in given}
        self._hashes = {digest(text) for text in texts if is_unicode(text)}
        said = [words(text) for text in texts]
        self._runs = {run for one in said for run in _runs(one)}
        self._lines = [f" {' '.join(one)} " for one in said]

    def holds(self, id: str, sha: str, text: str) -> bool:
        """Whether the model has this memory before it."""
        if id in self._given or sha in self._given or sha in self._hashes:
            return True
        own = words(text)
        runs = _runs(own)
        if not runs:
            line = f" {' '.join(own)} "
            return bool(own) and any(line in other for other in self._lines)
        return sum(run in self._runs for run in runs) / len(runs) >= CONTAINED


def is_question(text: str) -> bool:
    """Whether a text asks and does not state: it puts nothing out of force, and seldom answers."""
    return text.rstrip().endswith(("?", "？"))


def shared(one: Collection[str], other: Collection[str]) -> float:
    """How much two sets of stems have in common, 0 to 1."""
    mine, yours = set(one), set(other)
    return len(mine & yours) / len(mine | yours) if mine and yours else 0.0


def is_near_duplicate(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two statements are one: nearly the same stems, and the same numbers."""
    mine, yours = set(one), set(other)
    return shared(mine, yours) >= NEAR_DUPLICATE and numbers(mine) == numbers(yours)


def is_variant(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two statements are about the same: they open alike, or begin alike and share most words.

    Numbers are left out: they are what changes. Two that differ from the first word on ("staging …",
    "production …") are about different things however much else they share.
    """
    mine, yours = _without_numbers(one), _without_numbers(other)
    if len(mine) >= OPENING and mine[:OPENING] == yours[:OPENING]:
        return True
    return mine[:1] == yours[:1] and shared(mine, yours) >= VARIANT


def is_change(newer: str, stems: Sequence[str], older: Sequence[str]) -> bool:
    """Whether the text `newer`, of these stems, says that what `older` speaks of is no longer so."""
    if CHANGED.isdisjoint(words(newer)):
        return False
    return _in_common(stems, older) >= SUBJECT


def is_akin(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether most of the shorter of two statements is in the other."""
    return _in_common(one, other) >= AKIN


def _in_common(one: Sequence[str], other: Sequence[str]) -> float:
    """How much of the shorter of two statements is in the other, numbers left out; one word is nothing."""
    mine, yours = _without_numbers(one), _without_numbers(other)
    both = set(mine) & set(yours)
    return len(both) / min(len(mine), len(yours)) if len(both) > 1 else 0.0


def _without_numbers(stems: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(stem for stem in stems if not numbers((stem,))))


def numbers(stems: Collection[str]) -> set[str]:
    """The stems that hold a digit."""
    return {stem for stem in stems if any(character.isdigit() for character in stem)}


def _runs(found: list[str]) -> set[tuple[str, ...]]:
    return {tuple(found[at : at + RUN]) for at in range(len(found) - RUN + 1)}
