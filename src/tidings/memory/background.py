"""Writes that nobody waits for: one thread, one bounded queue, and a count of what was dropped or failed.

An answer must not wait for a disk; what it leaves to be written goes through here. When the queue is full
the newest is dropped and counted: a count that is missing does no harm. Called by the server.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from queue import Empty, Full, Queue
from threading import Thread

MOST_WAITING = 256
CLOSING_SECONDS = 5.0

_logger = logging.getLogger("tidings.memory")


class Background:
    """Does one thing after the other, in the order it was asked; starts when it is first asked."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._queue: Queue[Callable[[], object] | None] = Queue(most)
        self._thread: Thread | None = None
        self.counts: Counter[str] = Counter()
        """How many calls were done, dropped and failed."""

    def submit(self, call: Callable[[], object]) -> bool:
        """Queue a call; False when there is no room, and it is dropped."""
        try:
            self._queue.put_nowait(call)
        except Full:
            self.counts["dropped"] += 1
            _logger.warning("too much waits to be written; something seen was not remembered")
            return False
        if self._thread is None:
            self._thread = Thread(target=self._run, name="tidings-memory-writer", daemon=True)
            self._thread.start()
        return True

    def close(self, seconds: float = CLOSING_SECONDS) -> bool:
        """Finish what waits, at most for `seconds`; says whether all was done."""
        if self._thread is None:
            return True
        try:
            self._queue.put(None, timeout=seconds)
        except Full:
            return False
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                call = self._queue.get(timeout=60)
            except Empty:
                continue
            if call is None:
                return
            try:
                call()
                self.counts["done"] += 1
            except Exception:
                self.counts["failed"] += 1
                _logger.exception("something was not written to the memory")
