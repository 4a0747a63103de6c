"""A server that is asked to stop says goodbye on every stream and exits with 0, in time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.mcp.emit.fixture import high
from tests.mcp.emit.raw import DEADLINE, ROOT, Frame, envelope, piped, process
from tidings.mcp.names import EXTENSION, LEGACY, MODERN, SUBSCRIPTION_META

ACCEPT = {"Accept": "application/json, text/event-stream"}


def modern_headers(method: str, name: str | None = None) -> dict[str, str]:
    more = {} if name is None else {"Mcp-Name": name}
    return {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **more}


def request(id: int | str, method: str, params: Frame) -> Frame:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Sse:
    """The messages of an open event stream."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> Frame:
        async with asyncio.timeout(DEADLINE):
            async for line in self._lines:
                if line.startswith("data:") and line[5:].strip():
                    found: Frame = json.loads(line[5:])
                    return found
        raise EOFError

    async def rest(self) -> list[Frame]:
        found = []
        try:
            while True:
                found.append(await self.next())
        except EOFError:
            return found


@asynccontextmanager
async def listening(
    client: httpx2.AsyncClient, url: str, id: int | str, **asked: Any
) -> AsyncIterator[Sse]:
    params = {"notifications": asked or {EXTENSION: {}}, "_meta": envelope()}
    headers = modern_headers("subscriptions/listen")
    body = request(id, "subscriptions/listen", params)
    async with client.stream("POST", url, json=body, headers=headers) as response:
        assert response.status_code == 200
        yield Sse(response)


@pytest.mark.parametrize(("kind", "sign"), [("high", signal.SIGTERM), ("low", signal.SIGINT)])
def test_on_a_signal_the_streams_of_a_pipe_get_their_results_and_the_process_ends_with_0(
    kind: str, sign: signal.Signals
) -> None:
    async def go() -> tuple[list[Frame], int | None]:
        async with asyncio.timeout(DEADLINE * 2), process(kind, "stdio") as (client, server):
            await client.listen(1, {EXTENSION: {}})
            await client.listen("two", {"toolsListChanged": True})
            server.send_signal(sign)
            frames = await client.rest()
            await server.wait()
            return frames, server.returncode

    frames, code = asyncio.run(go())
    ended = {frame["id"]: frame["result"]["_meta"][SUBSCRIPTION_META] for frame in frames}
    assert (ended, code) == ({1: 1, "two": "two"}, 0)


def test_the_draft_profile_says_cancelled_instead() -> None:
    async def go() -> tuple[list[Frame], int | None]:
        options = json.dumps({"profile": "draft-2026-06"})
        async with asyncio.timeout(DEADLINE * 2), process("high", "stdio", options) as (client, server):
            await client.listen(1, {EXTENSION: {}})
            server.terminate()
            frames = await client.rest()
            await server.wait()
            return frames, server.returncode

    frames, code = asyncio.run(go())
    assert [(frame["method"], frame["params"]["requestId"]) for frame in frames] == [
        ("notifications/cancelled", 1)
    ]
    assert code == 0


def test_a_server_whose_client_leaves_ends_with_0() -> None:
    async def go() -> int | None:
        async with asyncio.timeout(DEADLINE * 2), process("low", "stdio") as (client, server):
            await client.handshake()
            client.close()
            await server.wait()
            return server.returncode

    assert asyncio.run(go()) == 0


def test_a_client_that_never_reads_does_not_keep_a_server_from_ending(tmp_path: Path) -> None:
    fifo = tmp_path / "dropped"
    os.mkfifo(fifo)
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    flood = {"name": "flood", "arguments": {"many": 20_000, "tell": str(fifo)}}
    done: Frame = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    frames = (request(1, "initialize", hello), done, request(2, "tools/call", flood))
    command = [sys.executable, "-m", "tests.mcp.emit.fixture", "high", "stdio"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        for frame in frames:
            server.stdin.write(json.dumps(frame).encode() + b"\n")
            server.stdin.flush()
        dropped = int(fifo.read_text())
        server.terminate()
        code = server.wait(DEADLINE)
    assert dropped > 15_000
    assert code == 0


def test_over_http_a_signal_ends_listen_streams_with_their_result_although_a_get_stream_is_open() -> None:
    async def go() -> tuple[list[Frame], list[Frame], int | None]:
        async with asyncio.timeout(DEADLINE * 2), process("high", "http") as (raw, server):
            url = await raw.line()
            async with httpx2.AsyncClient(timeout=DEADLINE) as client:
                session = await handshake(client, url)
                headers = {"Accept": "text/event-stream", **session}
                async with (
                    client.stream("GET", url, headers=headers) as standing,
                    listening(client, url, 7) as stream,
                ):
                    acknowledged = await stream.next()
                    assert acknowledged["params"]["_meta"] == {SUBSCRIPTION_META: 7}
                    server.terminate()
                    last, left = await stream.rest(), await Sse(standing).rest()
            await server.wait()
            return last, left, server.returncode

    last, left, code = asyncio.run(go())
    assert [frame["id"] for frame in last] == [7]
    assert last[0]["result"]["_meta"][SUBSCRIPTION_META] == 7
    assert (left, code) == ([], 0)


async def handshake(client: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """A session of the handshake era; gives its headers."""
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    answered = await client.post(url, json=request(1, "initialize", params), headers=ACCEPT)
    assert answered.status_code == 200
    session = {"Mcp-Session-Id": answered.headers["mcp-session-id"], "MCP-Protocol-Version": LEGACY}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    noted = await client.post(url, json=done, headers={**ACCEPT, **session})
    assert noted.status_code == 202
    return session


@pytest.mark.parametrize("many", [0, 100], ids=["at once", "after what waited"])
def test_the_result_is_the_last_frame_however_slowly_it_is_written_and_read(many: int) -> None:
    async def slowly(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        for _ in range(20):
            await asyncio.sleep(0)
        return result

    async def go() -> list[Frame]:
        reminders = high()
        reminders.server.middleware.append(slowly)
        async with asyncio.timeout(DEADLINE), piped(reminders, limit=1 << 12) as client:
            await client.listen("x", {EXTENSION: {}})
            for number in range(many):
                await reminders.emit(f"{number} {'x' * 2_000}")
            signal.raise_signal(signal.SIGTERM)
            return await client.rest()

    frames = asyncio.run(go())
    bodies = [frame["params"]["reminder"]["body"].split()[0] for frame in frames[:-1]]
    assert bodies == [str(number) for number in range(many)]
    assert frames[-1]["id"] == "x"
    assert frames[-1]["result"]["_meta"][SUBSCRIPTION_META] == "x"
