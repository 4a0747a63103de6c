"""Servers behind a url: the SDK's own server on loopback, in both eras, and servers that break off."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from mcp.server.mcpserver import Context, MCPServer

from tests.mcp.host.running import ALLOW, DEADLINE, QUICK, ManualClock, Stage
from tidings.agent.port import ToolCall
from tidings.agent.session import Session
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.tool import ToolContext
from tidings.log.memory import MemoryLog
from tidings.mcp import Backoff, Reminders, Server, Servers, serving
from tidings.mcp.host.settings import SteadyClock

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])
T = TypeVar("T")


class Waits:
    """What became of calls that wait."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()


def watcher(waits: Waits | None = None) -> Reminders:
    """A server that adds, counts and emits."""
    server: MCPServer[Any] = MCPServer("watcher", log_level="ERROR")
    reminders = Reminders(server)
    seen = waits or Waits()

    @server.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    async def index(ctx: Context[Any, Any]) -> str:
        await ctx.report_progress(1, 2, "half")
        await ctx.report_progress(2, 2, "indexed")
        return "done"

    @server.tool()
    async def wait() -> str:
        seen.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.ended.set()
        return "never"

    return reminders


@asynccontextmanager
async def heard(url: str, era: Any, **options: Any) -> AsyncIterator[Stage]:
    log = MemoryLog()
    session = Session("s1", log=log)
    given = {"deadlines": QUICK, "clock": ManualClock(), **options}
    async with Servers([Server(name="w", url=url, era=era)], session=session, **given) as servers:
        yield Stage(servers, log)


def play(scene: Callable[[Stage, Reminders], Awaitable[T]], era: str, waits: Waits | None = None) -> T:
    async def whole() -> T:
        reminders = watcher(waits)
        async with asyncio.timeout(DEADLINE), serving(reminders.server) as url, heard(url, era) as stage:
            return await scene(stage, reminders)

    return asyncio.run(whole())


@BOTH
def test_reminders_and_tools_of_a_server_over_http(era: str) -> None:
    async def scene(stage: Stage, reminders: Reminders) -> tuple[Any, ...]:
        await reminders.emit(body="built", dedupe_key="build", meta={"correlationId": "c-7"})
        await stage.until(lambda: bool(stage.waiting()))
        added = await stage.call("w__add", a=1, b=2)
        indexed = await stage.call("w__index")
        await stage.until(lambda: len(stage.waiting()) == 2)
        kept = [one["correlation_id"] for one in stage.records("warning") if "correlation_id" in one]
        status = stage.servers["w"]
        return status.era, added.outcome.text, indexed.outcome.text, stage.waiting(), kept

    found = play(scene, era)
    assert found == (era, "3", "done", ["built", "w finished: indexed"], ["c-7"])


@BOTH
def test_a_call_that_is_given_up_ends_at_the_server_too(era: str) -> None:
    waits = Waits()

    async def scene(stage: Stage, _reminders: Reminders) -> str:
        context = ToolContext()
        dispatcher = Dispatcher(await stage.servers.tools(), approval=ALLOW, deadline=DEADLINE)
        running = asyncio.create_task(dispatcher.dispatch([ToolCall("c1", "w__wait", {})], context))
        await waits.began.wait()
        context.cancel.set()
        [receipt] = await running
        await waits.ended.wait()
        return receipt.status

    assert play(scene, era, waits) == "cancelled"


@BOTH
def test_a_server_that_restarts_is_found_again(era: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def whole() -> tuple[list[str], list[str]]:
        backoff = Backoff(first=0.01, factor=1, longest=0.01, attempts=10_000)
        url = f"http://127.0.0.1:{port}/mcp"
        async with (
            asyncio.timeout(DEADLINE),
            heard(url, era, backoff=backoff, clock=SteadyClock()) as stage,
        ):
            first = watcher()
            async with serving(first.server, port=port, deadline=1):
                await stage.until(lambda: stage.servers["w"].state == "connected")
                await first.emit(body="before")
                await stage.until(lambda: "before" in stage.waiting())
            second = watcher()
            async with serving(second.server, port=port, deadline=1):
                await second.emit(body="after")
                await stage.until(lambda: "after" in stage.waiting())
                return stage.waiting(), [*dict.fromkeys(stage.warnings())]

    waiting, warnings = asyncio.run(whole())
    assert waiting == ["before", "after"]
    assert "mcp_failed" in warnings


async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(answer)
    await writer.drain()
    writer.close()


NO_SERVERS = {
    "an error": (b"500 Oops\r\ncontent-length: 0\r\n\r\n", "Server returned an error response"),
    "a web page": (
        b"200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
        "Unexpected content type",
    ),
    "a redirect": (
        b"302 Found\r\nlocation: http://198.51.100.1/\r\ncontent-length: 0\r\n\r\n",
        "Redirect to http://198.51.100.1/ not followed",
    ),
    "too large": (
        b"200 OK\r\ncontent-type: application/json\r\n\r\n" + b"x" * (17 * 1024 * 1024),
        "the answer is larger than",
    ),
    "no HTTP": (b"nonsense\r\n\r\n", "RemoteProtocolError"),
}


@pytest.mark.parametrize(("answer", "said"), NO_SERVERS.values(), ids=NO_SERVERS)
def test_what_is_no_mcp_server_is_a_status_with_a_reason(answer: bytes, said: str) -> None:
    async def whole() -> Any:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await answering(reader, writer, b"HTTP/1.1 " + answer)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(DEADLINE), server:
            url = f"http://127.0.0.1:{port}/mcp"
            async with heard(url, "auto", backoff=Backoff(attempts=1)) as stage:
                return stage.servers["w"]

    status = asyncio.run(whole())
    assert status.state == "gave_up"
    assert said in status.reason
