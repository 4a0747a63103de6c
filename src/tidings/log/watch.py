"""Watching for other processes: one watch per event loop that has subscribers.

A watch hears nudges on a socket and, as a safety net, asks SQLite every few hundredths of a second
whether anyone else committed; both ring the bells of its loop. Where no socket can be made, polling
is all there is. It exists from the loop's first subscriber to its last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidings.errors import LogError
from tidings.log.nudge import Inbox

_logger = logging.getLogger(__name__)


class Watch:
    """One loop's ears; counts its subscribers."""

    def __init__(
        self,
        directory: Path,
        version: Callable[[], int],
        ring: Callable[[asyncio.AbstractEventLoop], None],
        interval: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._version = version
        self._ring = ring
        self._interval = interval
        self._last = version()
        self._inbox = _inbox_or_none(directory)
        if self._inbox is not None:
            self._loop.add_reader(self._inbox.socket, self._hear)
        self._timer = self._loop.call_later(interval, self._poll)
        self.subscribers = 0

    @property
    def address(self) -> str | None:
        """The path of the socket, for the log's own nudges to skip."""
        return None if self._inbox is None else str(self._inbox.path)

    def close(self) -> None:
        """Stop listening; called in its own loop."""
        self._timer.cancel()
        if self._inbox is not None:
            self._loop.remove_reader(self._inbox.socket)
            self._inbox.close()

    def _hear(self) -> None:
        if self._inbox is not None:
            self._inbox.drain()
        self._ring(self._loop)

    def _poll(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._poll)
        if self._changed():
            self._ring(self._loop)

    def _changed(self) -> bool:
        """Ask SQLite; when it cannot answer, wake the subscribers: they will meet the error."""
        try:
            version = self._version()
        except LogError:
            return True
        changed, self._last = version != self._last, version
        return changed


class Watches:
    """All watches of one log."""

    def __init__(self, make: Callable[[], Watch]) -> None:
        self._make = make
        self._by_loop: dict[asyncio.AbstractEventLoop, Watch] = {}
        self._addresses: frozenset[str] = frozenset()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keep the running loop's watch alive for as long as the block runs."""
        loop = asyncio.get_running_loop()
        watch = self._by_loop.get(loop)
        if watch is None:
            watch = self._by_loop[loop] = self._make()
            self._note_addresses()
        watch.subscribers += 1
        try:
            yield
        finally:
            watch.subscribers -= 1
            if watch.subscribers == 0:
                del self._by_loop[loop]
                self._note_addresses()
                watch.close()

    def is_own(self, address: str) -> bool:
        """Whether a socket belongs to this log, whose subscribers have been rung already."""
        return address in self._addresses

    def __len__(self) -> int:
        return len(self._by_loop)

    def _note_addresses(self) -> None:
        watches = tuple(self._by_loop.values())
        self._addresses = frozenset(watch.address for watch in watches if watch.address)


def _inbox_or_none(directory: Path) -> Inbox | None:
    try:
        return Inbox(directory)
    except OSError as error:
        _logger.info("no nudges between processes, polling only: %s", error)
        return None
