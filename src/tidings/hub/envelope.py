"""An envelope: a reminder, whom it is for, and how far it got with each of them. Pure.

Deciding gives records; `evolve` turns an envelope and a record into the next envelope, live and when a
log is replayed. A delivery is exactly one of `STATES`. To a host a reminder is given at least once: a lease
that is not acknowledged runs out, and the delivery waits again. In the transcript it is there once, by
the reminder's id. The board holds all envelopes; the hub decides when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from tidings.core.mailbox import RevokeError
from tidings.core.records import Alike, Record
from tidings.core.reminder import Payload
from tidings.core.seams import Mode
from tidings.hub.address import Address
from tidings.hub.failure import NotThereError

State: TypeAlias = Literal["waiting", "leased", "acknowledged", "expired", "revoked"]
STATES: tuple[State, ...] = get_args(State)
UNDER_WAY: tuple[State, ...] = ("waiting", "leased")
End: TypeAlias = Literal["expired", "revoked"]

ACCEPTED = "hub.reminder.accepted"
ADDRESSED = "hub.reminder.addressed"
LEASED = "hub.reminder.leased"
RETURNED = "hub.reminder.returned"
ACKNOWLEDGED = "hub.reminder.acknowledged"
EXPIRED = "hub.reminder.expired"
REVOKED = "hub.reminder.revoked"


class Delivery(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a reminder got with one session; a lease ends at `lease_until_ms`.

    `given` says that a host had it once and may still; `withheld` that it is not given again.
    """

    state: State = "waiting"
    lease_until_ms: int = 0
    given: bool = False
    withheld: bool = False

    @property
    def is_there(self) -> bool:
        """Whether a host of the session has it, as far as is known."""
        return self.state in ("leased", "acknowledged")


_ARRIVED = Delivery("acknowledged")


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder on its way: its options, its address, until when, and a delivery for each session.

    `origin` is there when it comes from outside, with what the user grants that origin. `ended` says that
    no session can be added and nothing waits any more; a lease may outlive it.
    """

    reminder_id: str
    reminder: Payload
    mode: Mode
    to: Address
    digest: str
    deliver_until_ms: int
    accepted_at_ms: int = 0
    origin: str | None = None
    grants: tuple[str, ...] = ()
    ended: End | None = None
    deliveries: Mapping[str, Delivery] = msgspec.field(default_factory=dict)

    @property
    def state(self) -> State:
        """The furthest that still matters: under way before done, done before ended."""
        found = {delivery.state for delivery in self.deliveries.values()}
        if "leased" in found or "waiting" in found:
            return "leased" if "leased" in found else "waiting"
        if "acknowledged" in found:
            return "acknowledged"
        return self.ended or "waiting"

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it, but for a late acknowledgement."""
        for delivery in self.deliveries.values():
            if delivery.state in UNDER_WAY:
                return False
        return self.ended is not None or (self.to.session is not None and bool(self.deliveries))


class Unaddressed(NotThereError):
    """A session acknowledges what it was never given."""


def accepted(envelope: Envelope, session_ids: Iterable[str]) -> list[Record]:
    """The records of a new envelope for those sessions; a session named is one of them from the start."""
    payload: Payload = {
        "reminder_id": envelope.reminder_id,
        "reminder": envelope.reminder,
        "mode": envelope.mode,
        "to": msgspec.to_builtins(envelope.to),
        "digest": envelope.digest,
        "deliver_until_ms": envelope.deliver_until_ms,
        "accepted_at_ms": envelope.accepted_at_ms,
    }
    if envelope.origin is not None:
        payload |= {"origin": envelope.origin, "grants": list(envelope.grants)}
    named = [] if envelope.to.session is None else [envelope.to.session]
    return [Record(ACCEPTED, payload), *addressed(envelope, [*named, *session_ids])]


def addressed(envelope: Envelope, session_ids: Iterable[str]) -> list[Record]:
    """The records that give those sessions a delivery; none for those that have one, or when it ended."""
    if envelope.ended is not None:
        return []
    new = [name for name in dict.fromkeys(session_ids) if name not in envelope.deliveries]
    if not new:
        return []
    return [Record(ADDRESSED, {"reminder_id": envelope.reminder_id, "session_ids": new})]


def leased(envelope: Envelope, session_id: str, until_ms: int) -> list[Record]:
    """The record that gives what waits for a session to its host until then; none if nothing waits."""
    delivery = envelope.deliveries.get(session_id)
    if delivery is None or delivery.state != "waiting":
        return []
    return [Record(LEASED, {**_about(envelope, session_id), "until_ms": until_ms})]


def returned(envelope: Envelope, session_id: str, reason: str) -> list[Record]:
    """The record that ends a lease without an acknowledgement; none if there is no lease."""
    delivery = envelope.deliveries.get(session_id)
    if delivery is None or delivery.state != "leased":
        return []
    return [Record(RETURNED, {**_about(envelope, session_id), "reason": reason})]


