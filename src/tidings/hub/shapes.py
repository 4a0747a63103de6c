"""What the hub is asked and what it answers, as types. Data.

Requests are read with these and the OpenAPI document is made of them, so that the two cannot part. Names
on the wire are camelCase. What a reminder's own fields may hold is decided by the gate (`core.producers`),
which names the HARN code; `Remind` describes them and adds the envelope.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from tidings.bridge.shapes import Wire
from tidings.core.reminder import Propagate, RoleHint
from tidings.core.seams import DEFAULT_MODE, Mode
from tidings.hub.address import NAME, Address
from tidings.hub.envelope import State

DELIVER_WITHIN = 600.0
LONGEST_DELIVERY = 7 * 24 * 3600.0
LONGEST_WAIT = 50.0
LEASE_MOST = 100
LISTED_MOST = 1_000

Name: TypeAlias = Annotated[str, NAME]
Path: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
Within: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_DELIVERY)]
Wait: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]
Most: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LEASE_MOST)]


class Asked(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request; a member that is not known is refused."""


class Nothing(Asked, frozen=True, kw_only=True):
    """A request without members."""


class Remind(Wire, frozen=True, kw_only=True):
    """A reminder, whom it is for and within how many seconds; `id` makes a repetition harmless."""

    body: Annotated[str, msgspec.Meta(min_length=1)]
    to: Address
    deliver_within: Within = DELIVER_WITHIN
    id: Name | None = None
    mode: Mode = DEFAULT_MODE
    tags: list[str] = msgspec.field(default_factory=list)
    dedupe_key: str | None = None
    ttl_turns: Annotated[int, msgspec.Meta(ge=1)] | None = None
    preserve_on_compact: bool = False
    propagate: Propagate = "session"
    role_hint: RoleHint = "system"


class EnvelopePart(Asked, frozen=True, kw_only=True):
    """What stands beside a reminder's own fields."""

    to: Address
    deliver_within: Within = DELIVER_WITHIN


class Reminded(Wire, frozen=True, kw_only=True):
    """Accepted, and safe on disk. `sessions` match now; others may come until the deadline."""

    reminder_id: str
    state: State
    sessions: list[str]
    deliver_until_ms: int


class Pending(Asked, frozen=True, kw_only=True):
    """Asks what is on its way, for one session or at all, the first so many."""

    session_id: Name | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=LISTED_MOST)] = LISTED_MOST


class DeliveryRow(Wire, frozen=True, kw_only=True):
    """How far a reminder got with one session."""

    session_id: str
    state: State


class EnvelopeRow(Wire, frozen=True, kw_only=True):
    """A reminder on its way."""

    reminder_id: str
    state: State
    mode: Mode
    to: Address
    deliver_until_ms: int
    deliveries: list[DeliveryRow]
    reminder: dict[str, object]


class PendingAnswer(Wire, frozen=True, kw_only=True):
    """What is on its way, first come first; `pendingCount` counts also what the limit left out."""

    pending_count: int
    reminders: list[EnvelopeRow]


class Revoke(Asked, frozen=True, kw_only=True):
    """Takes back what no host has yet."""

    reminder_id: Name


class RevokeAnswer(Wire, frozen=True, kw_only=True):
    """It goes to nobody any more."""

    status: Literal["revoked", "already_revoked"]
    reminder_id: str


class Clear(Asked, frozen=True, kw_only=True):
    """Takes back everything on its way that matches all that is given; at least one member is."""

    id: str | None = None
    tag: str | None = None
    dedupe_key: str | None = None


class ClearAnswer(Wire, frozen=True, kw_only=True):
    """How many were taken back."""

    removed_count: int


class Register(Asked, frozen=True, kw_only=True):
    """A session that can be reached from now on; the same id again replaces what was known of it."""

    session_id: Name
    agent: Name | None = None
    workspace: Path | None = None
    tags: Annotated[list[Name], msgspec.Meta(max_length=100)] = msgspec.field(default_factory=list)
    capabilities: dict[str, object] = msgspec.field(default_factory=dict)


class RegisterAnswer(Wire, frozen=True, kw_only=True):
    """Registered; it is forgotten when nothing is heard of it for so long."""

    session_id: str
    heartbeat_seconds: float
    waiting: int


class Who(Asked, frozen=True, kw_only=True):
    """Names a registered session."""

    session_id: Name


class Known(Wire, frozen=True, kw_only=True):
    """The session is known, and how much waits for it."""

    session_id: str
    waiting: int


class SessionRow(Wire, frozen=True, kw_only=True):
    """A registered session."""

    session_id: str
    agent: str | None
    workspace: str | None
    tags: list[str]
    capabilities: dict[str, object]
    waiting: int
    silent_seconds: float


class SessionsAnswer(Wire, frozen=True, kw_only=True):
    """The registered sessions."""

    sessions: list[SessionRow]


class Lease(Asked, frozen=True, kw_only=True):
    """Asks for what waits; with `waitSeconds` the answer may come later, when something does."""

    session_id: Name
    limit: Most = LEASE_MOST
    wait_seconds: Wait = 0.0


class LeasedRow(Wire, frozen=True, kw_only=True):
    """A reminder to deliver: its options, its mode, and until when to acknowledge it."""

    reminder_id: str
    reminder: dict[str, object]
    mode: Mode
    lease_until_ms: int


class LeaseAnswer(Wire, frozen=True, kw_only=True):
    """What to deliver now. What is not acknowledged in time is given again."""

    reminders: list[LeasedRow]


class Acknowledge(Asked, frozen=True, kw_only=True):
    """Says that these are in the session's mailbox."""

    session_id: Name
    reminder_ids: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=LEASE_MOST)]


class AcknowledgeAnswer(Wire, frozen=True, kw_only=True):
    """How many were acknowledged now; the others had been before."""

    acknowledged: int


class StatusAnswer(Wire, frozen=True, kw_only=True):
    """The hub at a glance."""

    version: str
    pid: int
    sessions: int
    reminders: dict[str, int]
    cursor: int
    subscribers: int
