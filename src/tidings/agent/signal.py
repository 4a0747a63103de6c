"""A signal: an event that also calls back, so that nobody keeps a task only to hear of it.

A session's news and a batch's cancellation are signals, and every tool call has one of its own: it costs
nothing until somebody waits. Set it in its event loop's own thread, as any asyncio event; hearers are
called there and then, and must not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Literal

Hear = Callable[[], None]


class Signal:
    """What `asyncio.Event` is, with hearers, which are called each time it is set."""

    __slots__ = ("_hearers", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._hearers: list[Hear] = []

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it, wake those who wait and call those who hear."""
        self._is_set = True
        for hear in tuple(self._hearers):
            hear()

    def clear(self) -> None:
        """Unset it."""
        self._is_set = False

    async def wait(self) -> Literal[True]:
        """Wait until it is set."""
        if self._is_set:
            return True
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self.telling(lambda: None if over.done() else over.set_result(None)):
            await over
        return True

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
