"""The gate: a producer's options become a `Reminder`, or every problem is named at once.

`PRODUCERS` says for each producer which source and trust it gives and which HARN-RMD code a
wrong shape gets; `FIELDS` says for each field what is right. Both are data: `tidings lint` and the
docs read them too. Valid options take a fast path through msgspec; anything else is read
field by field, which normalises it or explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, TypeAlias

import msgspec

from tidings.core.reminder import (
    PROPAGATE,
    ROLE_HINTS,
    Payload,
    Propagate,
    Provenance,
    Reminder,
    RoleHint,
    Source,
    Trust,
    meta_for,
)
from tidings.core.text import is_unicode
from tidings.errors import DiagnosticError, Problem

ProducerName: TypeAlias = Literal["pipeline", "hook", "provider", "bridge", "mcp"]


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of producer may send and how its mistakes are named (decisions 10 and 21)."""

    context: str
    source: Source
    trust: Trust
    shape_code: str
    wire_fields: bool = False
    unknown: Literal["reject", "note"] = "reject"


PRODUCERS: dict[ProducerName, Producer] = {
    "pipeline": Producer(
        context="inject_reminder",
        source="in_pipeline",
        trust="operator",
        shape_code="HARN-RMD-001",
    ),
    "hook": Producer(
        context="hook reminder",
        source="hook",
        trust="operator",
        shape_code="HARN-RMD-001",
    ),
    "provider": Producer(
        context="reminder provider",
        source="stdlib_provider",
        trust="operator",
        shape_code="HARN-RMD-006",
    ),
    "bridge": Producer(
        context="session/remind",
        source="bridge",
        trust="host",
        shape_code="HARN-RMD-002",
        wire_fields=True,
    ),
    "mcp": Producer(
        context="notifications/reminder",
        source="bridge",
        trust="external",
        shape_code="HARN-RMD-002",
        wire_fields=True,
        unknown="note",
    ),
}

UNKNOWN_KEY = "HARN-RMD-001"
_SHOWN = 80


class _Wrong(Exception):
    """What a field should have been; becomes a Problem."""


def _writable(text: str) -> str:
    if not is_unicode(text):
        raise _Wrong("must be valid Unicode: it holds half of a surrogate pair")
    return text


