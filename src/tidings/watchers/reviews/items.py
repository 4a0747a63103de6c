"""Items of a JSON document, each with an id, a title and a state, and what turned among them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.watchers.reviews.events import TAGS, TTL, said
from tidings.watchers.reviews.pointer import at, read_pointer
from tidings.watchers.told import Told

MOST_ITEMS = 1_000
FEW = 8
"""Up to so many items get a reminder each."""


class Item(msgspec.Struct, frozen=True):
    """One thing that is followed."""

    id: str
    title: str
    state: str
    url: str = ""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Where in a document the items stand, and where in an item its fields; JSON pointers."""

    items: tuple[str, ...] = ()
    id: tuple[str, ...] = ("id",)
    title: tuple[str, ...] = ("title",)
    state: tuple[str, ...] = ("state",)
    url: tuple[str, ...] = ("html_url",)


def shape(**pointers: str) -> Shape:
    """A shape from pointers such as `items="/data"`.

    Raises:
        CallerError: a pointer that is none.
    """
    return Shape(**{name: read_pointer(text) for name, text in pointers.items()})


def read_items(document: object, form: Shape) -> tuple[list[Item], int] | None:
    """The items that have an id, and how many were left out because there are too many.

    None when there is no list where it should stand, nor an item: then nothing is known of any item.
    """
    found = at(document, form.items)
    entries = found if isinstance(found, list) else [found]
    items = [item for entry in entries[:MOST_ITEMS] if (item := read_item(entry, form)) is not None]
    if entries and not items:
        return None
    return items, max(0, len(entries) - MOST_ITEMS)


def read_item(entry: object, form: Shape) -> Item | None:
    """The item, None when it has no id."""
    name = said(at(entry, form.id), 120)
    if not name:
        return None
    title, state, url = (said(at(entry, place), 200) for place in (form.title, form.state, form.url))
    return Item(name, title, state, url)


def turned(known: Mapping[str, str] | None, items: Sequence[Item], name: str) -> list[Told]:
    """What is new or in another state; at the very first look nothing is."""
    if known is None:
        return []
    news = [item for item in items if known.get(item.id) != item.state]
    if len(news) > FEW:
        lines = [f"{len(news)} items of {name} are new or changed:"]
        lines += [f"- {_told(item)}" for item in news[:FEW]]
        return [Told("\n".join([*lines, f"- and {len(news) - FEW} more"]), f"{name}:many", TAGS, TTL)]
    return [Told(_body(item, known.get(item.id)), f"{name}:{item.id}", TAGS, TTL) for item in news]


def _told(item: Item) -> str:
    words = f'{item.id} "{item.title}"' if item.title else item.id
    return f"{words}: {item.state}" if item.state else words


def _body(item: Item, before: str | None) -> str:
    words = f'{item.id} "{item.title}"' if item.title else item.id
    more = f" See {item.url}" if item.url else ""
    if before is None:
        return f"New: {words}{f' ({item.state})' if item.state else ''}.{more}"
    return f"{words} is now {item.state or 'without a state'}; it was {before or 'without one'}.{more}"
