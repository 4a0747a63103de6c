"""What stands on the wire about reminders, as types: requests, answers, rows, updates, refusals. Data.

`python -m spec.generate` makes JSON Schemas and TypeScript of them. Serving a call needs none: the tests
turn every real object into its type and back, so that types and code cannot part. Members that a peer may
leave out are `Unset`. What a reminder's own fields may hold is not here but in the gate (`core.producers`).
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from tidings.bridge import updates
from tidings.bridge.methods import Operation
from tidings.core.archive import AUDIT_KIND
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import MailboxFullError, RevokeError
from tidings.core.reminder import Propagate, Reminder, RoleHint, Source
from tidings.core.seams import DEFAULT_MODE, Mode
from tidings.core.transcript import REMINDER_KIND
from tidings.errors import DiagnosticError, DuplicateReminderError, Problem, TidingsError

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Turns: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
UpdateSource: TypeAlias = Annotated[
    str, msgspec.Meta(extra_json_schema={"enum": list(updates.SOURCES.values())})
]
Phase: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(updates.PHASES.values())})]
EventKind: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [REMINDER_KIND, AUDIT_KIND]})]
RevokeAnswer: TypeAlias = Literal["revoked", "already_revoked"]
RevokeReason: TypeAlias = Literal["already_delivered", "unknown_reminder_id"]


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Written in camelCase, as ACP and MCP peers expect (decision 11)."""


class SessionRequest(Wire, frozen=True, kw_only=True):
    """What every request about a session may carry."""

    session_id: str | UnsetType | None = UNSET
    meta: dict[str, object] | UnsetType | None = msgspec.field(default=UNSET, name="_meta")


class SessionInjectReminderEnvelope(SessionRequest, frozen=True, kw_only=True):
    """What stands beside a reminder's own fields in a request that injects it."""

    mode: Mode | None = DEFAULT_MODE


class SessionInjectRequest(SessionRequest, frozen=True, kw_only=True):
    """The user's words, sent while the agent works. Unlike a reminder they become a user message."""

    content: str | list[dict[str, object]]
    mode: Mode | None = DEFAULT_MODE
    message_id: str | UnsetType | None = UNSET


class SessionPendingInjectionsRequest(SessionRequest, frozen=True, kw_only=True):
    """Asks what waits to be let in."""


class SessionRevokeReminderRequest(SessionRequest, frozen=True, kw_only=True):
    """Takes a queued reminder back before a seam lets it in."""

    reminder_id: str


class SessionClearRemindersRequest(SessionRequest, frozen=True, kw_only=True):
    """Removes the reminders, queued and pending, that match everything given; at least one is."""

    id: str | UnsetType | None = UNSET
    tag: str | UnsetType | None = UNSET
    dedupe_key: str | UnsetType | None = UNSET


SELECTORS = Selector.__struct_fields__
"""Of which a clear request needs one."""


class SessionInjectReminderResponse(Wire, frozen=True, kw_only=True):
    """The reminder was accepted; it waits until the seam of its mode lets it in."""

    reminder_id: str
    deduped_count: Count | UnsetType = UNSET


class SessionInjectResponse(Wire, frozen=True, kw_only=True):
    """The user's words were accepted."""

    message_id: str


class SessionRevokeReminderResponse(Wire, frozen=True, kw_only=True):
    """The reminder will not be let in; asking again changes nothing."""

    status: RevokeAnswer
    reminder_id: str


class SessionClearRemindersResponse(Wire, frozen=True, kw_only=True):
    """How many left."""

    removed_count: Count


class PendingReminder(Wire, frozen=True, kw_only=True, tag_field="kind", tag="reminder"):
    """A reminder that waits in the mailbox."""

    reminder_id: str
    mode: Mode
    body: str
    tags: list[str]
    role_hint: RoleHint
    source: Source
    dedupe_key: str | UnsetType | None = UNSET
    ttl_turns: Turns | UnsetType | None = UNSET
    id: str | UnsetType = UNSET
    position: Count | UnsetType = UNSET
    preserve_on_compact: bool | UnsetType = UNSET
    propagate: Propagate | UnsetType = UNSET
    fired_at_turn: Count | UnsetType = UNSET
    originating_agent_id: str | UnsetType | None = UNSET


class PendingUserMessage(Wire, frozen=True, kw_only=True, tag_field="kind", tag="user_message"):
    """A user's words that wait in the mailbox."""

    message_id: str
    mode: Mode
    content: str | list[dict[str, object]]
    id: str | UnsetType = UNSET
    position: Count | UnsetType = UNSET


class SessionPendingInjectionsResponse(Wire, frozen=True, kw_only=True):
    """What waits, first come first."""

    pending_count: Count
    injections: list[PendingReminder | PendingUserMessage]


class ReminderEmitted(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="reminder_emitted"):
    """A reminder stands in a request that the model answered."""

    reminder_id: str
    body: str
    source: UpdateSource
    tags: list[str] | UnsetType = UNSET
    dedupe_key: str | UnsetType = UNSET
    provider_id: str | UnsetType = UNSET
    fired_at_turn: int | UnsetType = UNSET


