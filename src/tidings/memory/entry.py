"""A memory: one thing that was said, by whom, when, where it holds and how long. Values and their gate.

`build_memory` is the only gate: options become a `Memory`, or every problem is named at once. Times are
milliseconds since the epoch inside, ISO 8601 outside. `store.py` keeps memories; nothing here waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec

from tidings.core.producers import shorten, shown
from tidings.memory.failure import MemoryInputError
from tidings.recall import checks
from tidings.recall.checks import Check, Wrong, diagnose

Kind: TypeAlias = Literal["note", "preference", "decision", "fact", "turn"]
Role: TypeAlias = Literal["user", "assistant"]

SCHEMA = "tidings.memory.v1"
TOLD: tuple[Kind, ...] = ("note", "preference", "decision", "fact")
"""The kinds of what somebody told; a `turn` was only seen."""
KINDS: tuple[Kind, ...] = (*TOLD, "turn")
ROLES: tuple[Role, ...] = ("user", "assistant")
LONGEST_TEXT = 8_000
LONGEST_NAME = 200
LONGEST_SOURCE = 2_000
MOST_TAGS = 20
MOST_REPLACED = 100
MOST_SURFACED = 2**53 - 1
EVERYWHERE = ""
"""The project of what holds in all projects."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One memory.

    A newer memory with the same `key` in the same project, or one that `replaces` it, stands in its place
    while that newer one is valid.
    """

    id: str
    text: str
    created: int
    kind: Kind = "note"
    role: Role = "user"
    project: str = EVERYWHERE
    conversation: str = ""
    key: str | None = None
    replaces: tuple[str, ...] = ()
    valid_from: int | None = None
    valid_to: int | None = None
    source: str = ""
    tags: tuple[str, ...] = ()
    pinned: bool = False
    surfaced: int = 0
    last_surfaced: int | None = None


def _text(value: object) -> str:
    return checks.text(value, LONGEST_TEXT)


def _name(value: object) -> str:
    return checks.text(value, LONGEST_NAME)


def _maybe_name(value: object) -> str:
    """A name, or nothing at all."""
    return "" if value == "" else _name(value)


def _source(value: object) -> str:
    return "" if value == "" else checks.text(value, LONGEST_SOURCE)


def _kind(value: object) -> str:
    return checks.one_of(value, KINDS)


def _role(value: object) -> str:
    return checks.one_of(value, ROLES)


def _ids(value: object) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or len(found) > MOST_REPLACED:
        raise Wrong(f"must be an id, or a list of at most {MOST_REPLACED} ids")
    return tuple(dict.fromkeys(_name(one) for one in found))


def _tags(value: object) -> tuple[str, ...]:
    found = checks.tags(value)
    if len(found) > MOST_TAGS:
        raise Wrong(f"must have at most {MOST_TAGS} tags; it has {len(found)}")
    return found


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Wrong("must be true or false")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_SURFACED:
        raise Wrong("must be a whole number, 0 or more")
    return value


def _schema(value: object) -> str:
    return checks.one_of(value, (SCHEMA,))


FIELDS: dict[str, Check] = {
    "text": _text,
    "kind": _kind,
    "role": _role,
    "project": _maybe_name,
    "conversation": _maybe_name,
    "key": _name,
    "replaces": _ids,
    "created": checks.moment,
    "valid_from": checks.moment,
    "valid_to": checks.moment,
    "source": _source,
    "tags": _tags,
    "pinned": _flag,
}
"""What whoever remembers may say, and its check."""

KEPT: dict[str, Check] = {
    "schema": _schema,
    "id": _name,
    **FIELDS,
    "surfaced": _count,
    "last_surfaced": checks.moment,
}
"""What an export may say besides."""


def build_memory(
    options: Mapping[str, object], *, id: str, now: int, fields: Mapping[str, Check] = FIELDS
) -> Memory:
    """The memory that `options` describe; `id` and `now` are used unless they say.

    Raises:
        MemoryInputError: with every problem.
    """
    values = {"id": id, "created": now, **checked("remember", fields, options, required=("text",))}
    values.pop("schema", None)
    memory = msgspec.convert(values, Memory)
    start, end = memory.valid_from, memory.valid_to
    if start is not None and end is not None and start >= end:
        problem = f"`valid_to` must be after `valid_from`; got {iso(end)}"
        raise MemoryInputError("remember", (problem,))
    return memory


def checked(
    context: str, fields: Mapping[str, Check], options: object, *, required: tuple[str, ...] = ()
) -> dict[str, object]:
    """The values of `options`, each through its check; what is null counts as left out.

    Raises:
        MemoryInputError: with every problem.
    """
    if not isinstance(options, Mapping):
        raise MemoryInputError(context, (f"must be an object, not {shown(options)}",))
    values: dict[str, object] = {}
    problems: list[str] = []
    for name, check in fields.items():
        value = options.get(name)
        if value is None and name not in required:
            continue
        try:
            values[name] = check(value)
        except Wrong as wrong:
            problems.append(diagnose("", name, value, str(wrong)).message)
    problems += [_unknown(name, fields) for name in sorted(map(str, options)) if name not in fields]
    if problems:
        raise MemoryInputError(context, tuple(problems))
    return values


def digest(text: str) -> str:
    """The hash by which the same text is known again, whatever its case and spacing."""
    return sha256(" ".join(text.split()).casefold().encode()).hexdigest()


def iso(moment: int) -> str:
    """Milliseconds since the epoch as ISO 8601 in UTC."""
    said = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    return said.replace("+00:00", "Z")


def to_line(memory: Memory) -> dict[str, object]:
    """The memory as an object of an export: what is not said is left out."""
    default = Memory(id="", text="", created=0)
    said: dict[str, object] = {"schema": SCHEMA, "id": memory.id, "text": memory.text}
    for name in KEPT:
        if name in said:
            continue
        value = getattr(memory, name)
        if name == "created" or value != getattr(default, name):
            said[name] = iso(value) if name in MOMENTS and isinstance(value, int) else value
    return said


MOMENTS = ("created", "valid_from", "valid_to", "last_surfaced")


def _unknown(name: str, fields: Mapping[str, Check]) -> str:
    near = get_close_matches(name, fields, n=1)
    fix = f"did you mean `{near[0]}`?" if near else f"known keys are {', '.join(fields)}"
    return f"unknown key `{shorten(name)}`; {fix}"
