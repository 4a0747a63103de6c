"""The stage of a host test: a hub, a project that is connected to it, and one command line agent.

The hub is a real one, in the room's own HOME; reminders are sent with `tidings remind`, as anybody would.
What happens when is decided by gates of the fake model, never by time. Every wait has a deadline, and what
is left of a process group at the end is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any

import msgspec
import pytest

from tests.interop.agents import Room, tidings
from tests.interop.client import DEADLINE, kill_group, run_command
from tests.interop.hosts.clis import Cli, Side
from tidings.testing.fake_provider import FakeProvider, Gate, Received, Say


def gate() -> Gate:
    """A gate with the patience of a real agent."""
    return Gate(deadline=DEADLINE)


async def asked_for(gate: Gate) -> None:
    """Wait until the model is asked for the answer that `gate` holds back.

    Raises:
        TimeoutError: it took too long.
    """
    async with asyncio.timeout(DEADLINE):
        while not await asyncio.to_thread(gate.reached.wait, 0.1):
            continue


class Running:
    """An agent at work."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._output = asyncio.create_task(process.stdout.read())  # type: ignore[union-attr]

    async def reached(self, gate: Gate) -> None:
        """Wait until the model is asked for the answer that `gate` holds back.

        Raises:
            AssertionError: the agent ended first, or it took too long.
        """
        asked = asyncio.create_task(asked_for(gate))
        await asyncio.wait({asked, self._output}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
            raise AssertionError(f"the agent ended too early: {self._output.result()!r}")
        await asked

    async def end(self) -> str:
        """Wait for the agent's own end; gives what it printed.

        Raises:
            AssertionError: it failed, or took too long.
        """
        async with asyncio.timeout(DEADLINE):
            printed = (await self._output).decode(errors="replace")
            await self._process.wait()
        assert self._process.returncode == 0, printed
        return printed


class Stage:
    """One host, its project and its hub, for one test."""

    def __init__(self, cli: Cli, room: Room, provider: FakeProvider, side: Side) -> None:
        self.cli = cli
        self.room = room
        self.provider = provider
        self.side = side
        self.more = dict(cli.settle(room, provider))
        self.trusting = True
        """Whether the user trusts hooks, where a host asks for that."""

    @cached_property
    def port(self) -> int:
        """A port for a server of the agent's own."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return int(free.getsockname()[1])

    @property
    def requests(self) -> list[Received]:
        """What the model was asked in the main conversation."""
        return self.provider.requests

    async def tidings(self, *arguments: str) -> str:
        """Our own command, in the project's folder; gives what it printed."""
        return await run_command(tidings(*arguments), self.room, self.more)

    async def ask(self, *arguments: str) -> Any:
        """Our own command with `--json`."""
        return msgspec.json.decode(await self.tidings(*arguments, "--json"))

    async def remind(self, body: str, *options: str) -> str:
        """Send a reminder to the sessions of the project; gives its id."""
        work = str(self.room.work)
        answer = await self.ask("remind", body, "--workspace", work, *options)
        return str(answer["reminderId"])

    def needs(self, ability: str) -> None:
        """Skip the test where the host cannot do it."""
        if ability in self.cli.cannot:
            pytest.skip(self.cli.cannot[ability])

    def files(self) -> dict[str, bytes]:
        """The files of the project and of the agent's settings, with what is in them."""
        found = [path for path in sorted(self.room.work.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.room.work)): path.read_bytes() for path in found}

    async def kill_hub(self) -> None:
        """End the hub as a crash would."""
        os.kill((await self.ask("status"))["pid"], signal.SIGKILL)

    async def waiting(self, words: str) -> None:
        """Ask the hub until something with these words is on its way.

        Raises:
            TimeoutError: that did not happen.
        """
        async with asyncio.timeout(DEADLINE):
            while words not in str(await self.ask("pending")):
                continue

    async def known(self) -> None:
        """Ask the hub until it knows a session of the agent's.

        Raises:
            TimeoutError: it did not come to know one.
        """
        async with asyncio.timeout(DEADLINE):
            while not (await self.ask("sessions"))["sessions"]:
                continue

    async def told(self) -> None:
        """Ask the hub until nothing is on its way.

        Raises:
            TimeoutError: something stayed.
        """
        async with asyncio.timeout(DEADLINE):
            while "waiting" in str((await self.ask("pending"))["reminders"]):
                continue

    async def connect(self, *options: str) -> None:
        """`tidings connect`, for this project; an agent that needs no such thing is left alone."""
        if "connect" not in self.cli.cannot:
            await self.tidings("connect", self.cli.host, "--project", *options)

    @asynccontextmanager
    async def hub(self, *options: str) -> AsyncIterator[None]:
        """A hub of its own for the block, and the host connected to it with those options."""
        await self.tidings("up", "--detach", "--port", "0")
        try:
            await self.connect(*options)
            yield
        finally:
            await self.tidings("down")

    @asynccontextmanager
    async def run(self, *command: str) -> AsyncIterator[Running]:
        """The agent with one prompt, or what `command` is."""
        async with self.process(*(command or self.cli.command("Do your part."))) as process:
            yield Running(process)

    @asynccontextmanager
    async def process(
        self, *command: str, stdin: int = DEVNULL, limit: int = 2**16
    ) -> AsyncIterator[Process]:
        """A process in the project's folder; its group ends with the block."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=PIPE,
            stderr=STDOUT,
            env=self.room.environment(self.more),
            cwd=self.room.work,
            limit=limit,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill_group(process.pid)
            await process.wait()

    def step(self, *commands: str, before: Gate | None = None) -> Say:
        """An answer that calls the shell, once for each command."""
        return Say(text="I do it.", calls=tuple(map(self.cli.shell, commands)), before=before)
