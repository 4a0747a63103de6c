"""What each field of a fact must look like: one small function per field, normalising or refusing.

A refusal is a `Wrong` with the rest of the sentence "`field` …"; `diagnose` turns it into a
Problem. `fact.py` reads a fact's options through these, `question.py` the arguments of recall and
invalidation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from tidings.core.producers import shown
from tidings.core.text import is_unicode
from tidings.errors import Problem

FactKind: TypeAlias = Literal["observation", "claim", "hypothesis", "decision", "constraint"]
EvidenceKind: TypeAlias = Literal["trace_ref", "file_range", "tool_output", "user_input"]

FACT_KINDS: tuple[FactKind, ...] = ("observation", "claim", "hypothesis", "decision", "constraint")
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = ("trace_ref", "file_range", "tool_output", "user_input")
MAX_CLAIM = 10_000
MAX_NAMESPACE = 200
MAX_DEPTH = 32
LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last that ISO 8601 can write in four digits."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Check: TypeAlias = Callable[[object], object]


class Wrong(Exception):
    """What a field should have been; becomes a Problem."""


def diagnose(code: str, field: str, value: object, expected: str) -> Problem:
    """One problem, worded as the rest of Tidings words them."""
    got = "it is missing" if value is None else f"got {shown(value)}"
    return Problem(code, field, shown(value), f"`{field}` {expected}; {got}")


def text(value: object, longest: int) -> str:
    """A trimmed, non-blank string that can be written as UTF-8."""
    if not isinstance(value, str) or not value.strip():
        raise Wrong("must be a non-blank string")
    if len(value) > longest:
        raise Wrong(f"must have at most {longest} characters; it has {len(value)}")
    if not is_unicode(value):
        raise Wrong("must be valid Unicode: it holds half of a surrogate pair")
    return value.strip()


def claim(value: object) -> str:
    """The sentence that the fact states."""
    return text(value, MAX_CLAIM)


def namespace(value: object) -> str:
    """The name of the shelf that the fact stands on."""
    return text(value, MAX_NAMESPACE)


def confidence(value: object) -> float:
    """A share of certainty, 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Wrong("must be a number from 0 (a guess) to 1 (certain)")
    return float(value)


def tags(value: object) -> tuple[str, ...]:
    """Trimmed tags, each once, in their order."""
    if not isinstance(value, (list, tuple)):
        raise Wrong('must be a list of strings, such as ["build"]')
    return tuple(dict.fromkeys(text(tag, MAX_NAMESPACE) for tag in value))


def _folded(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def one_of(value: object, choices: tuple[str, ...]) -> str:
    """The choice that `value` spells, whatever its case and its word joints."""
    for choice in choices:
        if isinstance(value, str) and _folded(value) == _folded(choice):
            return choice
    raise Wrong("must be one of " + ", ".join(choices))


def fact_kind(value: object) -> str:
    """One of the five kinds, in snake_case."""
    return one_of(value, FACT_KINDS)


def moment(value: object) -> int:
    """Milliseconds since the epoch, from those or from ISO 8601; without an offset it is UTC."""
    if isinstance(value, str):
        value = _from_iso(value)
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        value = (aware - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LATEST_MS:
        raise Wrong('must be ISO 8601 such as "2030-01-31T12:00:00Z", or milliseconds since the epoch')
    return value


def _from_iso(value: str) -> datetime | str:
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return value


def evidence(value: object) -> tuple[dict[str, object], ...]:
    """Where the fact comes from: a list of {kind, ref}."""
    if not isinstance(value, (list, tuple)):
        raise Wrong('must be a list such as [{"kind": "file_range", "ref": "src/app.py:12"}]')
    return tuple(_one_evidence(number, item) for number, item in enumerate(value))


def _one_evidence(number: int, item: object) -> dict[str, object]:
    if not isinstance(item, Mapping) or set(item) != {"kind", "ref"}:
        raise Wrong(f"must hold objects of exactly `kind` and `ref`; item {number} is {shown(item)}")
    try:
        return {"kind": one_of(item["kind"], EVIDENCE_KINDS), "ref": text(item["ref"], MAX_CLAIM)}
    except Wrong as wrong:
        raise Wrong(f"holds item {number} whose `kind` or `ref` {wrong}") from wrong


def provenance(value: object) -> dict[str, object]:
    """Who asserted the fact, as a JSON object of the caller's own shape."""
    if not isinstance(value, Mapping):
        raise Wrong('must be an object, such as {"agent": "planner"}')
    return {_key(name): _json(item, 1) for name, item in value.items()}


def _key(name: object) -> str:
    if not isinstance(name, str) or not is_unicode(name):
        raise Wrong(f"must have strings as keys; {shown(name)} is none")
    return name


def _json(value: object, depth: int) -> object:
    """A copy of `value` that JSON can write and read back unchanged."""
    if depth > MAX_DEPTH:
        raise Wrong(f"must be nested at most {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_key(name): _json(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and is_unicode(value):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise Wrong(f"must hold only JSON values; {shown(value)} is none")
