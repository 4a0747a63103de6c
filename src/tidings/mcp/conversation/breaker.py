"""When a server is left alone: three timeouts in a row, then a pause that grows, then one try. Pure.

The caller has the clock. Any answer in time, also an error, closes the breaker; a try that times out
opens it again for longer.
"""

from __future__ import annotations

import msgspec

from tidings.errors import CallerError


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """After how many timeouts in a row it opens, and for how many seconds: first, times factor, longest."""

    timeouts: int = 3
    first: float = 30.0
    factor: float = 2.0
    longest: float = 900.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not value > 0:
                raise CallerError(f"patience `{name}` must be a number above 0; got {value!r}")

    def pause(self, times: int) -> float:
        """How long it stays open when it opens for that time in a row."""
        return min(self.first * self.factor ** min(times - 1, 64), self.longest)


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands with one server. `opened` counts the openings since its last answer."""

    row: int = 0
    opened: int = 0
    until: float | None = None
    probing: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the server is left alone, but for one try at a time."""
        return self.until is not None

    def lets_through(self, now: float) -> bool:
        """Whether the server may be asked."""
        return self.until is None or (now >= self.until and not self.probing)


def asked(breaker: Breaker) -> Breaker:
    """The server is being asked; if the breaker is open, this is the one try."""
    return msgspec.structs.replace(breaker, probing=breaker.is_open)


def answered(_breaker: Breaker) -> Breaker:
    """The server answered in time."""
    return Breaker()


def timed_out(breaker: Breaker, now: float, patience: Patience) -> Breaker:
    """The server did not answer in time."""
    row = breaker.row + 1
    if not breaker.probing and row < patience.timeouts:
        return msgspec.structs.replace(breaker, row=row)
    opened = breaker.opened + 1
    return Breaker(row=row, opened=opened, until=now + patience.pause(opened))
