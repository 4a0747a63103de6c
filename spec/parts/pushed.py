"""Schemas of what an MCP server pushes and advertises, learnt from the reader and from what we write."""

from __future__ import annotations

from collections.abc import Mapping

from spec.parts.gate import PROBE
from spec.parts.requests import META, defaults_of, object_of
from spec.parts.schema import Pool, Schema, named, ref
from tidings.core.producers import FIELDS, build
from tidings.core.wire import SPELLING
from tidings.mcp.advertisement import Advertised, with_reminders
from tidings.mcp.names import LEGACY, METHOD
from tidings.mcp.notification import read

LEAST = {"body": PROBE}
PUSHES = "A reminder that an MCP server sends. Unknown members are ignored and noted."
ADVERTISES = "What a server says of its reminders: in each of the three places the same."
ADDS = "What a server adds to its `capabilities`; in `server/discover` it is `extensions` alone."
NOTIFIES = "Tells the host what happened, for the agent's next turn."


def definitions() -> Pool:
    """The notification, and what a server says that it may hold."""
    return {
        "McpReminder": _reminder(),
        "ReminderNotificationParams": _params(),
        "ReminderNotification": _notification(),
        "ServerReminderCapabilities": _advertised(),
        "ServerCapabilities": _capabilities(with_reminders({}, Advertised(), LEGACY), ADDS),
    }


def _door(given: Mapping[str, object]) -> object:
    received = read(METHOD, {"reminder": given})
    assert received is not None
    return build("mcp", received.options, id=PROBE)


def _reminder() -> Schema:
    names = {field.name: SPELLING.get(field.name, field.name) for field in FIELDS}
    return object_of(_door, names, dict(LEAST), PUSHES, defaults_of("mcp", names))


def _params() -> Schema:
    members = {"reminder": ref("McpReminder"), "_meta": META}
    return {"type": "object", "description": NOTIFIES, "properties": members, "required": ["reminder"]}


def _notification() -> Schema:
    members: dict[str, Schema] = {
        "jsonrpc": named(["2.0"]),
        "method": {"enum": [METHOD]},
        "params": ref("ReminderNotificationParams"),
    }
    return {"type": "object", "description": NOTIFIES, "properties": members, "required": list(members)}


def _advertised() -> Schema:
    members: dict[str, Schema] = {
        "emit": {"type": "boolean", "default": True},
        "propagate": {"type": "array", "items": ref("Propagate"), "default": ["session"]},
        "roleHints": {"type": "array", "items": ref("RoleHint"), "default": ["system"]},
    }
    assert list(members) == list(Advertised().to_wire())
    return {"type": "object", "description": ADVERTISES, "properties": members}


def _capabilities(told: Mapping[str, object], text: str = "") -> Schema:
    """A reference where ours stands, else what leads there."""
    if told == Advertised().to_wire():
        return ref("ServerReminderCapabilities")
    members = {name: _capabilities(value) for name, value in told.items() if isinstance(value, Mapping)}
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": True}
    return {**schema, "description": text} if text else schema
