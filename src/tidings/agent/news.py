"""News of a session, for those who wait for it: a signal per waiting loop, set from any thread.

It carries nothing: whoever is woken looks at the session. `Session` wakes, `run.py` and `idle.py` wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from tidings.agent.signal import Signal


class News:
    """Who waits for a session, in whatever event loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[Signal, asyncio.AbstractEventLoop] = {}

    @property
    def awaited(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def wake(self) -> None:
        """Set the signal of everybody who waits."""
        if not self._waiting:
            return
        with self._lock:
            waiting = list(self._waiting.items())
        for news, loop in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.set)

    @contextmanager
    def listening(self) -> Iterator[Signal]:
        """A signal that is set whenever something arrives, while the block runs."""
        news = Signal()
        with self._lock:
            self._waiting[news] = asyncio.get_running_loop()
        try:
            yield news
        finally:
            with self._lock:
                del self._waiting[news]
