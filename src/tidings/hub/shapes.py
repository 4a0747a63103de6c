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
from tidings.hosts.happening import Host
from tidings.hub.address import NAME, Address, Durability
from tidings.hub.envelope import State
from tidings.hub.exact import PATH
from tidings.hub.withdrawal import Result, WithdrawalRow

DELIVER_WITHIN = 600.0
LONGEST_DELIVERY = 7 * 24 * 3600.0
LONGEST_WAIT = 50.0
ANSWER_SECONDS = 2.0
LEASE_MOST = 100
LISTED_MOST = 1_000
TELL_MOST = 500

Name: TypeAlias = Annotated[str, NAME]
Path: TypeAlias = Annotated[
    str, msgspec.Meta(min_length=1, max_length=4096, extra_json_schema={"pattern": PATH})
]
Said: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]
Within: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_DELIVERY)]
Wait: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)]
Most: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LEASE_MOST)]
Listed: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LISTED_MOST)]
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Outcome: TypeAlias = Result | Literal["forgotten", "asked", "lapsed", "left", "not_able", "busy"]
RevokeStatus: TypeAlias = Literal["revoked", "already_revoked", "asked"]
Stream: TypeAlias = Literal["transcript", "lifecycle", "requests"]
Kind: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Asked(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request; a member that is not known is refused."""


class Nothing(Asked, frozen=True, kw_only=True):
    """A request without members."""


class Remind(Wire, frozen=True, kw_only=True):
    """A reminder, whom it is for and within how many seconds; `id` makes a repetition harmless."""

    body: Said
    to: Address
    deliver_within: Within = DELIVER_WITHIN
    id: Name | None = None
    mode: Mode | None = DEFAULT_MODE
    tags: list[Said] = msgspec.field(default_factory=list)
    dedupe_key: Said | None = None
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
    limit: Listed = LISTED_MOST


class DeliveryRow(Wire, frozen=True, kw_only=True):
    """How far a reminder got with one session."""

    session_id: str
    state: State


class EnvelopeRow(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """A reminder on its way."""

    reminder_id: str
    state: State
    mode: Mode
    to: Address
    deliver_until_ms: int
    deliveries: list[DeliveryRow]
    reminder: dict[str, object]
    origin: str | None = None


class PendingAnswer(Wire, frozen=True, kw_only=True):
    """What is on its way, first come first; `pendingCount` counts also what the limit left out."""

    pending_count: int
    reminders: list[EnvelopeRow]


class Revoke(Asked, frozen=True, kw_only=True):
    """Takes a reminder back before a seam lets it in, from everybody or from one session.

    The hub takes what no host has; sessions that have it are asked, and waited for up to `waitSeconds`.
    """

    reminder_id: Name
    session_id: Name | None = None
    wait_seconds: Wait = ANSWER_SECONDS


class Reached(Wire, frozen=True, kw_only=True):
    """What became of it in one session that has it, or was asked."""

    session_id: str
    outcome: Outcome
    removed_count: int


class RevokeAnswer(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """It goes to nobody any more, or `asked`: those that have it did not answer yet.

    `removedCount` says from how many sessions it was taken back; `sessions` are those that had it.
    """

    status: RevokeStatus
    reminder_id: str
    removed_count: int
    sessions: list[Reached] = msgspec.field(default_factory=list)


class Clear(Asked, frozen=True, kw_only=True):
    """Takes back everything that matches all that is given, of everybody or of one session.

    At least one of `id`, `tag` and `dedupeKey` is given. What is on its way goes, and sessions are asked
    to clear what is queued and pending there, and waited for up to `waitSeconds`.
    """

    id: str | None = None
    tag: str | None = None
    dedupe_key: str | None = None
    session_id: Name | None = None
    wait_seconds: Wait = ANSWER_SECONDS


class ClearAnswer(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """How many were taken back, on their way and in the sessions, and what each session answered."""

    removed_count: int
    sessions: list[Reached] = msgspec.field(default_factory=list)


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


class Sessions(Asked, frozen=True, kw_only=True):
    """Asks for the sessions; `ended` for the last ones that left, too."""

    ended: bool = False


class SessionRow(Wire, frozen=True, kw_only=True):
    """A session. `records` counts what it told; `delivery` says where a delivery is safe."""

    session_id: str
    agent: str | None
    workspace: str | None
    tags: list[str]
    capabilities: dict[str, object]
    waiting: int
    silent_seconds: float
    state: Literal["live", "ended"]
    started_ms: int
    ended_ms: int | None
    records: int
    delivery: Durability


class SessionsAnswer(Wire, frozen=True, kw_only=True):
    """The registered sessions, then those that ended, the last first."""

    sessions: list[SessionRow]


class TellRecord(Asked, frozen=True, kw_only=True):
    """A record of a session's own; `cursor` is the teller's number for it, rising in its stream."""

    cursor: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    kind: Kind
    at_ms: Number
    payload: dict[str, object]


class Tell(Asked, frozen=True, kw_only=True):
    """Tells the hub records of a session; those up to the last that it knows are skipped.

    `epoch` names the log behind the session: another one starts anew. Without records it asks how far
    the hub knows this stream.
    """

    session_id: Name
    epoch: Name
    stream: Stream
    records: Annotated[list[TellRecord], msgspec.Meta(max_length=TELL_MOST)] = msgspec.field(
        default_factory=list
    )


class TellAnswer(Wire, frozen=True, kw_only=True):
    """How far the hub knows this stream: the last record's number, 0 for none."""

    session_id: str
    told: int


class Told(Asked, frozen=True, kw_only=True):
    """Asks for what a session told: behind a cursor, or the last before one."""

    session_id: Name
    after: Number = 0
    before: Annotated[int, msgspec.Meta(ge=1, le=2**53)] | None = None
    limit: Listed = LISTED_MOST


class ToldRow(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """A record that a session told: `cursor` is the hub's number, `seq` the teller's.

    `epoch` is there when another log begins.
    """

    cursor: int
    seq: int
    stream: Stream
    kind: str
    at_ms: int
    payload: dict[str, object]
    epoch: str | None = None


class ToldAnswer(Wire, frozen=True, kw_only=True):
    """Records, ascending, fewer when they are long; `latest` is the number of the last there is."""

    records: list[ToldRow]
    latest: int


class Lease(Asked, frozen=True, kw_only=True):
    """Asks for what waits; with `waitSeconds` the answer may come later, when something does."""

    session_id: Name
    limit: Most = LEASE_MOST
    wait_seconds: Wait = 0.0


class LeasedRow(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """A reminder to deliver: its options, its mode, and until when to acknowledge it.

    With an `origin` it is external text of that origin, which may have what `grants` names.
    """

    reminder_id: str
    reminder: dict[str, object]
    mode: Mode
    lease_until_ms: int
    origin: str | None = None
    grants: list[str] = msgspec.field(default_factory=list)


class LeaseAnswer(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """What to take back, and then what to deliver. What is not acknowledged in time is given again."""

    reminders: list[LeasedRow]
    withdrawals: list[WithdrawalRow] = msgspec.field(default_factory=list)


class Acknowledge(Asked, frozen=True, kw_only=True):
    """Says that these are in the session's mailbox."""

    session_id: Name
    reminder_ids: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=LEASE_MOST)]


class AcknowledgeAnswer(Wire, frozen=True, kw_only=True):
    """How many were acknowledged now; the others had been before."""

    acknowledged: int


class Drain(Asked, frozen=True, kw_only=True):
    """A hook call of a coding agent: what its host says, and until when an answer is of use."""

    host: Host
    event: dict[str, object]
    until_ms: Number | None = None


class DrainAnswer(Wire, frozen=True, kw_only=True):
    """What to answer the host, in its own form; empty means nothing."""

    answer: dict[str, object]


class Wake(Asked, frozen=True, kw_only=True):
    """Waits, for a session of a coding agent that is idle, until something should wake it.

    Who `stays` waits beside the session for all its life, also while it works; nobody else need wait then.
    """

    host: Host
    event: dict[str, object]
    wait_seconds: Wait = LONGEST_WAIT
    stays: bool = False


class WakeAnswer(Wire, frozen=True, kw_only=True):
    """Whether there is something to wake it with: fetch it with the event `tidings.wake`.

    If there is none, ask again, or when `over`, do not: it works again, or somebody else waits.
    """

    news: bool
    over: bool


class StatusAnswer(Wire, frozen=True, kw_only=True):
    """The hub at a glance."""

    version: str
    pid: int
    sessions: int
    reminders: dict[str, int]
    cursor: int
    subscribers: int