def _body(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong("must be a non-empty string: say in a sentence what happened")
    return _writable(value)


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise _Wrong('must be a list of strings, such as ["workspace"]')
    if not all(isinstance(tag, str) and tag.strip() for tag in value):
        raise _Wrong("must hold only non-blank strings")
    return tuple(dict.fromkeys(_writable(tag.strip()) for tag in value))


def _key(value: object) -> str | None:
    if not isinstance(value, str):
        raise _Wrong("must be a string, or left out")
    return _writable(value.strip()) or None


def _ttl(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _Wrong("must be a whole number of turns, 1 or more, or left out")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("must be true or false")
    return value


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise _Wrong("must be one of " + ", ".join(choices))
        return value

    return check


def _id(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise _Wrong("must be a non-blank string of at most 200 characters")
    return _writable(value.strip())


def _turn(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Wrong("must be a whole number, 0 or more")
    return value


def _object(value: object) -> object:
    if not isinstance(value, Mapping):
        raise _Wrong("must be an object")
    return value


class Field(msgspec.Struct, frozen=True):
    """One field of a reminder's options: its check, and its own code if it has one."""

    name: str
    check: Callable[[object], object]
    code: str | None = None
    wire: bool = False


FIELDS: tuple[Field, ...] = (
    Field("body", _body),
    Field("tags", _tags),
    Field("dedupe_key", _key),
    Field("ttl_turns", _ttl),
    Field("preserve_on_compact", _flag),
    Field("propagate", _one_of(PROPAGATE), code="HARN-RMD-005"),
    Field("role_hint", _one_of(ROLE_HINTS)),
    Field("id", _id, wire=True),
    Field("source", _one_of(("bridge",)), wire=True),
    Field("fired_at_turn", _turn, wire=True),
    Field("_meta", _object, wire=True),
)
OPTION_FIELDS = frozenset(field.name for field in FIELDS if not field.wire)
ALL_FIELDS = frozenset(field.name for field in FIELDS)

_convert = msgspec.convert
_BRIEF: dict[str, tuple[Source, Trust | None, bool]] = {
    name: (rule.source, None if rule.trust == "operator" else rule.trust, rule.wire_fields)
    for name, rule in PRODUCERS.items()
}
"""Source, trust (None: the operator's) and wire fields of each producer, for the fast path."""


class _Options(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """The options as msgspec reads them at once; the defaults of the specification."""

    body: Annotated[str, msgspec.Meta(min_length=1)]
    tags: tuple[str, ...] = ()
    dedupe_key: str | None = None
    ttl_turns: Annotated[int, msgspec.Meta(ge=1)] | None = None
    preserve_on_compact: bool = False
    propagate: Propagate = "session"
    role_hint: RoleHint = "system"


def build(
    producer: ProducerName,
    options: Mapping[str, object],
    id: str,
    turn: int = 0,
    origin: str | None = None,
    provider_id: str | None = None,
) -> Reminder:
    """The reminder that `options` describe, stamped by the caller.

    A wire producer may choose its own `id`; its `fired_at_turn` and `_meta` are checked, never used.

    Raises:
        DiagnosticError: with every problem, `.code` being the first in field order.
    """
    (source, trust, wired), name = _BRIEF[producer], id
    try:
        read = _convert(options, _Options)
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError):
        read, name = _read_slowly(PRODUCERS[producer], options, id)
    body, key, tags = read.body, read.dedupe_key, read.tags
    if (
        body.isspace()
        or not (body.isascii() or is_unicode(body))
        or (key is not None and key not in _tidy_keys and not _is_tidy(key))
        or (
            tags
            and (type(options["tags"]) in _UNORDERED or (tags not in _tidy_tags and not _are_tidy(tags)))
        )
        or (wired and body != body.strip())
    ):
        read, name = _read_slowly(PRODUCERS[producer], options, id)
        body, key, tags = read.body, read.dedupe_key, read.tags
    meta = None
    if trust is not None or origin is not None or provider_id is not None:
        meta = meta_for(Provenance(trust or "operator", origin, provider_id))
    return Reminder(
        id=name,
        tags=tags,
        dedupe_key=key,
        ttl_turns=read.ttl_turns,
        preserve_on_compact=read.preserve_on_compact,
        propagate=read.propagate,
        role_hint=read.role_hint,
        source=source,
        body=body,
        fired_at_turn=turn,
        meta=meta,
    )


def ignored_fields(producer: ProducerName, options: Mapping[str, object]) -> tuple[str, ...]:
    """The unknown fields that a tolerant producer's options hold: to be noted (decision 10)."""
    if PRODUCERS[producer].unknown == "reject":
        return ()
    return tuple(sorted(str(name) for name in options if name not in ALL_FIELDS))


_tidy_keys: set[str] = set()
"""Dedupe keys known to need no trimming. Bounded by `_is_tidy`."""


def _is_tidy(key: str) -> bool:
    """Whether the key is trimmed and can be written; remembers if so."""
    if not key or key != key.strip() or not is_unicode(key):
        return False
    if len(_tidy_keys) >= 1024:
        _tidy_keys.clear()
    _tidy_keys.add(key)
    return True


_UNORDERED = frozenset((set, frozenset))
_tidy_tags: set[tuple[str, ...]] = set()
"""Tags known to need no trimming: the same few come again and again. Bounded by `_are_tidy`."""


def _are_tidy(tags: tuple[str, ...]) -> bool:
    """Whether the tags are trimmed, non-blank and each there once; remembers if so."""
    if not all(map(is_unicode, tags)) or not all(tags):
        return False
    if tuple(dict.fromkeys(tag.strip() for tag in tags)) != tags:
        return False
    if len(_tidy_tags) >= 1024:
        _tidy_tags.clear()
    _tidy_tags.add(tags)
    return True


def _read_slowly(rule: Producer, options: object, id: str) -> tuple[_Options, str]:
    values, chosen = _field_by_field(rule, options, id)
    return _convert(values, _Options), chosen


def _field_by_field(rule: Producer, options: object, id: str) -> tuple[Payload, str]:
    """The normalised options and the id; or every problem at once."""
    if not isinstance(options, Mapping):
        fix = f"must be an object, not {shown(options)}"
        raise DiagnosticError(rule.context, (Problem(rule.shape_code, "", shown(options), fix),))
    present = {name: value for name, value in options.items() if value is not None}
    values, problems = _check_fields(rule, present)
    known = ALL_FIELDS if rule.wire_fields else OPTION_FIELDS
    unknown = sorted(str(name) for name in options if name not in known)
    if rule.unknown == "reject":
        problems += [_unknown_key(rule, name, known) for name in unknown]
    if problems:
        raise DiagnosticError(rule.context, tuple(problems))
    if rule.wire_fields:
        values["body"] = str(values["body"]).strip()
    chosen = str(values.get("id", id))
    return {name: value for name, value in values.items() if name in OPTION_FIELDS}, chosen


def _check_fields(rule: Producer, present: Payload) -> tuple[Payload, list[Problem]]:
    values: Payload = {}
    problems: list[Problem] = []
    for field in FIELDS:
        if field.wire and not rule.wire_fields:
            continue
        if field.name not in present and field.name != "body":
            continue
        value = present.get(field.name)
        try:
            values[field.name] = field.check(value)
        except _Wrong as wrong:
            problems.append(_problem(rule, field, value, str(wrong)))
    return values, problems


def _problem(rule: Producer, field: Field, value: object, expected: str) -> Problem:
    got = "it is missing" if value is None else f"got {shown(value)}"
    return Problem(
        field.code or rule.shape_code, field.name, shown(value), f"`{field.name}` {expected}; {got}"
    )


def _unknown_key(rule: Producer, name: str, known: frozenset[str]) -> Problem:
    if name == "content" and rule.wire_fields:
        text = "`content` belongs to session/inject; a reminder's text goes in `body`"
        return Problem(rule.shape_code, name, "", text)
    from difflib import get_close_matches  # only a mistake pays for loading it

    near = get_close_matches(name, known, n=1)
    fix = f"did you mean `{near[0]}`?" if near else f"known keys are {', '.join(sorted(known))}"
    return Problem(UNKNOWN_KEY, name, "", f"unknown key `{shorten(name)}`; {fix}")


def shown(value: object) -> str:
    """`value` for an error message: its repr, cut short."""
    return shorten(repr(value))


def shorten(text: str) -> str:
    """At most 80 characters of `text`, for an error message."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
