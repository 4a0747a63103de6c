"""The agent as a child process: its bytes as callbacks, and its end.

An agent whose input was closed is given time, then asked to end, then made to.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence

from tidings.acp.proxy.pipes import Pauses

GRACE_SECONDS = 10.0
"""How long an agent may take to end by itself after its input was closed."""

KILL_SECONDS = 5.0
"""How long it may take after SIGTERM, before SIGKILL."""

LAST_WORDS_SECONDS = 5.0
"""How long its output is read after it ended, should another process hold it open."""


class Child(asyncio.SubprocessProtocol):
    """A running agent. `feed` gets its output, `ended` is called once when there will be no more."""

    feed: Callable[[bytes], None]

    def __init__(self, pauses: Pauses, ended: Callable[[], None]) -> None:
        self._pauses = pauses
        self._ended = ended
        self.transport: asyncio.SubprocessTransport | None = None
        self.silent = asyncio.Event()
        self.exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 only its output is piped
        """Some bytes of its output."""
        self.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        """It closed its output, or no longer reads."""
        if fd == 1 and not self.silent.is_set():
            self.silent.set()
            self._ended()

    def process_exited(self) -> None:
        """It ended; its last words may still be in the pipe."""
        self.exited.set()
        asyncio.get_running_loop().call_later(LAST_WORDS_SECONDS, self.pipe_connection_lost, 1, None)

    def pause_writing(self) -> None:
        """It does not read fast enough."""
        self._pauses.pause()

    def resume_writing(self) -> None:
        """It caught up."""
        self._pauses.resume()

    def write(self, data: bytes) -> None:
        """Send it some bytes; what it no longer reads is dropped, it is about to end."""
        pipe = self._input()
        if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
            pipe.write(data)

    def close_input(self) -> None:
        """Let it see the end of its input."""
        pipe = self._input()
        if pipe is not None:
            pipe.close()

    def _input(self) -> asyncio.BaseTransport | None:
        return None if self.transport is None else self.transport.get_pipe_transport(0)

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Make it end."""
        self._signal(signal.SIGKILL)

    async def end(self, grace: float) -> int:
        """Wait for its end; after `grace` seconds it is asked to, then made to. Gives its exit code."""
        if not await self._within(grace):
            self.terminate()
            if not await self._within(KILL_SECONDS):
                self.kill()
                await self.exited.wait()
        await self.silent.wait()
        assert self.transport is not None
        code = self.transport.get_returncode() or 0
        self.transport.close()
        return 128 - code if code < 0 else code

    async def _within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> None:
        if self.transport is None:
            return
        try:
            self.transport.send_signal(number)
        except ProcessLookupError:
            return


async def start(
    command: Sequence[str], environ: Mapping[str, str], child: Child
) -> asyncio.ReadTransport | None:
    """Start the agent; its errors go where ours go. Gives its output, which can be paused.

    Raises:
        CallerError: it cannot be started.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.subprocess_exec(
            lambda: child, *command, stdin=-1, stdout=-1, stderr=None, env=dict(environ)
        )
    except OSError as error:
        from tidings.errors import CallerError  # only a failure pays for loading it

        raise CallerError(f"the agent {command[0]!r} cannot be started: {error.strerror}") from error
    child.transport = transport
    output = transport.get_pipe_transport(1)
    return output if isinstance(output, asyncio.ReadTransport) else None
