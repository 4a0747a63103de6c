"""News of a session, for those who wait for it: a signal per waiting loop, set from any thread.

It carries nothing: whoever is woken looks at the session. `Session` wakes, `run.py` and `idle.py` wait.
Many may listen, but one at a time may work: two would write into each other's conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from tidings.agent.signal import Signal
from tidings.errors import CallerError


class News:
    """Who waits for a session, in whatever event loop, and who works in it."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._lock = Lock()
        self._waiting: dict[Signal, asyncio.AbstractEventLoop] = {}
        self._worker: Signal | None = None

    @property
    def at_work(self) -> bool:
        """Whether somebody works, in an event loop that has not been closed under it."""
        loop = None if self._worker is None else self._waiting.get(self._worker)
        return loop is not None and not loop.is_closed()

    def wake(self) -> None:
        """Set the signal of everybody who waits."""
        if not self._waiting:
            return
        with self._lock:
            waiting = list(self._waiting.items())
        for news, loop in waiting:
            with suppress(RuntimeError):  # the event loop has closed: nobody waits there any more
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

    @contextmanager
    def working(self) -> Iterator[Signal]:
        """The same, for whoever works in the session meanwhile.

        Raises:
            CallerError: somebody else does.
        """
        with self.listening() as news:
            with self._lock:
                if self.at_work:
                    raise CallerError(
                        f"a loop works in session {self._session_id!r} already; wait for its end"
                    )
                self._worker = news
            try:
                yield news
            finally:
                with self._lock:
                    self._worker = None if self._worker is news else self._worker
