"""Type hints become JSON Schema that every route takes: no references, no titles.

msgspec knows the types; this module writes referenced types in place, because not every vendor
resolves `$ref`, and gives a closed set of strings its type, which some demand. Called by
`signature.py`, when a tool is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from tidings.core.reminder import Payload
from tidings.errors import CallerError

_REFERENCE = "#/$defs/{name}"
_PREFIX = _REFERENCE.removesuffix("{name}")


def json_schema(hint: object) -> Payload:
    """The schema of one type hint.

    Raises:
        CallerError: msgspec cannot read such a type from JSON, or the type contains itself.
    """
    try:
        (schema,), parts = msgspec.json.schema_components(
            [hint], schema_hook=_hook, ref_template=_REFERENCE
        )
    except (TypeError, NotImplementedError) as error:
        why = str(error).strip().splitlines()[-1]
        raise CallerError(
            f"{hint!r} has no JSON form ({why}); use str, int, list, a dataclass …"
        ) from error
    return cast(Payload, _inline(schema, parts, ()))


def _hook(hint: type) -> Payload:
    if hint is object:
        return {"title": "anything"}
    raise NotImplementedError(f"type {hint!r} is not supported")


def _inline(node: object, parts: Mapping[str, Payload], above: tuple[str, ...]) -> object:
    """A schema without references and titles; anything else as it is."""
    if isinstance(node, list):
        return [_inline(item, parts, above) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix(_PREFIX)
    if name in above:
        raise CallerError(f"{name} contains itself, which not every model takes; use dict and describe it")
    target = cast(Payload, _inline(parts[name], parts, (*above, name))) if name else {}
    kept = {key: value for key, value in node.items() if key not in ("$ref", "title")}
    written = {key: _inline_key(key, value, parts, above) for key, value in kept.items()}
    if written.get("additionalProperties") == {}:
        del written["additionalProperties"]
    return _typed(target | written)


def _inline_key(key: str, value: object, parts: Mapping[str, Payload], above: tuple[str, ...]) -> object:
    """Defaults and enumerations are data, and the keys of `properties` are names, not schemas."""
    if key in ("default", "enum", "const", "examples"):
        return value
    if key == "properties" and isinstance(value, dict):
        return {name: _inline(schema, parts, above) for name, schema in value.items()}
    return _inline(value, parts, above)


def _typed(schema: Payload) -> Payload:
    values = schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return {"type": "string", **schema}
    return schema
