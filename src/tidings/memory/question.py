"""What a message asks of the memory: the words and the text to look for, or that there is nothing to ask.

A pasted log is not a question: of a long message only the questions count, or how it begins and ends. One
that is too short to stand alone ("and on staging?") borrows words from the user's message before it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from tidings.memory.languages import OURS
from tidings.memory.words import Stems, content, words

LONGEST = 20_000
"""Characters of a message that are read at all."""

LONG = 400
"""A message with more characters is cut to what it asks."""

EDGE = 200
"""Characters of a long message's beginning and end that count."""

MOST_HISTORY = 20
"""How many messages of the recent history are looked at, the last ones."""

FEW = 3
"""A message with fewer words of content may borrow from the one before."""

_REFERRING = "it its they them their theirs that those these he him his she her hers there"
REFERRING = frozenset(_REFERRING.split())
"""Words that lean on what was said before."""

_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]+|[^.!?\n]+$")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A message made ready: what to embed, its stems of content, those it borrows, and all of them.

    `words` says which word a stem comes from, `ours` that the message speaks of what we do here.
    """

    text: str
    stems: tuple[str, ...]
    borrowed: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    words: dict[str, str] = {}
    ours: bool = False


def ask(message: str, history: Sequence[Mapping[str, str]], stems: Stems) -> Asked | None:
    """What to look for; None when the message holds nothing that a memory could answer."""
    text = gist(message[:LONGEST])
    said = words(text)
    found = [word for word in content(said) if not word.isdigit() or len(said) > 1]
    refers = text.endswith("?") and not REFERRING.isdisjoint(said)
    if not found and not refers:
        return None
    origin = dict(zip(stems.of_words(found), found, strict=True))
    mine = tuple(origin)
    borrowed: tuple[str, ...] = ()
    before = _before(history) if len(mine) < FEW else ""
    if not found and not before:
        return None
    if before:
        borrowed = tuple(stem for stem in dict.fromkeys(stems.of(before)) if stem not in mine)
        text = f"{before}\n{text}"
    ours = not OURS.isdisjoint(said)
    everything = frozenset(stems.of(text))
    return Asked(text=text, stems=mine, borrowed=borrowed, said=everything, words=origin, ours=ours)


def gist(message: str) -> str:
    """The message, or what a long one asks: its questions; without any, how it begins and ends."""
    plain = message.strip()
    if len(plain) <= LONG:
        return plain
    ends = (one.strip() for one in sentences(plain))
    asked = " ".join(one for one in ends if one.endswith("?") and len(one) <= LONG)
    return asked[:LONG] or f"{plain[:EDGE]} {plain[-EDGE:]}"


def sentences(text: str) -> list[str]:
    """The text cut after each sentence and line; joined they are the text again."""
    return _SENTENCE.findall(text)


def recent(history: Sequence[Mapping[str, str]]) -> list[str]:
    """The contents of the recent messages that are looked at."""
    return [message["content"][:LONGEST] for message in history[-MOST_HISTORY:]]


def _before(history: Sequence[Mapping[str, str]]) -> str:
    """What the user said last, before this message."""
    for message in reversed(history[-MOST_HISTORY:]):
        if message["role"] == "user":
            return gist(message["content"][:LONGEST])
    return ""
