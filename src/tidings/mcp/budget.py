"""How much one server may say: reminders and bytes per minute, with bursts. Pure: the caller has the clock.

A server that says more is not cut off: what goes beyond its budget is dropped and recorded, once per quiet
spell, with a count, so that a flood does not become a flood of records (seed 000, open question 6).
"""

from __future__ import annotations

import msgspec

from tidings.errors import CallerError

LARGEST_FRAME = 1024 * 1024
"""Bytes of a notification that is looked at; a larger one is dropped unread."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What a server may send. A burst of `per_minute` may come at once."""

    per_minute: int = 60
    bytes_per_minute: int = 256 * 1024

    def __post_init__(self) -> None:
        for name in ("per_minute", "bytes_per_minute"):
            value = getattr(self, name)
            if isinstance(value, bool) or value < 1:
                raise CallerError(f"budget `{name}` must be 1 or more; got {value!r}")


class Verdict(msgspec.Struct, frozen=True):
    """Whether one reminder fits. `dropped` counts what was refused before it and not yet told."""

    fits: bool
    dropped: int = 0


class Meter:
    """What one server has left of its budget."""

    def __init__(self, budget: Budget, now: float) -> None:
        self.budget = budget
        self._count = float(budget.per_minute)
        self._bytes = float(budget.bytes_per_minute)
        self._at = now
        self.dropped = 0
        self._untold = 0

    def spend(self, size: int, now: float) -> Verdict:
        """Ask for one reminder of `size` bytes; the first after a flood tells how many were refused."""
        self._refill(now)
        if self._count < 1 or self._bytes < size:
            self.dropped += 1
            self._untold += 1
            return Verdict(False)
        self._count -= 1
        self._bytes -= size
        told, self._untold = self._untold, 0
        return Verdict(True, told)

    @property
    def first_refused(self) -> bool:
        """Whether the last refusal was the first of its spell: the one to record at once."""
        return self._untold == 1

    def _refill(self, now: float) -> None:
        passed = max(now - self._at, 0.0) / 60
        self._at = now
        self._count = min(self._count + passed * self.budget.per_minute, self.budget.per_minute)
        self._bytes = min(self._bytes + passed * self.budget.bytes_per_minute, self.budget.bytes_per_minute)
