"""Events that were emitted and wait for a loop to tell its hooks: checked at the door, bounded. Pure.

A payload is read as JSON once, so that a hook hears the same from this process and, after a kill, from
the next. `Session.emit` makes these, `store.py` keeps them in the log, `happenings.py` tells them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.core.text import is_unicode
from tidings.errors import CallerError, LogUsageError
from tidings.log.entry import encode

CAPACITY = 1_000
"""How many emitted events wait for the loop; the sender of one more is told."""
MAX_BYTES = 256 * 1024
"""How big a payload may be, as JSON."""


class EventsFullError(CallerError):
    """As many events wait for the loop as may; nothing that was accepted is lost."""


class Emitted(msgspec.Struct, frozen=True):
    """One event that waits. `kept` ones are in the log until the hooks have heard them."""

    id: str
    event: str
    payload: Payload
    kept: bool = True


def read_emitted(id: str, event: object, payload: Mapping[str, object] | None, *, kept: bool) -> Emitted:
    """The event, with a payload that is JSON and shares nothing with the caller's.

    Raises:
        CallerError: the event is no name, or the payload is too big or no JSON object, by its field.
    """
    if not isinstance(event, str) or not event.strip() or not is_unicode(event):
        raise CallerError(f"`event` must be a name such as 'file_edited'; got {shown(event)}")
    read = read_json(f"event {event!r}", {} if payload is None else payload, most=MAX_BYTES)
    return Emitted(id, event, read, kept)


def read_json(what: str, payload: Mapping[str, object], most: int | None = None) -> Payload:
    """`payload` as the log will give it back, of at most `most` bytes.

    Raises:
        CallerError: it is no JSON object, by its field, or too big.
    """
    try:
        text = encode(payload)
    except LogUsageError as error:
        raise CallerError(f"{what} cannot be kept: {error}") from error
    if most is not None and len(text.encode()) > most:
        fix = f"at most {most} bytes are kept, store the content elsewhere and give its address"
        raise CallerError(f"{what} cannot be kept: its payload is over the limit; {fix}")
    return msgspec.json.decode(text, type=dict[str, object])


def pushed(waiting: tuple[Emitted, ...], one: Emitted) -> tuple[Emitted, ...]:
    """`waiting` with `one` at the end.

    Raises:
        EventsFullError: too many wait already.
    """
    if len(waiting) >= CAPACITY:
        raise EventsFullError(f"{CAPACITY} events wait for this session already; run its loop")
    return (*waiting, one)


def without(waiting: tuple[Emitted, ...], ids: frozenset[str]) -> tuple[Emitted, ...]:
    """`waiting` without the events of these ids."""
    return tuple(one for one in waiting if one.id not in ids)


def reports(waiting: tuple[Emitted, ...]) -> tuple[Emitted, ...]:
    """Those that children sent: they only observe, so that they need not wait for a seam."""
    return tuple(one for one in waiting if one.event.startswith("worker_")) if waiting else ()
