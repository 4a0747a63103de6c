"""What of a server's words was dropped, by reason: a flood writes two records and not a million.

The first of a spell is told at once; the rest is told as a number when the spell ends, which is when
something of this server is accepted, or when it is gone. The `count`s of the records add up to all that was
dropped.
"""

from __future__ import annotations

from collections import Counter

from tidings.core.records import Record, record

REASONS: dict[str, str] = {
    "undeclared": "the server does not advertise reminders",
    "unconnected": "the connection ended before it was open",
    "other_stream": "it was tagged for another subscription or session",
    "too_large": "the message is larger than a host reads",
    "unreadable": "the line is no JSON-RPC message",
    "requests": "the server asks too many things at once",
    "replaced": "a newer one with its key came before it was looked at",
    "intake_full": "more came than could be looked at",
    "budget": "the server is over its budget",
    "invalid": "it is no valid reminder",
    "repeated": "its id was delivered or taken back before",
    "duplicate_id": "its id waits with other content",
    "mailbox_full": "the session's mailbox is full",
    "failed": "taking it in failed; the log of the program says why",
}
"""Each reason of a `dropped` record that a host writes, and what it means."""


class Tally:
    """The dropped words of one server."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.total: Counter[str] = Counter()
        self._spell: Counter[str] = Counter()

    def drop(self, reason: str, reminder_id: str | None = None, **more: object) -> Record | None:
        """Count one; gives the record if it is the first of its spell."""
        self.total[reason] += 1
        self._spell[reason] += 1
        return self._record(reason, 1, reminder_id, **more) if self._spell[reason] == 1 else None

    def tell(self) -> list[Record]:
        """End the spell: what was dropped besides what was told."""
        left = [self._record(reason, count - 1) for reason, count in self._spell.items() if count > 1]
        self._spell.clear()
        return left

    def _record(self, reason: str, count: int, reminder_id: str | None = None, **more: object) -> Record:
        said = more.pop("detail", None) or REASONS[reason]
        return record(
            "dropped",
            reminder_id=reminder_id,
            reason=reason,
            detail=said,
            origin=self.origin,
            count=count,
            **more,
        )
