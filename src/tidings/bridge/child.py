"""A child process that speaks over its pipes: its streams, its exit, its last words on stderr.

The exit is noted apart from the end of the pipes: when the process is gone its output ends too, even if a
child of its own still holds the pipe. The ACP host and the MCP host start theirs with this.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import SubprocessStreamProtocol
from contextlib import suppress

CHUNK = 1 << 16
LINGER = 1.0
"""How long the output of a process that is gone is still read, in seconds."""


class Pipes(SubprocessStreamProtocol):
    """asyncio's own streams, and the moment of exit apart from the end of the pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=CHUNK, loop=loop)
        self.exited = asyncio.Event()
        self._home = loop
        self._over = False

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Hand on what came, unless the output is over already."""
        if not self._over:
            super().pipe_data_received(fd, data)

    def process_exited(self) -> None:
        """Note the exit; what is left in the pipes is read for a moment."""
        super().process_exited()
        self.exited.set()
        self._home.call_later(LINGER, self._finish)

    def _finish(self) -> None:
        self._over = True
        for stream in (self.stdout, self.stderr):
            if stream is not None and not stream.at_eof():
                stream.feed_eof()


class Tail:
    """The end of what a process writes to stderr: its last words."""

    def __init__(self, most_bytes: int = 1 << 14, most_lines: int = 10) -> None:
        self._kept = b""
        self._most_bytes = most_bytes
        self._most_lines = most_lines

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Read until the end."""
        while data := await stream.read(CHUNK):
            self._kept = (self._kept + data)[-self._most_bytes :]

    def lines(self) -> list[str]:
        """The last lines."""
        return self._kept.decode(errors="replace").strip().splitlines()[-self._most_lines :]


class Child:
    """A running child that leads a process group of its own; whoever starts it stops it."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, pipes: Pipes, tail: Tail, following: str
    ) -> None:
        assert pipes.stdin is not None
        assert pipes.stdout is not None
        assert pipes.stderr is not None
        self._transport = transport
        self._pipes = pipes
        self._input = pipes.stdin
        self._output = pipes.stdout
        self._tail = tail
        self._following = asyncio.create_task(tail.follow(pipes.stderr), name=following)
        self.pid = transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs, minus the signal when one ended it."""
        return self._transport.get_returncode()

    async def read(self) -> bytes:
        """The next bytes of its output; none when there will be no more."""
        try:
            return await self._output.read(CHUNK)
        except ConnectionError:
            return b""

    async def flush(self) -> None:
        """Wait until it has read enough of what was put.

        Raises:
            ConnectionError: it is gone.
        """
        await self._input.drain()

    async def _last_words(self, wait: float) -> list[str]:
        """What it said last on stderr; waits a moment for its exit and for that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._pipes.exited.wait()
                await asyncio.shield(self._following)
        return self._tail.lines()

    async def _exits(self, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                await self._pipes.exited.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, sign: signal.Signals) -> None:
        """To it and all that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, sign)
