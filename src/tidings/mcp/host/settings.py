"""How long a host waits, how it comes back after a loss, and whose clock it looks at.

The way back is a schedule without chance: a server that is lost at once again and again is asked less and
less often, and in the end no more. Tests bring a clock of their own.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

import msgspec

from tidings.errors import CallerError


class Deadlines(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: to connect, of that for the question which era, for a listing, and to take leave.

    `login` is what a connection may take instead where a person may have to log in first.
    """

    connect: float = 20.0
    login: float = 300.0
    probe: float = 5.0
    request: float = 30.0
    stop: float = 2.0

    def __post_init__(self) -> None:
        _positive(self, "deadline")

    def to_connect(self, logging_in: bool) -> float:
        """How long connecting may take."""
        return max(self.connect, self.login) if logging_in else self.connect


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses that grow from `first` by `factor` to `longest`; after `attempts` losses in a row it gives up.

    A connection that stayed for `steady` seconds begins a new row.
    """

    first: float = 0.5
    factor: float = 2.0
    longest: float = 60.0
    attempts: int = 10
    steady: float = 60.0

    def __post_init__(self) -> None:
        _positive(self, "backoff")

    def pause(self, losses: int) -> float | None:
        """How long to wait after so many losses in a row; None: no more."""
        if losses >= self.attempts:
            return None
        grown = self.first * self.factor ** min(losses - 1, 64)
        return min(grown, self.longest)


class Clock(Protocol):
    """What a host asks for the time, and waits with."""

    def now(self) -> float:
        """Seconds of a steady clock."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SteadyClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait in the running loop."""
        await asyncio.sleep(seconds)


def _positive(value: msgspec.Struct, kind: str) -> None:
    for name in value.__struct_fields__:
        number = getattr(value, name)
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not number > 0:
            raise CallerError(f"{kind} `{name}` must be a number above 0; got {number!r}")
