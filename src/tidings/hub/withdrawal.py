"""A withdrawal: the hub asks one session to take back what it already has. Pure.

Either a reminder that is queued there (`revoke`), or all that match, queued and pending (`clear`). Deciding
gives records; `evolve` turns a withdrawal and a record into the next, live and when the log is replayed. It
is asked, then answered by the session, or it lapses when its time is over or the session leaves. An answer
counts also when it comes late: what happened in the session did. `withdrawing.py` asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from tidings.bridge.shapes import Wire
from tidings.core.lifecycle import Selector
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.errors import CallerError

ASKED = "hub.withdrawal.asked"
ANSWERED = "hub.withdrawal.answered"
LAPSED = "hub.withdrawal.lapsed"

Revoked: TypeAlias = Literal["revoked", "already_revoked", "already_delivered", "unknown_reminder_id"]
Result: TypeAlias = Literal[
    "revoked", "already_revoked", "already_delivered", "unknown_reminder_id", "cleared", "refused"
]
Lapse: TypeAlias = Literal["unanswered", "session_left", "not_able"]


class Withdrawal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a session is asked to take back, until when, and what it answered; one of the two is given."""

    withdrawal_id: str
    session_id: str
    asked_at_ms: int
    until_ms: int
    revoke: str | None = None
    clear: Selector | None = None
    lapsed: Lapse | None = None
    result: Result | None = None
    removed_count: int = 0

    @property
    def open(self) -> bool:
        """Whether the session is still to answer."""
        return self.result is None and self.lapsed is None

    def same(self, other: Withdrawal) -> bool:
        """Whether both ask the same of the same session."""
        mine = (self.session_id, self.revoke, self.clear)
        return mine == (other.session_id, other.revoke, other.clear)


class Chosen(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """Which reminders to clear: all that is given matches."""

    id: str | None = None
    tag: str | None = None
    dedupe_key: str | None = None


class WithdrawalRow(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """What to take back in the session, and until when to answer: `revoke` a queued one, or `clear`."""

    withdrawal_id: str
    until_ms: int
    revoke: str | None = None
    clear: Chosen | None = None


def asked(withdrawal: Withdrawal) -> Record:
    """The record of a new one."""
    return Record(ASKED, msgspec.to_builtins(withdrawal))


def answered(withdrawal: Withdrawal, result: Result, removed_count: int) -> list[Record]:
    """The record of what the session did; none if it said so before.

    Raises:
        CallerError: a result that this question cannot have.
    """
    known = (*(get_args(Revoked) if withdrawal.revoke is not None else ("cleared",)), "refused")
    if result not in known:
        raise CallerError(f"`result` is {result!r}; answer this withdrawal with {', '.join(known)}")
    if withdrawal.result is not None:
        return []
    count = removed_count if result == "cleared" else int(result == "revoked")
    late = withdrawal.lapsed is not None
    told: Payload = {"result": result, "removed_count": count, "late": late}
    return [Record(ANSWERED, {**_about(withdrawal), **told})]


def lapsed(withdrawal: Withdrawal, reason: Lapse) -> list[Record]:
    """The record that nobody waits for its answer any more; none if it is over."""
    return [Record(LAPSED, {**_about(withdrawal), "reason": reason})] if withdrawal.open else []


def opened(payload: Mapping[str, object]) -> Withdrawal:
    """The withdrawal of an `asked` record."""
    return msgspec.convert(payload, Withdrawal)


def evolve(withdrawal: Withdrawal, record: Record) -> Withdrawal:
    """`withdrawal` after one of its records."""
    payload = record.payload
    if record.kind == LAPSED:
        return replace(withdrawal, lapsed=msgspec.convert(payload["reason"], Lapse))
    if record.kind == ANSWERED:
        count = msgspec.convert(payload["removed_count"], int)
        return replace(withdrawal, result=msgspec.convert(payload["result"], Result), removed_count=count)
    return withdrawal


def row(withdrawal: Withdrawal) -> WithdrawalRow:
    """A withdrawal as its host gets it."""
    chosen = None if withdrawal.clear is None else Chosen(**msgspec.structs.asdict(withdrawal.clear))
    return WithdrawalRow(
        withdrawal_id=withdrawal.withdrawal_id,
        until_ms=withdrawal.until_ms,
        revoke=withdrawal.revoke,
        clear=chosen,
    )


def _about(withdrawal: Withdrawal) -> Payload:
    return {"withdrawal_id": withdrawal.withdrawal_id, "session_id": withdrawal.session_id}
