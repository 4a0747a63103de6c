"""What an emitter counts, and whom it tells of what was lost. Nothing is dropped silently."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import msgspec

from tidings.mcp.events import Event

logger = logging.getLogger(__name__)


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of an emitter. `sent` counts notifications handed to a transport, per client."""

    emitted: int
    sent: int
    shown: int
    dropped: int
    waiting: int
    streams: int
    connections: int


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A notification that was lost: `where` it waited, and how many were lost before and with it."""

    event: Event
    where: str
    total: int


class Tally:
    """The counters of one emitter. `on_drop` hears of every loss; the log of the 1st, 10th, 100th …"""

    def __init__(self, on_drop: Callable[[Dropped], None] | None = None) -> None:
        self.emitted = 0
        self.sent = 0
        self.shown = 0
        self.dropped = 0
        self._on_drop = on_drop
        self._lock = threading.Lock()

    def lost(self, event: Event, where: str) -> None:
        """Count, log and tell a loss; an `on_drop` that fails is logged and changes nothing."""
        with self._lock:
            self.dropped = total = self.dropped + 1
        if _is_power_of_ten(total):
            logger.warning("dropped %s from %s: %d lost so far", event.method, where, total)
        if self._on_drop is None:
            return
        try:
            self._on_drop(Dropped(event=event, where=where, total=total))
        except Exception:
            logger.exception("on_drop raised")


def _is_power_of_ten(number: int) -> bool:
    while number >= 10 and number % 10 == 0:
        number //= 10
    return number == 1
