"""How MCP peers are started for the interop tests: our server, the SDK's TypeScript client, other servers.

Every process has the private environment of its `Room`, and every wait a deadline.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.interop.agents import Room, node
from tests.interop.client import DEADLINE, Client
from tests.interop.install import ROOT, installed

DRIVER = Path(__file__).parent / "mcp_client.mjs"
OURS = (sys.executable, "-m", "tests.interop.mcp_server")


def environment(room: Room) -> dict[str, str]:
    """The room's, with our code on Python's path."""
    return room.environment({"PYTHONPATH": str(ROOT)})


def sdk_client(room: Room, mode: str, *target: str) -> Client:
    """The TypeScript SDK's client on a url or a command."""
    package = installed()["@modelcontextprotocol/client"].path
    command = [str(node()), str(DRIVER), str(package), mode, *target]
    return Client(command, env=environment(room), cwd=room.work)


@asynccontextmanager
async def our_server(room: Room, *options: str) -> AsyncIterator[tuple[str, Process]]:
    """Our server over http; gives its url and its process, which must end in order."""
    process = await asyncio.create_subprocess_exec(
        *OURS, "http", *options, stdout=PIPE, env=environment(room), cwd=room.work
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("http"), f"the server did not start: {url!r}"
        yield url, process
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def target(room: Room, transport: str, *options: str) -> AsyncIterator[tuple[str, ...]]:
    """What a client is told to reach our server: a command, or the url of one that runs."""
    if transport == "stdio":
        yield (*OURS, "stdio", *options)
        return
    async with our_server(room, *options) as (url, _):
        yield (url,)


def foreign(package: str, *arguments: str) -> tuple[str, ...]:
    """The command of a foreign server from npm."""
    return (str(node()), str(installed()[package].path / "dist" / "index.js"), *arguments)


@asynccontextmanager
async def listening(
    command: tuple[str, ...], room: Room, more: Mapping[str, str], sign: str
) -> AsyncIterator[None]:
    """A foreign server that runs on its own, from the line on stderr that holds `sign`."""
    process = await asyncio.create_subprocess_exec(
        *command, stderr=PIPE, env={**room.environment(), **more}, cwd=room.work, start_new_session=True
    )
    following: asyncio.Task[None] | None = None
    try:
        assert process.stderr is not None
        async with asyncio.timeout(DEADLINE):
            while sign not in (line := (await process.stderr.readline()).decode()):
                assert line, "it ended before it listened"
        following = asyncio.create_task(_drained(process.stderr))
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if following is not None:
            await following


async def _drained(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass
