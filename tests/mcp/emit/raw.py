"""A client that sends and reads JSON lines, and knows nothing of the SDK: frames are seen as they are."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tidings.mcp.emit.reminders import Reminders
from tidings.mcp.emit.serve import serve_pipe
from tidings.mcp.names import ACKNOWLEDGED, CLIENT_META, EXTENSION, LEGACY, MODERN, VERSION_META
from tidings.mcp.stdio import open_pipe

ROOT = Path(__file__).parents[3]
DEADLINE = 30.0
LIMIT = 1 << 24

Frame = dict[str, Any]


class Raw:
    """One end of a stdio connection. `seen` holds every frame that was read."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.seen: list[Frame] = []
        self.source: asyncio.BaseTransport | None = None

    async def send(self, frame: Frame | bytes) -> None:
        line = frame if isinstance(frame, bytes) else json.dumps({"jsonrpc": "2.0", **frame}).encode()
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def line(self) -> str:
        async with asyncio.timeout(DEADLINE):
            return (await self._reader.readline()).decode().strip()

    async def next(self) -> Frame:
        line = await self.line()
        if not line:
            raise EOFError
        frame: Frame = json.loads(line)
        assert frame.pop("jsonrpc") == "2.0"
        self.seen.append(frame)
        return frame

    async def until(self, **wanted: Any) -> Frame:
        """Read on to the first frame that has these members."""
        while True:
            frame = await self.next()
            if all(frame.get(name) == value and name in frame for name, value in wanted.items()):
                return frame

    async def rest(self) -> list[Frame]:
        """Everything up to the end."""
        found = []
        try:
            while True:
                found.append(await self.next())
        except EOFError:
            return found

    async def ask(self, id: int | str, method: str, params: Frame | None = None) -> Frame:
        await self.send({"id": id, "method": method, "params": params or {}})
        return await self.until(id=id)

    async def modern(self, id: int | str, method: str, params: Frame | None = None, **more: Any) -> None:
        """Send a request of the stateless era; does not wait."""
        await self.send(
            {"id": id, "method": method, "params": {**(params or {}), "_meta": envelope(**more)}}
        )

    async def handshake(self, *, declare: bool = True) -> Frame:
        """The opening of the handshake era; gives the result of `initialize`."""
        capabilities = {"extensions": {EXTENSION: {}}} if declare else {}
        params = {
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "raw", "version": "1"},
        }
        frame = await self.ask("init", "initialize", params)
        await self.send({"method": "notifications/initialized"})
        result: Frame = frame["result"]
        return result

    async def listen(self, id: int | str, notifications: Frame, **more: Any) -> Frame:
        """Open a stream; gives the first frame that concerns it."""
        await self.modern(id, "subscriptions/listen", {"notifications": notifications}, **more)
        while True:
            frame = await self.next()
            if frame.get("id") == id or frame.get("method") == ACKNOWLEDGED:
                return frame

    async def tool(self, id: int | str, name: str, *, modern: bool, **arguments: Any) -> Frame:
        """Call a tool and wait for its answer."""
        params = {"name": name, "arguments": arguments}
        if modern:
            params["_meta"] = envelope()
        return await self.ask(id, "tools/call", params)

    def close(self) -> None:
        self._writer.close()

    def stop_reading(self) -> None:
        """Close the end that reads, as a client that died."""
        assert self.source is not None
        self.source.close()


async def reached(condition: Callable[[], object]) -> None:
    """Let everybody else run until `condition` holds; the caller brings the deadline."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0)


def envelope(*, declare: bool = True, **more: Any) -> Frame:
    """The `_meta` of a request of the stateless era."""
    capabilities = {"extensions": {EXTENSION: {}}} if declare else {}
    return {VERSION_META: MODERN, CLIENT_META: capabilities, **more}


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[tuple[Raw, asyncio.subprocess.Process]]:
    """The fixture server in a process of its own."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.mcp.emit.fixture",
        *arguments,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LIMIT,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    client = Raw(started.stdout, started.stdin)
    try:
        yield client, started
    finally:
        client.close()
        try:
            async with asyncio.timeout(DEADLINE):
                await started.wait()
        except TimeoutError:
            started.kill()
            raise


@asynccontextmanager
async def piped(reminders: Reminders, limit: int = LIMIT) -> AsyncIterator[Raw]:
    """A server in this process over real pipes."""
    (server_in, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    pipe = await open_pipe(server_in, server_out)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(client_in, "rb", 0)
    )
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(client_out, "wb", 0)
    )
    client = Raw(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    client.source = source
    task = asyncio.create_task(serve_pipe(reminders.server, pipe, deadline=2))
    try:
        yield client
    finally:
        client.close()
        source.close()
        async with asyncio.timeout(DEADLINE):
            await task
