"""Schemas of what two peers advertise, read from what `tidings.acp.capabilities` writes."""

from __future__ import annotations

from collections.abc import Mapping

from spec.parts.schema import Pool, Schema, named, ref
from tidings.acp.capabilities import FULL, Capabilities, advertised, client_advertised
from tidings.core.reminder import Payload

RFC, EXTENSION, CLIENT = (
    "ReminderCapabilities",
    "ReminderCapabilitiesExtension",
    "ClientReminderCapabilities",
)
TEXTS = {
    RFC: "What an agent does with reminders, in the RFC's form.",
    EXTENSION: "What an agent does with reminders, with the delivery modes and method names that it takes.",
    CLIENT: "What a client wants to hear of reminders.",
    "AgentCapabilities": "What an agent adds to its `agentCapabilities` in the answer to `initialize`.",
    "ClientCapabilities": "What a client adds to its `clientCapabilities` in `initialize`.",
}


def definitions() -> Pool:
    """Both sides, and what each says."""
    client = _told(client_advertised({}))
    return {
        RFC: _agent(RFC, FULL.to_wire(), Capabilities().to_wire()),
        EXTENSION: _agent(EXTENSION, FULL.to_meta(), Capabilities().to_meta()),
        CLIENT: _optional(CLIENT, {name: _value(value) for name, value in client.items()}),
        "AgentCapabilities": _open("AgentCapabilities", advertised({}, FULL)),
        "ClientCapabilities": _open("ClientCapabilities", client_advertised({})),
    }


def _agent(name: str, full: Payload, least: Payload) -> Schema:
    """A switch must be there; a list that is left out means the least there is."""
    members = {key: _value(value) for key, value in full.items()}
    for key, value in least.items():
        if isinstance(value, list) and value:
            members[key]["default"] = value
    schema = _optional(name, members)
    return {**schema, "required": [key for key, value in full.items() if isinstance(value, bool)]}


def _optional(name: str, members: dict[str, Schema]) -> Schema:
    return {"type": "object", "description": TEXTS[name], "properties": members}


def _open(name: str, capabilities: Mapping[str, object]) -> Schema:
    """An object of the protocol's own, of which we know only our members."""
    return {**_optional(name, _members(capabilities)), "additionalProperties": True}


def _value(value: object) -> Schema:
    if isinstance(value, bool):
        return {"type": "boolean"}
    assert isinstance(value, list)
    words = named(value)
    return {"type": "array", "items": words if "$ref" in words else {"type": "string"}}


def _members(capabilities: Mapping[str, object]) -> dict[str, Schema]:
    return {name: _place(value) for name, value in capabilities.items()}


def _place(value: object) -> Schema:
    """A reference where one of the three objects stands, else what leads there."""
    for name, known in ((RFC, FULL.to_wire()), (EXTENSION, FULL.to_meta()), (CLIENT, _client())):
        if value == known:
            return ref(name)
    assert isinstance(value, Mapping)
    return {"type": "object", "properties": _members(value), "additionalProperties": True}


def _client() -> Mapping[str, object]:
    return _told(client_advertised({}))


def _told(capabilities: Mapping[str, object]) -> Mapping[str, object]:
    """What stands under `_meta.harn.reminders`."""
    value: object = capabilities
    for name in ("_meta", "harn", "reminders"):
        assert isinstance(value, Mapping)
        value = value[name]
    assert isinstance(value, Mapping)
    return value
