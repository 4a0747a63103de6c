"""News of a session, for those who wait for it: an event per waiting loop, set from any thread.

It carries nothing: whoever is woken looks at the session. `Session` wakes, `run.py` and `idle.py` wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class News:
    """Who waits for a session, in whatever event loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    @property
    def awaited(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def wake(self) -> None:
        """Set the event of everybody who waits."""
        if not self._waiting:
            return
        with self._lock:
            waiting = list(self._waiting.items())
        for event, loop in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever something arrives, while the block runs."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
        try:
            yield event
        finally:
            with self._lock:
                del self._waiting[event]
