"""Pieces of JSON Schema (draft 2020-12), and what is found out by walking one.

A *pool* is every named schema of the protocol; schemas refer to one another by `#/$defs/Name`. `closed`
makes one of them a document that stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, get_args

from spec.parts.words import TYPES
from tidings.bridge import updates
from tidings.core.reminder import PROPAGATE, ROLE_HINTS, SOURCES, Trust
from tidings.core.seams import MODES

Schema: TypeAlias = dict[str, object]
Pool: TypeAlias = dict[str, Schema]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = "v1"
"""Of the wire, not of the package: a change that breaks a reader makes it v2."""

VOCABULARY: dict[str, tuple[str, ...]] = {
    "Propagate": PROPAGATE,
    "RoleHint": ROLE_HINTS,
    "Source": SOURCES,
    "Mode": MODES,
    "UpdateSource": tuple(updates.SOURCES.values()),
    "Phase": tuple(updates.PHASES.values()),
    "Trust": get_args(Trust),
}
"""The closed sets of words, each under one name."""


def vocabulary() -> Pool:
    """The sets of words as named schemas, and what a text that says something is."""
    text: Schema = {"type": "string", "pattern": not_blank(), "description": TYPES["NotBlank"]}
    sets: Pool = {
        name: {"type": "string", "enum": list(words), "description": TYPES[name]}
        for name, words in VOCABULARY.items()
    }
    return {**sets, "NotBlank": text}


def named(words: Iterable[object]) -> Schema:
    """The schema of one of `words`: a reference when the set has a name."""
    given = list(words)
    for name, known in VOCABULARY.items():
        if set(known) == set(given):
            return ref(name)
    return {"const": given[0]} if len(given) == 1 else {"enum": given}


def ref(name: str) -> Schema:
    """A reference to a named schema."""
    return {"$ref": f"#/$defs/{name}"}


def either(*options: Schema) -> Schema:
    """One of these, written as a list of types where that says the same."""
    if len(options) == 1:
        return options[0]
    plain = [option for option in options if isinstance(option.get("type"), str)]
    if len(plain) == len(options) and sum(len(option) > 1 for option in options) <= 1:
        merged: Schema = {"type": [option["type"] for option in options]}
        for option in options:
            merged |= {name: value for name, value in option.items() if name != "type"}
        return merged
    return {"anyOf": list(options)}


def not_blank() -> str:
    """The pattern of a text that holds more than white space, in words that every regex dialect shares."""
    spaces = [code for code in range(0x10000) if chr(code).isspace()]
    ranges: list[list[int]] = []
    for code in spaces:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    inside = "".join(_span(low, high) for low, high in ranges)
    return f"[^{inside}]"


def _span(low: int, high: int) -> str:
    return f"\\u{low:04x}" if low == high else f"\\u{low:04x}-\\u{high:04x}"


def replaced(value: object, change: Callable[[Schema], Schema]) -> object:
    """`value` with every object in it changed, inner ones first."""
    if isinstance(value, Mapping):
        return change({name: replaced(inner, change) for name, inner in value.items()})
    if isinstance(value, list):
        return [replaced(inner, change) for inner in value]
    return value


def references(value: object) -> Iterator[str]:
    """The names that a schema refers to, in order."""
    if isinstance(value, Mapping):
        target = value.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix("#/$defs/")
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def closed(name: str, pool: Pool) -> Schema:
    """The schema called `name` as a document: with its address and all that it refers to."""
    needed: dict[str, Schema] = {}
    waiting = list(references(pool[name]))
    while waiting:
        found = waiting.pop(0)
        if found not in needed:
            needed[found] = pool[found]
            waiting += references(pool[found])
    document: Schema = {
        "$schema": DIALECT,
        "$id": f"urn:tidings:{VERSION}:{kebab(name)}",
        "title": name,
        **pool[name],
    }
    return {**document, "$defs": {name: needed[name] for name in sorted(needed)}} if needed else document


def kebab(name: str) -> str:
    """`SessionUpdate_ReminderEmitted` as `session-update-reminder-emitted`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", name).lower()


def snake(name: str) -> str:
    """`reminderId` as `reminder_id`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
