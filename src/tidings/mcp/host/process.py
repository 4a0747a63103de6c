"""A server as a process: bytes in and out, the end of its stderr, and a stop that comes to an end.

It leads a process group of its own and gets only the harmless part of our environment, besides what its
config names. When it is gone its output ends too, even if a child still holds the pipe. Knows no JSON.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from tidings.bridge.child import LINGER, Child, Pipes, Tail
from tidings.bridge.rpc import LONGEST_LINE
from tidings.errors import CallerError
from tidings.mcp.config import Server

UNREAD = LONGEST_LINE
"""How many bytes may wait for a server that does not read; then it counts as gone."""

STDERR_BYTES = 1 << 13
STDERR_LINES = 5

INHERITED = (
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TIDINGS_MEMORY", "TMPDIR", "TZ", "USER",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
)  # fmt: skip
"""The variables that a server gets without being asked for: none of them holds a secret."""


class StartError(CallerError):
    """The system cannot start a server; trying again would not help."""


class ServerProcess(Child):
    """A running server. Made by `start`; whoever starts it stops it."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: Pipes) -> None:
        super().__init__(transport, pipes, Tail(STDERR_BYTES, STDERR_LINES), "tidings.mcp.stderr")

    def put(self, line: bytes) -> None:
        """Write a line; `flush` waits until there is room again.

        Raises:
            ConnectionError: the server is gone, or has not read for too long.
        """
        if self._pipes.exited.is_set() or self._input.is_closing():
            raise ConnectionError("the server reads no more")
        if self._input.transport.get_write_buffer_size() > UNREAD:
            raise ConnectionError(f"{UNREAD} bytes wait for the server, which does not read")
        self._input.write(line)

    async def obituary(self) -> str:
        """How it ended, with its last words; waits a moment for them."""
        lines = await self._last_words(2 * LINGER)
        code = self.exit_code
        how = "its output ended" if code is None else f"it exited with code {code}"
        return f"{how}: {' / '.join(lines)}" if lines else how

    async def stop(self, grace: float) -> None:
        """Close its input and wait; then ask it to end; then end it. Each step has `grace` seconds."""
        try:
            self._input.close()
            for sign in (None, signal.SIGTERM, signal.SIGKILL):
                if sign is not None:
                    self._signal(sign)
                if await self._is_gone(grace):
                    break
        finally:
            self._signal(signal.SIGKILL)
            self._following.cancel()
            self._transport.close()

    async def _is_gone(self, grace: float) -> bool:
        """Whether it exits in time; what it still writes is thrown away, so that it can."""
        draining = asyncio.create_task(self._drain())
        try:
            return await self._exits(grace)
        finally:
            draining.cancel()

    async def _drain(self) -> None:
        with suppress(RuntimeError):  # somebody still reads, which serves as well
            while await self.read():
                pass


async def start(server: Server) -> ServerProcess:
    """Start the server's command.

    Raises:
        StartError: the system cannot.
    """
    loop = asyncio.get_running_loop()
    ours = {name: os.environ[name] for name in INHERITED if name in os.environ}
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: Pipes(loop),
            *server.command,
            cwd=server.cwd,
            env={**ours, **server.env},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise StartError(f"{server.command[0]!r} cannot be started: {error}") from error
    return ServerProcess(transport, pipes)
