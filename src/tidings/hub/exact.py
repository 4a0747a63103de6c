"""What the types of the hub cannot say and its code checks, as JSON Schema. Data for `openapi.py`.

"Exactly one of these" and "at least one of these" are no types; here they stand for whoever reads the
document, and a test sends requests made from it.
"""

from __future__ import annotations

from tidings.core.reminder import Payload

_TEXT: Payload = {"type": "string", "minLength": 1, "pattern": r"\S"}
_NONE: Payload = {"type": "null"}
PATH = r"^/[^\u0000]*$"


def _one_of(kinds: dict[str, Payload], absent: dict[str, Payload]) -> list[Payload]:
    """Alternatives, of which each has one of the members and says that the others are not given."""
    return [
        {
            "type": "object",
            "properties": {**absent, name: kind},
            "required": [name],
            "additionalProperties": False,
        }
        for name, kind in kinds.items()
    ]


EXACT: dict[str, Payload] = {
    "Address": {
        "oneOf": _one_of(
            {
                "session": _TEXT,
                "workspace": {"type": "string", "pattern": PATH},
                "tag": _TEXT,
                "all": {"const": True},
            },
            {"session": _NONE, "workspace": _NONE, "tag": _NONE, "all": {"const": False}},
        ),
    },
    "Clear": {
        "anyOf": [{"properties": {name: _TEXT}, "required": [name]} for name in ("id", "tag", "dedupeKey")],
    },
    "Remind": {"additionalProperties": False},
    "Purge": {
        "anyOf": [{"properties": {name: _NONE}} for name in ("topic", "sessionId")],
    },
}
"""By the name of the type: what is added to its schema, or stands in its place when it is a choice."""


def exact(name: str, schema: Payload) -> Payload:
    """The schema of a type with what is missing in it."""
    more = EXACT.get(name, {})
    if "oneOf" in more:
        return {"title": name, "description": schema.get("description", ""), **more}
    return {**schema, **more}
