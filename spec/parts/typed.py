"""Schemas of what we write, read from its types: `tidings.bridge.shapes` and the reminder itself."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from spec.parts.schema import Pool, Schema, either, named, ref, replaced
from tidings.bridge import rpc
from tidings.bridge.shapes import (
    REFUSAL_DATA,
    RESPONSES,
    UPDATES,
    ReminderEvent,
    ReminderReports,
    ReportMeta,
    Wire,
)
from tidings.core.producers import build
from tidings.core.reminder import Meta, read_payload

TITLES = {kind.__name__: f"SessionUpdate_{kind.__mro__[1].__name__}" for kind in UPDATES.values()}
"""The updates, in the RFC's names."""

OPEN = (Meta.__name__, ReportMeta.__name__, ReminderReports.__name__)
"""Envelopes of extensions: others write there too."""

TYPES: tuple[type[msgspec.Struct], ...] = (
    *RESPONSES.values(),
    *UPDATES.values(),
    *REFUSAL_DATA,
    ReportMeta,
    ReminderEvent,
)


def definitions(types: Iterable[type[msgspec.Struct]] = TYPES) -> Pool:
    """A named schema for each type and each type inside one."""
    _, found = msgspec.json.schema_components(types, schema_hook=_anything, ref_template="#/$defs/{name}")
    pool = {TITLES.get(name, name): _tidy(schema) for name, schema in found.items()}
    pool |= {name: {**pool[name], "additionalProperties": True} for name in OPEN if name in pool}
    return {**pool, "Reminder": _stored(pool["Reminder"])} if "Reminder" in pool else pool


def _anything(kind: type) -> Schema:
    if kind is object:
        return {"title": "anything"}
    raise AssertionError(f"no schema for {kind!r}")


def _tidy(schema: Schema) -> Schema:
    changed = replaced(schema, _tidied)
    assert isinstance(changed, dict)
    return changed


def _tidied(schema: Schema) -> Schema:
    """Without what only msgspec's readers know; sets of words by name; the RFC's names."""
    kept = {name: value for name, value in schema.items() if not _is_noise(name, value)}
    words, options, target = kept.pop("enum", None), kept.get("anyOf"), kept.get("$ref")
    if isinstance(words, list):
        return {**{name: value for name, value in kept.items() if name != "type"}, **named(words)}
    if isinstance(options, list):
        return {**{name: value for name, value in kept.items() if name != "anyOf"}, **either(*options)}
    if isinstance(target, str):
        name = target.removeprefix("#/$defs/")
        return {**kept, **ref(TITLES.get(name, name))}
    return kept


def _is_noise(name: str, value: object) -> bool:
    if name in ("title", "discriminator"):
        return True
    empty: Schema = {"required": [], "additionalProperties": {}, "default": None}
    return name in empty and value == empty[name]


def _stored(schema: Schema) -> Schema:
    """A stored reminder, with what `read_payload` adds to the type: what may be missing, what not blank."""
    members = schema["properties"]
    needed = schema["required"]
    assert isinstance(members, dict)
    assert isinstance(needed, list)
    full = {"body": "x", **_example(members)}
    optional = [name for name in needed if read_payload({k: v for k, v in full.items() if k != name})]
    blank = [
        n for n, m in members.items() if m == {"type": "string"} and not read_payload({**full, n: " "})
    ]
    changed = {name: ref("NotBlank") for name in blank}
    return {
        **schema,
        "properties": {**members, **changed},
        "required": [name for name in needed if name not in optional],
    }


def _example(members: Schema) -> dict[str, object]:
    known = build("pipeline", {"body": "x"}, id="x").to_dict()
    return {name: value for name, value in known.items() if name in members}


def refusal() -> Schema:
    """The `error` member of a refused request."""
    codes = sorted({code for name, code in vars(rpc).items() if name.isupper() and _is_code(code)})
    return {
        "type": "object",
        "description": "Why a request was not done.",
        "properties": {
            "code": {"enum": codes},
            "message": {"type": "string"},
            "data": ref("RefusalData"),
        },
        "required": ["code", "message"],
    }


def _is_code(value: object) -> bool:
    return isinstance(value, int) and value < 0


def refusal_data() -> Schema:
    """Every form of `data`."""
    return _any("What a program may read of a refusal.", REFUSAL_DATA)


def updates() -> Schema:
    """The three updates."""
    names = [TITLES[kind.__name__] for kind in UPDATES.values()]
    return {"description": "What an observer is told of a reminder.", "anyOf": [ref(n) for n in names]}


def _any(text: str, kinds: Iterable[type[Wire]]) -> Schema:
    return {"description": text, "anyOf": [ref(kind.__name__) for kind in kinds]}
