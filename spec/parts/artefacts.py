"""Every named schema of the protocol, and which of them become files. One more artefact is one more entry.

`ARTEFACTS` names the files; where a schema comes from is said in `pool`. Called by `spec.generate`.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.parts import advertised, pushed, requests, typed
from spec.parts.schema import Pool, Schema, ref, snake, vocabulary
from spec.parts.words import MEANING

ARTEFACTS: tuple[str, ...] = (
    "ReminderSpec",
    "ReminderEvent",
    "SessionInjectReminderRequest",
    "SessionRemindRequest",
    "SessionInjectReminderResponse",
    "SessionInjectRequest",
    "SessionInjectResponse",
    "SessionPendingInjectionsRequest",
    "SessionPendingInjectionsResponse",
    "PendingInjection",
    "SessionRevokeReminderRequest",
    "SessionRevokeReminderResponse",
    "RevokeData",
    "SessionClearRemindersRequest",
    "SessionClearRemindersResponse",
    "SessionCall",
    "Refusal",
    "RefusalData",
    "SessionUpdate_ReminderEmitted",
    "SessionUpdate_ReminderDeduped",
    "SessionUpdate_ReminderExpired",
    "SessionUpdate_Reminder",
    "ReportMeta",
    "AgentCapabilities",
    "ClientCapabilities",
    "ReminderNotification",
    "ServerCapabilities",
)
"""The files, in the order of the README."""


def pool() -> Pool:
    """Every named schema, each member with its meaning."""
    found: Pool = {
        **vocabulary(),
        "ReminderSpec": requests.reminder_spec(),
        "SessionInjectReminderRequest": requests.inject_reminder(),
        "SessionRemindRequest": requests.remind(),
        **requests.others(),
        **typed.definitions(),
        "PendingInjection": _pending(),
        "Refusal": typed.refusal(),
        "RefusalData": typed.refusal_data(),
        "SessionUpdate_Reminder": typed.updates(),
        **advertised.definitions(),
        **pushed.definitions(),
    }
    found |= requests.calls(found)
    return {name: described(schema, name) for name, schema in found.items()}


def _pending() -> Schema:
    rows = [ref("PendingReminder"), ref("PendingUserMessage")]
    return {"description": "One thing that waits in the mailbox.", "anyOf": rows}


def described(schema: Schema, path: str) -> Schema:
    """With the meaning of every member."""
    members = schema.get("properties")
    if not isinstance(members, Mapping):
        return schema
    told = {name: _told(name, member, path) for name, member in members.items()}
    return {**schema, "properties": told}


def _told(name: str, member: Schema, path: str) -> Schema:
    inner = described(member, f"{path}_{name.strip('_')}")
    return {"description": MEANING[word_for(path, name)], **inner}


def word_for(path: str, name: str) -> str:
    """Under which key of the words the meaning of a member stands."""
    word = snake(name)
    kinds = (path, *(ending for ending in ("Request", "Call") if path.endswith(ending)))
    return next((f"{kind}.{word}" for kind in kinds if f"{kind}.{word}" in MEANING), word)