def acknowledged(envelope: Envelope, session_id: str) -> list[Record]:
    """The record that it is in the session's mailbox; none if that was said before.

    It holds also when the lease had run out: the host says what happened, and it did.

    Raises:
        Unaddressed: this session was never given it.
    """
    delivery = envelope.deliveries.get(session_id)
    if delivery is None:
        raise Unaddressed(
            f"reminder {envelope.reminder_id!r} was never given to session {session_id!r}; "
            "acknowledge what a lease of this session held"
        )
    if delivery.state == "acknowledged":
        return []
    return [Record(ACKNOWLEDGED, {**_about(envelope, session_id), "late": delivery.state != "leased"})]


def taken(envelopes: Iterable[Envelope], session_id: str) -> list[Alike]:
    """The records that a host got these in the answer which asked for them: leased and acknowledged."""
    names = tuple([envelope.reminder_id for envelope in envelopes])
    rest: Payload = {"session_id": session_id, "late": False}
    return [Alike(ACKNOWLEDGED, "reminder_id", names, rest)] if names else []


def overdue(envelope: Envelope, now_ms: int) -> list[Record]:
    """What time did: leases that ran out, and the end of an envelope past its deadline."""
    told = [
        Record(RETURNED, {**_about(envelope, name), "reason": "lease_expired"})
        for name, delivery in envelope.deliveries.items()
        if delivery.state == "leased" and now_ms >= delivery.lease_until_ms
    ]
    if envelope.ended is None and now_ms >= envelope.deliver_until_ms:
        told.append(Record(EXPIRED, {"reminder_id": envelope.reminder_id}))
    return told


def due_ms(envelope: Envelope) -> int | None:
    """When time does something to it next."""
    ends = [one.lease_until_ms for one in envelope.deliveries.values() if one.state == "leased"]
    if envelope.ended is None:
        ends.append(envelope.deliver_until_ms)
    return min(ends, default=None)


def revoked(envelope: Envelope) -> list[Record]:
    """The record that takes back what no host has; none if that was done before (decision 13).

    Raises:
        RevokeError: every host that was to have it has it, or its time was over.
    """
    if envelope.ended == "revoked":
        return []
    waits = any(one.state == "waiting" for one in envelope.deliveries.values())
    open_to_more = envelope.ended is None and envelope.to.session is None
    if not waits and not open_to_more:
        gone = "expired" if envelope.state == "expired" else "already_delivered"
        raise RevokeError(envelope.reminder_id, gone)
    return [Record(REVOKED, {"reminder_id": envelope.reminder_id})]


def withheld(envelope: Envelope, session_ids: Iterable[str]) -> list[Record]:
    """The record that these sessions are not given it, now or after a lease; none if that is so already."""
    names = [
        name
        for name in session_ids
        if (one := envelope.deliveries.get(name)) and one.state in UNDER_WAY and not one.withheld
    ]
    if not names or envelope.ended is not None:
        return []
    only = {} if envelope.to.session is not None else {"session_ids": names}
    return [Record(REVOKED, {"reminder_id": envelope.reminder_id, **only})]


def opened(payload: Mapping[str, object]) -> Envelope:
    """The envelope of an `accepted` record."""
    return msgspec.convert(payload, Envelope)


def evolve(envelope: Envelope, record: Record) -> Envelope:
    """`envelope` after one of its records."""
    payload = record.payload
    match record.kind:
        case "hub.reminder.addressed":
            names = msgspec.convert(payload["session_ids"], list[str])
            return _with(envelope, {name: Delivery() for name in names})
        case "hub.reminder.leased":
            until = msgspec.convert(payload["until_ms"], int)
            return _with(envelope, {str(payload["session_id"]): Delivery("leased", until)})
        case "hub.reminder.returned":
            name = str(payload["session_id"])
            return _with(envelope, {name: _back(envelope, name)})
        case "hub.reminder.acknowledged":
            return arrived(envelope, str(payload["session_id"]))
        case "hub.reminder.expired":
            return _ended(envelope, "expired")
        case "hub.reminder.revoked" if "session_ids" in payload:
            names = msgspec.convert(payload["session_ids"], list[str])
            return _with(envelope, {name: _kept_back(envelope.deliveries[name]) for name in names})
        case "hub.reminder.revoked":
            return _ended(envelope, "revoked")
    return envelope


def arrived(envelope: Envelope, session_id: str) -> Envelope:
    """`envelope` after a session acknowledged it."""
    return replace(envelope, deliveries={**envelope.deliveries, session_id: _ARRIVED})


def _about(envelope: Envelope, session_id: str) -> Payload:
    return {"reminder_id": envelope.reminder_id, "session_id": session_id}


def _with(envelope: Envelope, changed: Mapping[str, Delivery]) -> Envelope:
    return replace(envelope, deliveries={**envelope.deliveries, **changed})


def _ended(envelope: Envelope, end: End) -> Envelope:
    waiting = {name: one for name, one in envelope.deliveries.items() if one.state == "waiting"}
    over = {name: Delivery(end, given=one.given) for name, one in waiting.items()}
    return replace(_with(envelope, over), ended=end)


def _back(envelope: Envelope, session_id: str) -> Delivery:
    """A delivery whose lease came to nothing."""
    held = envelope.deliveries[session_id].withheld
    return Delivery("revoked" if held else envelope.ended or "waiting", given=True)


def _kept_back(delivery: Delivery) -> Delivery:
    """A delivery that comes to nothing, or will when its lease does."""
    if delivery.state == "leased":
        return replace(delivery, withheld=True)
    return Delivery("revoked", given=delivery.given)
