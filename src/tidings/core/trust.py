"""Trust: what a reminder may claim, by who sent it (decision 21). Pure.

The receiving adapter sets the tier; `admit` lowers what the tier may not have and cuts what is too
long, `admit_mode` lowers how it wants to be let in; both say so in `restricted` records. A grant is
the user's word that one origin may keep a power. `LIMITS` and `POWERS` are data.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tidings.core import text
from tidings.core.records import Record, record
from tidings.core.reminder import Propagate, Reminder, Trust
from tidings.core.seams import NEEDS, Mode

LIMITS: dict[Trust, int] = {"operator": 256 * 1024, "host": 32 * 1024, "external": 8 * 1024}
"""The longest body of each tier, in bytes of UTF-8."""

REQUEST_BUDGET = 16 * 1024
"""How many bytes of external text one request may carry, as rendered; the rest waits for the next."""

POWERS = ("propagate_all", "preserve_on_compact", "interrupt_immediate", "wake_idle")
"""What an external origin has only by grant."""


class Admitted(msgspec.Struct, frozen=True):
    """A reminder within the powers of its tier, and the records of what it asked beyond."""

    reminder: Reminder
    records: tuple[Record, ...] = ()


def admit(reminder: Reminder, grants: frozenset[str] = frozenset()) -> Admitted:
    """`reminder`, lowered to what its trust tier and the grants allow."""
    if reminder.meta is None and len(reminder.body) * 4 <= LIMITS["operator"]:
        return Admitted(reminder)
    changed: dict[str, object] = {}
    written: list[Record] = []
    for name, asked, given in _excesses(reminder, grants):
        changed[name] = given
        written.append(restricted(reminder, name, asked, given))
    return Admitted(replace(reminder, **changed) if changed else reminder, tuple(written))


class Delivery(msgspec.Struct, frozen=True):
    """How a reminder may be let in: its mode, the grants that its seams will ask for, and the records."""

    mode: Mode
    grants: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()


def admit_mode(reminder: Reminder, mode: Mode, grants: frozenset[str] = frozenset()) -> Delivery:
    """The way in that `reminder` asks for, lowered to what its trust tier and the grants allow."""
    if reminder.trust != "external" or mode != "interrupt_immediate":
        return Delivery(mode)
    if mode not in grants:
        lowered: Mode = "finish_step"
        return Delivery(lowered, (), (restricted(reminder, "mode", mode, lowered),))
    lacking = sorted(set(NEEDS.values()) - grants)
    told = tuple(restricted(reminder, power, True, False) for power in lacking)
    return Delivery(mode, tuple(sorted(grants.intersection(NEEDS.values()))), told)


def _excesses(reminder: Reminder, grants: frozenset[str]) -> list[tuple[str, object, object]]:
    excesses: list[tuple[str, object, object]] = []
    limit = LIMITS[reminder.trust]
    body = text.truncate(reminder.body, limit)
    if body is not reminder.body:
        excesses.append(("body", reminder.body, body))
    if reminder.trust == "external":
        if reminder.propagate == "all" and "propagate_all" not in grants:
            lowered: Propagate = "session"
            excesses.append(("propagate", "all", lowered))
        if reminder.preserve_on_compact and "preserve_on_compact" not in grants:
            excesses.append(("preserve_on_compact", True, False))
    return excesses


def restricted(reminder: Reminder, name: str, asked: object, given: object, **more: object) -> Record:
    """The record of a claim that was lowered; of a body only its size is told."""
    if isinstance(asked, str) and name == "body":
        asked, given = f"{len(asked.encode())} bytes", f"{LIMITS[reminder.trust]} bytes"
    return record(
        "restricted",
        reminder_id=reminder.id,
        field=name,
        asked=asked,
        given=given,
        origin=reminder.provenance.origin,
        trust=reminder.trust,
        **more,
    )
