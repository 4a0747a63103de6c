"""The agent as a process: lines in, lines out, the end of its stderr, and a stop that comes to an end.

Lines are bounded both ways; one that is too long is skipped and noted. When the process is gone its output
ends too, even if a child of it still holds the pipe. Knows nothing of JSON.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidings.acp.host.failure import AgentDiedError, AgentStartError, BusyError
from tidings.acp.host.notes import Notes
from tidings.bridge.child import LINGER, Child, Pipes, Tail
from tidings.bridge.rpc import LONGEST_LINE
from tidings.core.producers import shown
from tidings.errors import CallerError

UNREAD = 4 * LONGEST_LINE
"""How many bytes may wait for an agent that does not read."""


class AgentProcess(Child):
    """A running agent. Made by `start_process`; whoever starts it stops it."""

    def __init__(self, transport: asyncio.SubprocessTransport, pipes: Pipes, notes: Notes) -> None:
        super().__init__(transport, pipes, Tail(), "tidings.acp.stderr")
        self._notes = notes
        self._buffer = bytearray()
        self._scanned = 0
        self._skipped = 0

    def put(self, line: bytes) -> None:
        """Write a line; `flush` waits until there is room again.

        Raises:
            ConnectionError: the agent is gone.
            BusyError: it has not read for too long.
        """
        if self._pipes.exited.is_set() or self._input.is_closing():
            raise ConnectionError("the agent reads no more")
        if self._input.transport.get_write_buffer_size() + len(line) > UNREAD:
            raise BusyError(f"{UNREAD} bytes wait for the agent, which does not read")
        self._input.write(line)

    async def line(self) -> bytes | None:
        """The next line without its end; None when there will be no more."""
        while True:
            at = self._buffer.find(b"\n", self._scanned)
            if at >= 0:
                line = self._taken(at)
                if line is not None:
                    return line
                continue
            self._scanned = len(self._buffer)
            self._skim()
            data = await self.read()
            if not data:
                return self._rest()
            self._buffer += data

    def _taken(self, at: int) -> bytes | None:
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 1]
        self._scanned = 0
        if self._skipped or len(line) > LONGEST_LINE:
            self._too_long(len(line))
            return None
        return line

    def _rest(self) -> bytes | None:
        line, self._scanned = bytes(self._buffer), 0
        self._buffer.clear()
        if self._skipped:
            self._too_long(len(line))
            return None
        return line or None

    def _skim(self) -> None:
        """Forget the beginning of a line that is too long already."""
        if len(self._buffer) > LONGEST_LINE:
            self._skipped += len(self._buffer)
            self._buffer.clear()
            self._scanned = 0

    def _too_long(self, more: int) -> None:
        size, self._skipped = self._skipped + more, 0
        self._notes.add("long_line", f"a line of {size} bytes was skipped; {LONGEST_LINE} are allowed")

    async def death(self, doing: str, wait: float = 2 * LINGER) -> AgentDiedError:
        """The error that tells how the agent ended; waits a moment for its exit and last words."""
        lines = await self._last_words(wait)
        return AgentDiedError(doing, self.exit_code, "\n".join(lines))

    async def stop(self, grace: float) -> None:
        """Close its input and wait; then ask it to end; then end it. Each step has `grace` seconds."""
        try:
            self._input.close()
            for sign in (None, signal.SIGTERM, signal.SIGKILL):
                if sign is not None:
                    self._signal(sign)
                if await self._exits(grace):
                    return
            self._notes.add("unstoppable", f"process {self.pid} is still there after SIGKILL")
        finally:
            if not self._pipes.exited.is_set():
                self._signal(signal.SIGKILL)
            await self._closed()

    async def _closed(self) -> None:
        self._following.cancel()
        self._transport.close()
        try:
            async with asyncio.timeout(LINGER):
                await self._input.wait_closed()
        except (ConnectionError, TimeoutError):
            self._notes.add("unread_input", "the agent ended before it had read everything")


async def start_process(
    command: Sequence[str], *, cwd: str | Path | None, env: Mapping[str, str] | None, notes: Notes
) -> AgentProcess:
    """Start an agent; `env` is added to our own environment.

    Raises:
        CallerError: `command` is no list of words.
        AgentStartError: the system cannot start it.
    """
    if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
        raise CallerError(
            f"`command` must be a list of words such as ['agent', '--acp']; got {shown(command)}"
        )
    loop = asyncio.get_running_loop()
    try:
        transport, pipes = await loop.subprocess_exec(
            lambda: Pipes(loop),
            *command,
            cwd=None if cwd is None else str(cwd),
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise AgentStartError(
            f"{shown(list(command))} cannot be started in {cwd or os.curdir}: {error}"
        ) from error
    return AgentProcess(transport, pipes, notes)
