"""What waits to be sent on one stream: bounded, first come first served, newest per key (decision 28).

A frame with a key takes the place of a waiting one with that key and goes to the end, as a newer reminder
replaces an older pending one. When the queue is full the oldest frame leaves; the caller writes that down.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

import msgspec

from tidings.errors import CallerError

T = TypeVar("T")

CAPACITY = 1_000
"""How many frames wait on one stream."""


class Pushed(msgspec.Struct, Generic[T], frozen=True):
    """What a push cost: the frame it replaced, and the frame that had to leave."""

    replaced: T | None = None
    dropped: T | None = None


class Queue(Generic[T]):
    """The waiting frames of one stream. Not thread-safe: its stream's loop owns it."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        if capacity < 1:
            raise CallerError(f"`capacity` must be 1 or more; got {capacity!r}")
        self._frames: OrderedDict[object, T] = OrderedDict()
        self._capacity = capacity
        self._pushed = 0
        self.replaced = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._frames)

    def push(self, frame: T, key: str | None = None) -> Pushed[T]:
        """Put `frame` at the end; a waiting one with `key` leaves."""
        self._pushed += 1
        replaced = self._frames.pop(key, None) if key is not None else None
        self.replaced += replaced is not None
        dropped: T | None = None
        if len(self._frames) >= self._capacity:
            _, dropped = self._frames.popitem(last=False)
            self.dropped += 1
        self._frames[self._pushed if key is None else key] = frame
        return Pushed(replaced, dropped)

    def pop(self) -> T | None:
        """The frame that waited longest; None when none does."""
        return self._frames.popitem(last=False)[1] if self._frames else None

    def take(self) -> list[T]:
        """Every frame, in order; nothing waits any more."""
        frames = list(self._frames.values())
        self._frames.clear()
        return frames
