"""A session in the log: its mailbox and loop state beside the transcript, and folding them back.

The transcript's own changes are `tidings.core.replay`'s. Here are the kinds `mailbox.*` and
`session.*` of the same topic, written in the same commit as what they go with, so that a process
that is killed between any two steps loses no accepted reminder and delivers none twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tidings.agent.emitted import Emitted, pushed, without
from tidings.core.mailbox import Item, Mailbox, UserMessage, remembered
from tidings.core.records import Change, transcript_topic
from tidings.core.reminder import Payload, Reminder, read_payload
from tidings.core.replay import fold
from tidings.core.seams import read_mode
from tidings.core.table import Slot, listed
from tidings.core.transcript import Transcript
from tidings.errors import TranscriptError
from tidings.log.search import kept
from tidings.rendering.request import Issued

if TYPE_CHECKING:
    from tidings.log.port import EventLog


class Suspension(msgspec.Struct, frozen=True):
    """Why and when a session was put to sleep, what it was doing, and whether hooks were told."""

    reason: str
    at_turn: int
    digest: str = ""
    told: bool = False


class Stored(msgspec.Struct, frozen=True):
    """Everything a session needs to go on."""

    transcript: Transcript
    mailbox: Mailbox = Mailbox()
    issued: tuple[Issued, ...] = ()
    suspension: Suspension | None = None
    resumption: Payload | None = None
    pressure: str = ""
    events: tuple[Emitted, ...] = ()


def queued(item: Item) -> Change:
    """An item was accepted."""
    return Change("mailbox.queued", {"item": _item_to_dict(item)})


def left(kind: str, ids: Iterable[Slot]) -> Change:
    """Items were drained or revoked."""
    return Change(f"mailbox.{kind}", {"ids": listed(ids)})


def emitted(one: Emitted) -> Change:
    """An event was accepted."""
    return Change("session.emitted", {"id": one.id, "event": one.event, "payload": one.payload})


def heard(ids: list[str]) -> Change:
    """The hooks were told of these events."""
    return Change("session.heard", {"ids": ids})


def changed(stored: Stored) -> Change:
    """The loop's own state after a step."""
    payload: Payload = {
        "issued": [msgspec.to_builtins(entry) for entry in stored.issued],
        "suspension": msgspec.to_builtins(stored.suspension),
        "resumption": stored.resumption,
        "pressure": stored.pressure,
    }
    return Change("session.state", payload)


def whole(stored: Stored) -> Change:
    """Everything in one record: what lies before it in the log may be purged."""
    session: Payload = {
        **changed(stored).payload,
        "items": [_item_to_dict(item) for item in stored.mailbox.items],
        "delivered": listed(stored.mailbox.delivered),
        "revoked": listed(stored.mailbox.revoked),
        "events": [emitted(one).payload for one in stored.events if one.kept],
    }
    return Change("transcript.snapshot", {"transcript": stored.transcript.to_dict(), "session": session})


def load(log: EventLog, session_id: str) -> Stored:
    """The session as the log tells it; an empty one when the log knows nothing of it.

    Raises:
        TranscriptError: a record that this version cannot read.
    """
    stored = Stored(Transcript(session_id=session_id))
    for record in kept(log, transcript_topic(session_id)):
        stored = folded(stored, Change(record.kind, record.payload))
    return stored


def folded(stored: Stored, change: Change) -> Stored:
    """`stored` after one change of its topic.

    Raises:
        TranscriptError: one that this version cannot read.
    """
    if change.kind == "mailbox.queued":
        return replace(stored, mailbox=stored.mailbox.push(_read_item(change.payload.get("item"))))
    if change.kind in ("mailbox.drained", "mailbox.revoked"):
        return replace(stored, mailbox=_without(stored.mailbox, change))
    if change.kind == "session.state":
        return replace(stored, **_read_state(change.payload))
    if change.kind == "session.emitted":
        return replace(stored, events=pushed(stored.events, _read_emitted(change.payload)))
    if change.kind == "session.heard":
        return replace(stored, events=without(stored.events, frozenset(_ids(change))))
    if change.kind == "transcript.snapshot" and "session" in change.payload:
        return _read_whole(fold(stored.transcript, (change,)), change.payload["session"])
    return replace(stored, transcript=fold(stored.transcript, (change,)))


def _without(mailbox: Mailbox, change: Change) -> Mailbox:
    try:
        ids = msgspec.convert(change.payload.get("ids") or (), tuple[Slot, ...])
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`{change.kind}` cannot be read: {error}") from error
    items = tuple(item for item in mailbox.items if item.slot not in ids)
    if change.kind == "mailbox.revoked":
        return replace(mailbox, items=items, revoked=remembered(mailbox.revoked + ids))
    return replace(mailbox, items=items, delivered=remembered(mailbox.delivered + ids))


def _ids(change: Change) -> tuple[str, ...]:
    given = change.payload.get("ids")
    return tuple(str(name) for name in given) if isinstance(given, list) else ()


def _read_emitted(payload: Payload) -> Emitted:
    try:
        return msgspec.convert(payload, Emitted)
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`session.emitted` cannot be read: {error}") from error


def _read_state(payload: Payload) -> dict[str, object]:
    try:
        return {
            "issued": msgspec.convert(payload.get("issued") or (), tuple[Issued, ...]),
            "suspension": msgspec.convert(payload.get("suspension"), Suspension | None),
            "resumption": msgspec.convert(payload.get("resumption"), dict[str, object] | None),
            "pressure": msgspec.convert(payload.get("pressure", ""), str),
        }
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`session.state` cannot be read: {error}") from error


def _read_whole(transcript: Transcript, stored: object) -> Stored:
    try:
        fields = msgspec.convert(stored, dict[str, object])
        items = msgspec.convert(fields.get("items") or (), tuple[object, ...])
        delivered = msgspec.convert(fields.get("delivered") or (), tuple[Slot, ...])
        revoked = msgspec.convert(fields.get("revoked") or (), tuple[Slot, ...])
        events = msgspec.convert(fields.get("events") or (), tuple[Emitted, ...])
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`transcript.snapshot` cannot be read: {error}") from error
    mailbox = Mailbox(tuple(map(_read_item, items)), delivered, revoked)
    whole = Stored(transcript, mailbox, events=events)
    return replace(whole, **_read_state(fields))


def _item_to_dict(item: Item) -> Payload:
    if isinstance(item.what, Reminder):
        granted: Payload = {"grants": list(item.grants)} if item.grants else {}
        return {"mode": item.mode, "reminder": item.what.to_dict(), **granted}
    return {"mode": item.mode, "message": msgspec.to_builtins(item.what)}


def _read_item(stored: object) -> Item:
    try:
        fields = msgspec.convert(stored, dict[str, object])
        mode, _ = read_mode(fields.get("mode"), "mailbox")
        if "message" in fields:
            return Item(mode, msgspec.convert(fields["message"], UserMessage))
        grants = msgspec.convert(fields.get("grants") or (), tuple[str, ...])
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`mailbox.queued` cannot be read: {error}") from error
    reminder = read_payload(fields.get("reminder"))
    if reminder is None:
        raise TranscriptError(f"`mailbox.queued` holds no valid reminder: {stored!r:.80}")
    return Item(mode, reminder, grants)
