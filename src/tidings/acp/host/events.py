"""What an agent tells of its reminders, read from every form that is about. Pure.

The three updates of seed 004 come as updates of their own (with or without a vendor's prefix), under
`_meta.harn.reminder`, or as a list `_meta.harn.reminders` on any other update or answer (decision 32). One
message that tells the same thing in two forms gives one event. What cannot be read is told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from tidings.core.reminder import Payload

_KIND = re.compile(r"(?:_(?:[\w.]+[_/])?)?reminder_(emitted|deduped|expired)", re.ASCII)


class Emitted(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder stands in a request to the model."""

    session_id: str
    reminder_id: str
    body: str = ""
    tags: tuple[str, ...] = ()
    dedupe_key: str | None = None
    source: str | None = None
    provider_id: str | None = None
    fired_at_turn: int | None = None
    role_hint: str | None = None
    rendered_role: str | None = None
    ttl_turns: int | None = None


class Deduped(msgspec.Struct, frozen=True, kw_only=True):
    """A newer reminder, `reminder_id`, took the place of older ones with its key."""

    session_id: str
    reminder_id: str
    dedupe_key: str | None = None
    dropped_ids: tuple[str, ...] = ()


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder left: `phase` is ttl_expired, cleared or compacted_out."""

    session_id: str
    reminder_id: str
    phase: str | None = None
    expired_at_turn: int | None = None


Event: TypeAlias = Emitted | Deduped | Expired


class Told(msgspec.Struct, frozen=True):
    """What a message tells of reminders: the events in order, and what could not be read."""

    events: tuple[Event, ...] = ()
    unreadable: tuple[object, ...] = ()
    only: bool = False
    """Whether the message is about nothing else."""


def of_update(session_id: str, params: Mapping[str, object]) -> Told:
    """What a `session/update` tells of reminders."""
    update = params.get("update")
    if not isinstance(update, Mapping):
        return Told()
    kind = kind_of(update.get("sessionUpdate"))
    carried = _carried(update, params)
    if kind is None:
        return _told(session_id, carried)
    whole = {**_copy(update), **_known(update), "sessionUpdate": f"reminder_{kind}"}
    rest = [item for item in carried if not _same(item, whole)]
    told = _told(session_id, [whole, *rest])
    return msgspec.structs.replace(told, only=True)


def of_result(session_id: str, result: object) -> Told:
    """What the answer to a request of a session tells of reminders."""
    return _told(session_id, _carried(result)) if isinstance(result, Mapping) else Told()


def kind_of(name: object) -> str | None:
    """`emitted`, `deduped` or `expired` for the name of such an update, whatever its prefix."""
    match = _KIND.fullmatch(name) if isinstance(name, str) else None
    return match[1] if match else None


def _known(update: Mapping[str, object]) -> Payload:
    return {name: value for name, value in update.items() if value is not None and name != "_meta"}


def _carried(*carriers: Mapping[str, object]) -> list[object]:
    """What stands under `_meta.harn` of the carriers, each thing once."""
    found: list[object] = []
    for carrier in carriers:
        listed = _harn(carrier).get("reminders")
        if isinstance(listed, (list, tuple)):
            found += [item for item in listed if item not in found]
    for carrier in carriers:
        single = _harn(carrier).get("reminder")
        if single is not None and not any(_same(item, single) for item in found):
            found.append(single)
    return found


def _harn(carrier: Mapping[str, object]) -> Mapping[str, object]:
    meta = carrier.get("_meta")
    harn = meta.get("harn") if isinstance(meta, Mapping) else None
    return harn if isinstance(harn, Mapping) else {}


def _copy(update: Mapping[str, object]) -> Payload:
    """The copy of a reminder update under its `_meta`, unless that is about another reminder."""
    copy = _harn(update).get("reminder")
    if not isinstance(copy, Mapping):
        return {}
    ids = {_field(update, "reminderId"), _field(copy, "reminderId")} - {None}
    return dict(copy) if len(ids) < 2 else {}


def _same(one: object, other: object) -> bool:
    """Whether both tell the same of the same reminder."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one == other
    return _guessed(one) == _guessed(other) and _field(one, "reminderId") == _field(other, "reminderId")


def _told(session_id: str, items: Iterable[object]) -> Told:
    events: list[Event] = []
    unreadable: list[object] = []
    for item in items:
        event = _event(session_id, item) if isinstance(item, Mapping) else None
        if event is None:
            unreadable.append(item)
        else:
            events.append(event)
    return Told(tuple(events), tuple(unreadable))


def _event(session_id: str, item: Mapping[str, object]) -> Event | None:
    reminder_id = _text(item, "reminderId")
    kind = _guessed(item)
    if reminder_id is None or kind is None:
        return None
    who = {"session_id": session_id, "reminder_id": reminder_id}
    if kind == "deduped":
        dropped = tuple(_strings(_field(item, "droppedReminderIds")))
        return Deduped(**who, dedupe_key=_text(item, "dedupeKey"), dropped_ids=dropped)
    if kind == "expired":
        return Expired(**who, phase=_text(item, "phase"), expired_at_turn=_number(item, "expiredAtTurn"))
    return _emitted(who, item)


def _emitted(who: dict[str, str], item: Mapping[str, object]) -> Emitted:
    return Emitted(
        **who,
        body=_text(item, "body") or "",
        tags=tuple(_strings(item.get("tags"))),
        dedupe_key=_text(item, "dedupeKey"),
        source=_text(item, "source"),
        provider_id=_text(item, "providerId"),
        fired_at_turn=_number(item, "firedAtTurn"),
        role_hint=_text(item, "roleHint"),
        rendered_role=_text(item, "renderedRole"),
        ttl_turns=_number(item, "ttlTurns"),
    )


def _guessed(item: Mapping[str, object]) -> str | None:
    """What an item says it is; older agents send a reminder's fields and no name for them."""
    named = kind_of(_field(item, "sessionUpdate"))
    if named is not None:
        return named
    if _field(item, "droppedReminderIds") is not None:
        return "deduped"
    if item.get("phase") is not None:
        return "expired"
    return "emitted" if isinstance(item.get("body"), str) else None


def _field(item: Mapping[str, object], camel: str) -> object:
    """A field under its wire name, else under its Python name (decision 11)."""
    snake = re.sub(r"(?<=[a-z])([A-Z])", lambda letter: "_" + letter[1].lower(), camel)
    value = item.get(camel)
    return item.get(snake) if value is None else value


def _text(item: Mapping[str, object], name: str) -> str | None:
    value = _field(item, name)
    return value if isinstance(value, str) and value else None


def _number(item: Mapping[str, object], name: str) -> int | None:
    value = _field(item, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _strings(value: object) -> Iterator[str]:
    return (one for one in value if isinstance(one, str)) if isinstance(value, (list, tuple)) else iter(())
