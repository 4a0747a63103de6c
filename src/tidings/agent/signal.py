"""A signal: an event that also calls back, so that nobody keeps a task only to hear of it.

A session's news and a batch's cancellation are signals. Set it in its event loop's own thread, as any
asyncio event; hearers are called there and then, and must not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

Hear = Callable[[], None]


class Signal(asyncio.Event):
    """An `asyncio.Event` with hearers, which are called each time it is set."""

    def __init__(self) -> None:
        super().__init__()
        self._hearers: list[Hear] = []

    def set(self) -> None:
        """Set it, wake those who wait and call those who hear."""
        super().set()
        for hear in tuple(self._hearers):
            hear()

    def telling(self, hear: Hear) -> Telling:
        """A block during which `hear` is called whenever the signal is set."""
        return Telling(self._hearers, hear)


class Telling:
    """The block of `Signal.telling`."""

    __slots__ = ("_hear", "_hearers")

    def __init__(self, hearers: list[Hear], hear: Hear) -> None:
        self._hearers = hearers
        self._hear = hear

    def __enter__(self) -> None:
        self._hearers.append(self._hear)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._hearers.remove(self._hear)
