"""What taking a reminder back means: who has it, what the hub itself can do, and how it went. Pure.

An envelope and what sessions answered in, records and a status out. `withdrawing.py` writes and asks.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import msgspec

from tidings.core.mailbox import RevokeError
from tidings.core.producers import shown
from tidings.core.records import Record
from tidings.errors import CallerError
from tidings.hub import envelope as letters
from tidings.hub import shapes
from tidings.hub.envelope import Envelope, State
from tidings.hub.failure import UnknownSessionError

_REFUSALS: dict[State | None, str | None] = {
    "waiting": None,
    "revoked": None,
    "leased": "already_delivered",
    "acknowledged": "already_delivered",
    "expired": "expired",
    None: "unknown_reminder_id",
}
"""Why the hub cannot take a reminder back from one session, by how far it got there."""


class DeliveredError(RevokeError):
    """Too late to revoke a reminder: `reached` are the sessions that keep it, each with why."""

    def __init__(self, reminder_id: str, reached: Sequence[shapes.Reached]) -> None:
        self.reached = tuple(reached)
        super().__init__(reminder_id, "already_delivered")


class Held(msgspec.Struct, frozen=True):
    """What taking a reminder back at the hub means: its records, who waited for it, or why it cannot be."""

    records: list[Record]
    waited: list[str]
    refusal: str | None = None


def holders(found: Envelope | None, who: str | None, able: Container[str]) -> list[str]:
    """The sessions that have a reminder, and of those that may have it the ones that can be asked.

    A session that is named may have it of its own.
    """
    if found is None or (who is not None and who not in found.deliveries):
        return [] if who is None else [who]
    meant = {name: one for name, one in found.deliveries.items() if who in (None, name)}
    return [name for name, one in meant.items() if one.is_there or (one.given and name in able)]


def at_hub(found: Envelope | None, who: str | None, asked: Iterable[str]) -> Held:
    """What the hub itself takes back; what sessions that are asked have leased is not given again."""
    if found is None:
        return Held([], [], "unknown_reminder_id")
    waited = [
        name for name, one in found.deliveries.items() if one.state == "waiting" and who in (None, name)
    ]
    if who is None or found.to.session == who:
        try:
            told = letters.revoked(found)
        except RevokeError as error:
            return Held(letters.withheld(found, asked), [], error.reason)
        return Held(told, waited)
    return Held(letters.withheld(found, [*waited, *asked]), waited, _REFUSALS[_state(found, who)])


def _state(found: Envelope, who: str) -> State | None:
    return found.deliveries[who].state if who in found.deliveries else None


def status_of(asked: shapes.Revoke, held: Held, reached: list[shapes.Reached]) -> shapes.RevokeStatus:
    """How it went as a whole.

    Raises:
        RevokeError: nothing was taken back, and nothing will be.
        CallerError: the session that is named cannot be asked.
    """
    outcomes = {one.outcome for one in reached}
    if "revoked" in outcomes or (held.refusal is None and held.records):
        return "revoked"
    if "asked" in outcomes:
        return "asked"
    if "already_revoked" in outcomes or held.refusal is None:
        return "already_revoked"
    if held.refusal == "unknown_reminder_id" and asked.session_id is not None:
        if "left" in outcomes:
            raise UnknownSessionError(asked.session_id)
        if "not_able" in outcomes:
            text = "takes nothing back: its host did not register with the capability `withdraw`"
            raise CallerError(f"session {shown(asked.session_id)} {text}")
    keep = [one for one in reached if one.outcome != "unknown_reminder_id"]
    if keep:
        raise DeliveredError(asked.reminder_id, keep)
    raise RevokeError(asked.reminder_id, held.refusal)
