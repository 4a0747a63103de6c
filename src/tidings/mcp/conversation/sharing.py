"""Whose words go in, and how many: the items of several answers within one budget. Pure.

Servers come in the order of their priority. Each gets a fair share of the bytes: what one does not need
goes to the others, and what is left over goes to the first in the order. Within a server the most
relevant items come first. The same text twice is shown once. What is left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.core.text import truncate
from tidings.mcp.conversation.wire import Item, Room

_GAP = "\n\n"


class Portion(msgspec.Struct, frozen=True):
    """What of one server's answer goes in: a body, how many items are in it, and those that have ids."""

    server: str
    body: str
    items: int
    ids: tuple[str, ...] = ()


class Shared(msgspec.Struct, frozen=True):
    """The portions in the order of priority, and how many items of each server were left out."""

    portions: tuple[Portion, ...]
    left_out: Mapping[str, int]


def share(answers: Sequence[tuple[str, Sequence[Item]]], room: Room) -> Shared:
    """Divide `room` among `answers`, which come in the order of priority."""
    chosen = _chosen(answers, room)
    offered = [(server, [written(item) for item in items]) for server, items in chosen]
    ids = {server: [item.id for item in items] for server, items in chosen}
    quota = _fair([_size(texts) for _, texts in offered], room.bytes)
    taken = [_filled(texts, most) for (_, texts), most in zip(offered, quota, strict=True)]
    spare = room.bytes - sum(map(_size, taken))
    for place, (_, texts) in enumerate(offered):
        taken[place], spare = _topped_up(taken[place], texts, spare)
    portions = tuple(
        Portion(server, _GAP.join(texts), len(texts), tuple(filter(None, ids[server][: len(texts)])))
        for (server, _), texts in zip(offered, taken, strict=True)
        if texts
    )
    kept = {portion.server: portion.items for portion in portions}
    left = {server: len(items) - kept.get(server, 0) for server, items in answers}
    return Shared(portions, {server: count for server, count in left.items() if count})


def _chosen(answers: Sequence[tuple[str, Sequence[Item]]], room: Room) -> list[tuple[str, list[Item]]]:
    """The items of each server, best first, at most so many, no text twice."""
    seen: set[str] = set()
    chosen: list[tuple[str, list[Item]]] = []
    for server, items in answers:
        kept: list[Item] = []
        for item in sorted(items, key=lambda one: -(1.0 if one.relevance is None else one.relevance)):
            mark = " ".join(item.text.split()).casefold()
            if mark not in seen and len(kept) < room.items:
                seen.add(mark)
                kept.append(item)
        chosen.append((server, kept))
    return chosen


def written(item: Item) -> str:
    """An item as it stands in a body: its text, and in a line below where it is from."""
    about = [f"source: {item.source}"] if item.source else []
    about += [f"date: {item.date}"] if item.date else []
    about += [] if item.relevance is None else [f"relevance: {item.relevance:.2f}"]
    return f"{item.text}\n({', '.join(about)})" if about else item.text


def _fair(wanted: Sequence[int], total: int) -> list[int]:
    """The most even division in which nobody gets more than wanted."""
    given = [0] * len(wanted)
    waiting = sorted(range(len(wanted)), key=lambda place: wanted[place])
    while waiting:
        place = waiting.pop(0)
        given[place] = min(wanted[place], total // (len(waiting) + 1))
        total -= given[place]
    return given


def _filled(texts: Sequence[str], limit: int) -> list[str]:
    """The first texts that fit; a first one that does not is cut."""
    taken: list[str] = []
    for text in texts:
        if _size([*taken, text]) > limit:
            break
        taken.append(text)
    if not taken and texts and limit > 0:
        cut = truncate(texts[0], limit).strip()
        return [cut] if cut else []
    return taken


def _topped_up(taken: list[str], texts: Sequence[str], spare: int) -> tuple[list[str], int]:
    """`taken` and as many whole texts more as fit in what is spare."""
    if len(taken) == 1 and taken[0] != texts[0]:
        whole = [texts[0]]
        if _size(whole) - _size(taken) > spare:
            return taken, spare
        taken, spare = whole, spare - (_size(whole) - _size(taken))
    for text in texts[len(taken) :]:
        cost = _size([*taken, text]) - _size(taken)
        if cost > spare:
            break
        taken, spare = [*taken, text], spare - cost
    return taken, spare


def _size(texts: Sequence[str]) -> int:
    return len(_GAP.join(texts).encode())
