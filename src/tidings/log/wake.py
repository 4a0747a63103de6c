"""Bells: how a commit, in whatever thread, wakes the subscribers of its topics in this process.

A bell carries no record, only the news that there is something to read. Ringing in the
subscriber's own loop is a plain function call; from elsewhere it is one scheduled callback however
often it rings. `follow` listens, the logs ring; news from other processes comes through `watch`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock


class Bell:
    """One subscriber's wake-up, bound to the loop it was made in."""

    __slots__ = ("_event", "_scheduled", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._scheduled = False

    def ring(self, here: asyncio.AbstractEventLoop | None) -> None:
        """Wake the subscriber; `here` is the loop that runs in the calling thread, if any."""
        if here is self.loop:
            self._event.set()
        elif not self._scheduled:
            self._scheduled = True
            self._schedule()

    def hush(self) -> None:
        """Forget earlier rings; called before reading, so that none is lost."""
        self._event.clear()

    async def wait(self) -> None:
        """Wait until it rings."""
        await self._event.wait()

    def _schedule(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self._arrive)
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def _arrive(self) -> None:
        self._scheduled = False
        self._event.set()


class Bells:
    """The bells of one log, by topic; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_topic: dict[str, tuple[Bell, ...]] = {}

    @contextmanager
    def listen(self, topic: str) -> Iterator[Bell]:
        """Hang up a bell for `topic` for as long as the block runs."""
        bell = Bell()
        with self._lock:
            self._by_topic[topic] = (*self._by_topic.get(topic, ()), bell)
        try:
            yield bell
        finally:
            self._remove(topic, bell)

    def ring(self, topics: Iterable[str]) -> None:
        """Wake the subscribers of `topics`."""
        if self._by_topic:
            here = _running_loop()
            for topic in set(topics):
                for bell in self._by_topic.get(topic, ()):
                    bell.ring(here)

    def ring_all(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Wake every subscriber, or only those of `loop`."""
        here = _running_loop()
        with self._lock:
            bells = [bell for group in self._by_topic.values() for bell in group]
        for bell in bells:
            if loop is None or bell.loop is loop:
                bell.ring(here)

    def __len__(self) -> int:
        return sum(map(len, self._by_topic.values()))

    def _remove(self, topic: str, bell: Bell) -> None:
        with self._lock:
            left = tuple(other for other in self._by_topic[topic] if other is not bell)
            if left:
                self._by_topic[topic] = left
            else:
                del self._by_topic[topic]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
