"""Between the wire's types and the hub's own values: requests read, envelopes shown. Nothing decides here.

The one thing read from outside is the file system: paths of workspaces are resolved, so that two
spellings of a folder are one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.mailbox import RevokeError
from tidings.core.producers import ProducerName, build
from tidings.core.records import Record
from tidings.core.reminder import Payload, Reminder
from tidings.errors import CallerError
from tidings.hub import envelope as letters
from tidings.hub import shapes
from tidings.hub.address import Address, Registration
from tidings.hub.envelope import Envelope

T = TypeVar("T", bound=msgspec.Struct)

CAPABILITY_BYTES = 16 * 1024
BUILT = 1_024

_PLACE = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")
_STAMPED = ("source", "fired_at_turn", "_meta", "originating_agent_id")


def read_as(shape: type[T], params: Mapping[str, object], *, strict: bool = True) -> T:
    """The request that `params` are; `strict` false reads numbers out of text, as a query string needs.

    Raises:
        RpcError: not of this shape; it names the field and what it must be.
    """
    try:
        return msgspec.convert(params, shape, strict=strict)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        field = place["field"] if place else ""
        about = f"`{field}`: " if field else ""
        raise RpcError(INVALID_PARAMS, f"{about}{_PLACE.sub('', text)}", {"field": field}) from error


def resolved(path: str, field: str) -> str:
    """An absolute path without links.

    Raises:
        CallerError: it is not absolute, or no path.
    """
    if not os.path.isabs(path) or "\0" in path:
        raise CallerError(f"`{field}` is {path!r}; give an absolute path")
    return os.path.realpath(path)


def resolved_address(to: Address) -> Address:
    """`to` with its path resolved.

    Raises:
        CallerError: the path is not absolute.
    """
    return to if to.workspace is None else replace(to, workspace=resolved(to.workspace, "to.workspace"))


def registration(asked: shapes.Register, started_ms: int) -> Registration:
    """The session that a request registers.

    Raises:
        CallerError: its workspace is not absolute, or its capabilities are too much.
    """
    size = len(msgspec.json.encode(asked.capabilities))
    if size > CAPABILITY_BYTES:
        text = f"`capabilities` has {size} bytes as JSON; at most {CAPABILITY_BYTES} are kept"
        raise CallerError(text)
    place = None if asked.workspace is None else resolved(asked.workspace, "workspace")
    return Registration(
        session_id=asked.session_id,
        agent=asked.agent,
        workspace=place,
        tags=tuple(dict.fromkeys(asked.tags)),
        capabilities=asked.capabilities,
        started_ms=started_ms,
    )


def session_row(session: Registration, waiting: int, silent_ms: int, told: int) -> shapes.SessionRow:
    """A session as it is listed, with how much waits for it and how much it told."""
    return shapes.SessionRow(
        session_id=session.session_id,
        agent=session.agent,
        workspace=session.workspace,
        tags=list(session.tags),
        capabilities=session.capabilities,
        waiting=waiting,
        silent_seconds=silent_ms / 1000,
        state="live" if session.ended_ms is None else "ended",
        started_ms=session.started_ms,
        ended_ms=session.ended_ms,
        records=told,
        delivery=session.delivery,
    )


def producer_for(origin: str | None) -> ProducerName:
    """Whose rules hold for a reminder: a host's, or with an origin those for text from outside."""
    return "bridge" if origin is None else "mcp"


def options_of(reminder: Reminder) -> Payload:
    """What a host hands to its session to make the same reminder, id included."""
    return {name: value for name, value in reminder.to_dict().items() if name not in _STAMPED}


_built: dict[tuple[str, str], Reminder] = {}
"""Reminders by id and digest: one that is delivered is built several times. Bounded by `reminder_of`."""


def reminder_of(envelope: Envelope) -> Reminder:
    """The reminder inside an open envelope."""
    name = envelope.reminder_id, envelope.digest
    known = _built.get(name)
    if known is None:
        if len(_built) >= BUILT:
            _built.clear()
        origin = envelope.origin
        options = {field: value for field, value in envelope.reminder.items() if field != "id"}
        known = build(producer_for(origin), options, id=envelope.reminder_id, origin=origin)
        _built[name] = known
    return known


def revocation(envelope: Envelope) -> list[Record]:
    """The record that takes it back; none when every host has it."""
    try:
        return letters.revoked(envelope)
    except RevokeError:
        return []


def reminded(envelope: Envelope) -> shapes.Reminded:
    """What the sender is told."""
    return shapes.Reminded(
        reminder_id=envelope.reminder_id,
        state=envelope.state,
        sessions=list(envelope.deliveries),
        deliver_until_ms=envelope.deliver_until_ms,
    )


def row(envelope: Envelope) -> shapes.EnvelopeRow:
    """An envelope as it is listed."""
    return shapes.EnvelopeRow(
        reminder_id=envelope.reminder_id,
        state=envelope.state,
        mode=envelope.mode,
        to=envelope.to,
        deliver_until_ms=envelope.deliver_until_ms,
        deliveries=[
            shapes.DeliveryRow(session_id=name, state=one.state)
            for name, one in envelope.deliveries.items()
        ],
        reminder=envelope.reminder,
        origin=envelope.origin,
    )


def leased_row(envelope: Envelope, until_ms: int) -> shapes.LeasedRow:
    """An envelope as its host gets it."""
    return shapes.LeasedRow(
        reminder_id=envelope.reminder_id,
        reminder=envelope.reminder,
        mode=envelope.mode,
        lease_until_ms=until_ms,
        origin=envelope.origin,
        grants=list(envelope.grants),
    )
