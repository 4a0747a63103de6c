"""The editor's side: our own standard input and output as callbacks of the event loop, with flow control.

Editors hand us pipes. A file, or `/dev/null`, cannot be polled: it is read by a thread and written
directly, so that a recorded conversation can be played with `<` and `>`.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable

FLUSH_SECONDS = 5.0
"""How long the editor may take to read what is left for it at the end."""

UNREAD = 64 * 1024 * 1024
"""Bytes that may wait for an editor that does not read; the agent is held back long before."""

_CHUNK = 256 * 1024
_INPUT, _OUTPUT = 0, 1


class Pauses:
    """Holds a source back while what it feeds is full."""

    def __init__(self) -> None:
        self.source: asyncio.ReadTransport | None = None

    def pause(self) -> None:
        """Stop reading."""
        if self.source is not None and not self.source.is_closing():
            self.source.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self.source is not None and not self.source.is_closing():
            self.source.resume_reading()


class Editor:
    """Standard input and output. `left` is called when the editor closes either, or was given up."""

    def __init__(
        self, left: Callable[[], None], report: Callable[[str], None], unread: int = UNREAD
    ) -> None:
        self._left = left
        self._report = report
        self._unread = unread
        self._input: asyncio.ReadTransport | None = None
        self._reading: asyncio.Task[None] | None = None
        self._output: asyncio.WriteTransport | None = None
        self._outlet: _Outlet | None = None
        self._blocking: dict[int, bool] = {}

    async def open_output(self, pauses: Pauses) -> None:
        """Be ready to write; `pauses` holds back what feeds it."""
        if not can_be_polled(_OUTPUT):
            return
        self._blocking[_OUTPUT] = os.get_blocking(_OUTPUT)
        outlet = self._outlet = _Outlet(pauses, self._left)
        pipe = os.fdopen(os.dup(_OUTPUT), "wb", 0)
        self._output, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: outlet, pipe)

    async def open_input(self, feed: Callable[[bytes], None]) -> asyncio.ReadTransport | None:
        """Read from now on; gives what can be paused."""
        if not can_be_polled(_INPUT):
            self._reading = asyncio.create_task(self._read_unpolled(feed))
            return None
        self._blocking[_INPUT] = os.get_blocking(_INPUT)
        pipe = os.fdopen(os.dup(_INPUT), "rb", 0)
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_read_pipe(lambda: _Inlet(feed, self._left), pipe)
        return self._input

    async def _read_unpolled(self, feed: Callable[[bytes], None]) -> None:
        while chunk := await asyncio.to_thread(os.read, _INPUT, _CHUNK):
            feed(chunk)
        self._left()

    def write(self, data: bytes) -> None:
        """Send the editor some bytes; nobody is there to read them once it has left."""
        if self._outlet is None:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(_OUTPUT, rest) :]
        elif self._output is not None and not self._output.is_closing():
            self._output.write(data)
            if self._output.get_write_buffer_size() > self._unread:
                self._report(f"the editor does not read: {self._unread} bytes wait; giving it up")
                self._output.abort()

    async def flush(self) -> None:
        """Wait until all is written, but not forever."""
        if self._output is None or self._outlet is None:
            return
        self._output.close()
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._outlet.closed.wait()
        except TimeoutError:
            self._output.abort()

    def close(self) -> None:
        """Let go of both, and leave the descriptors as they were: a terminal is shared with others."""
        for transport in (self._input, self._output):
            if transport is not None:
                transport.close()
        if self._reading is not None:
            self._reading.cancel()
        for descriptor, blocking in self._blocking.items():
            os.set_blocking(descriptor, blocking)


class _Inlet(asyncio.Protocol):
    def __init__(self, feed: Callable[[bytes], None], left: Callable[[], None]) -> None:
        self._feed = feed
        self._left = left

    def data_received(self, data: bytes) -> None:
        """Some bytes of the editor's."""
        self._feed(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 the base class decides
        """The editor closed our input."""
        self._left()


class _Outlet(asyncio.Protocol):
    def __init__(self, pauses: Pauses, left: Callable[[], None]) -> None:
        self._pauses = pauses
        self._left = left
        self.closed = asyncio.Event()

    def pause_writing(self) -> None:
        """The editor does not read fast enough."""
        self._pauses.pause()

    def resume_writing(self) -> None:
        """It caught up."""
        self._pauses.resume()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 the base class decides
        """All is written, or nobody reads any more."""
        self.closed.set()
        self._left()


def can_be_polled(descriptor: int) -> bool:
    """Whether the event loop can wait for it."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
