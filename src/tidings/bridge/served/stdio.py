"""Standard input and output as a private pair of pipes, read and written by a daemon thread each.

Threads, because making a shared terminal or file non-blocking breaks whoever else writes to it, and because
a file as input is no pipe. While a protocol has them, what this process prints goes to stderr and whatever
reads standard input finds its end. Called by the commands `tidings acp` and `tidings bridge`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import TypeAlias

CHUNK = 1 << 16
CHUNKS = 4
"""How many chunks are read ahead of the protocol."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What asks a program to end."""

_Job: TypeAlias = tuple[bytes, "asyncio.Future[None]"]


class Stdio:
    """Bytes from one descriptor and to another; `read` gives b"" at the end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue(CHUNKS)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        for work in (self._read_all, self._write_all):
            threading.Thread(target=work, name="tidings-stdio", daemon=True).start()

    async def read(self) -> bytes:
        """The next chunk."""
        return await self._chunks.get()

    def end(self) -> None:
        """Read no more, as if the other side had closed."""
        while not self._chunks.empty():
            self._chunks.get_nowait()
        self._chunks.put_nowait(b"")

    async def write(self, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            OSError: nobody reads any more.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self._jobs.put((data, done))
        await done

    def _read_all(self) -> None:
        chunk = b"-"
        while chunk and not self._loop.is_closed():
            try:
                chunk = os.read(self._source, CHUNK)
            except OSError:  # the other side was torn down: the end, as if it had closed
                chunk = b""
            with contextlib.suppress(RuntimeError, CancelledError):  # the loop has ended: nobody listens
                asyncio.run_coroutine_threadsafe(self._chunks.put(chunk), self._loop).result()

    def _write_all(self) -> None:
        while True:
            data, done = self._jobs.get()
            error: OSError | None = None
            try:
                _write(self._sink, data)
            except OSError as failed:
                error = failed
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                self._loop.call_soon_threadsafe(_settle, done, error)


def _write(sink: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sink, rest) :]


def _settle(done: asyncio.Future[None], error: OSError | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def asking_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask this process to end: not a hangup that whoever started it told it to ignore."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return tuple(one for one in SIGNALS if not (ignored and one is signal.SIGHUP))


class Signals:
    """The first signal that asks for an end calls `end`; the next one works as if we were not here."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.number: int | None = None
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._taken = asking_signals()
        for number in self._taken:
            self._loop.add_signal_handler(number, self._came, number)

    def _came(self, number: int) -> None:
        self.number = number
        for each in self._taken:
            self._loop.remove_signal_handler(each)
        self._end()


@contextlib.contextmanager
def private_stdio() -> Iterator[tuple[int, int]]:
    """Descriptors of the real standard input and output, kept from everybody else for the block."""
    source, sink, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