class ReminderDeduped(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="reminder_deduped"):
    """A newer reminder took the place of older ones with its key."""

    reminder_id: str
    dedupe_key: str
    dropped_reminder_ids: list[str]


class ReminderExpired(Wire, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="reminder_expired"):
    """A reminder left."""

    reminder_id: str
    phase: Phase
    expired_at_turn: Count | UnsetType = UNSET


class ReminderEmittedReport(ReminderEmitted, frozen=True, kw_only=True, tag="reminder_emitted"):
    """A reminder stands in a request, told inside `_meta` with what the RFC has no member for."""

    role_hint: RoleHint | UnsetType = UNSET
    ttl_turns: int | UnsetType | None = UNSET
    rendered_role: str | UnsetType = UNSET


class ReminderReports(Wire, frozen=True, kw_only=True):
    """Reports under `_meta.harn`: one beside an update of its own, any number on ordinary updates."""

    reminder: ReminderEmittedReport | ReminderDeduped | ReminderExpired | UnsetType = UNSET
    reminders: list[ReminderEmittedReport | ReminderDeduped | ReminderExpired] | UnsetType = UNSET
    reminders_dropped: Count | UnsetType = UNSET


class ReportMeta(Wire, frozen=True, kw_only=True):
    """The `_meta` in which reports about reminders travel."""

    harn: ReminderReports | UnsetType = UNSET


class EmittedUpdate(ReminderEmitted, frozen=True, kw_only=True, tag="reminder_emitted"):
    """A reminder stands in a request that the model answered."""

    meta: ReportMeta | UnsetType = msgspec.field(default=UNSET, name="_meta")


class DedupedUpdate(ReminderDeduped, frozen=True, kw_only=True, tag="reminder_deduped"):
    """A newer reminder took the place of older ones with its key."""

    meta: ReportMeta | UnsetType = msgspec.field(default=UNSET, name="_meta")


class ExpiredUpdate(ReminderExpired, frozen=True, kw_only=True, tag="reminder_expired"):
    """A reminder left."""

    meta: ReportMeta | UnsetType = msgspec.field(default=UNSET, name="_meta")


class DiagnosticData(Wire, frozen=True, kw_only=True):
    """The request breaks a documented rule."""

    code: Annotated[str, msgspec.Meta(pattern="^HARN-RMD-[0-9]{3}$")]
    problems: list[Problem] | UnsetType = UNSET


class RevokeData(Wire, frozen=True, kw_only=True):
    """The reminder cannot be taken back."""

    reason: RevokeReason
    reminder_id: str


class DuplicateData(Wire, frozen=True, kw_only=True):
    """The id is known already, with other content."""

    reason: Literal["duplicate_id"]
    reminder_id: str


class MailboxFullData(Wire, frozen=True, kw_only=True):
    """Too much waits; send again later."""

    reason: Literal["mailbox_full"]


class UnknownSessionData(Wire, frozen=True, kw_only=True):
    """No session has this id."""

    session_id: str


class ParameterData(Wire, frozen=True, kw_only=True):
    """A parameter cannot be read."""

    field: str


REFUSALS: dict[type[TidingsError], type[Wire]] = {
    DiagnosticError: DiagnosticData,
    RevokeError: RevokeData,
    DuplicateReminderError: DuplicateData,
    MailboxFullError: MailboxFullData,
}
"""What `data` of a refusal holds, by the error that it tells of."""

REFUSAL_DATA: tuple[type[Wire], ...] = (*REFUSALS.values(), UnknownSessionData, ParameterData)
"""Every form of `data`."""


class TextBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The reminder's text, for readers that know only blocks."""

    type: Literal["text"]
    text: str
    visibility: Literal["public"]


class ReminderEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder in a transcript: the standard envelope, the typed payload, and its mirror."""

    id: str
    kind: EventKind
    role: RoleHint
    visibility: Literal["public"]
    text: str
    blocks: list[TextBlock]
    reminder: Reminder
    metadata: Reminder


REQUESTS: dict[Operation, type[Wire]] = {
    "inject": SessionInjectRequest,
    "inject_reminder": SessionInjectReminderEnvelope,
    "pending_injections": SessionPendingInjectionsRequest,
    "revoke_reminder": SessionRevokeReminderRequest,
    "clear_reminders": SessionClearRemindersRequest,
}
RESPONSES: dict[Operation, type[Wire]] = {
    "inject": SessionInjectResponse,
    "inject_reminder": SessionInjectReminderResponse,
    "pending_injections": SessionPendingInjectionsResponse,
    "revoke_reminder": SessionRevokeReminderResponse,
    "clear_reminders": SessionClearRemindersResponse,
}
UPDATES: dict[str, type[Wire]] = {
    "reminder_emitted": EmittedUpdate,
    "reminder_deduped": DedupedUpdate,
    "reminder_expired": ExpiredUpdate,
}
