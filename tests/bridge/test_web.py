"""The web server that the hub and the MCP servers run: when it is up, and how it writes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from tidings.bridge.web import WebServer

DEADLINE = 30
HOST = "127.0.0.1"


def configured(app: Callable[..., Awaitable[None]]) -> WebServer:
    return WebServer(uvicorn.Config(app, log_config=None, lifespan="on", ws="none"))


def test_what_is_written_to_a_client_is_sent_at_once() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def go() -> list[int]:
        server = configured(app)
        with socket.create_server((HOST, 0)) as listener:
            task = asyncio.create_task(server.serve(sockets=[listener]))
            assert await server.comes_up(task, DEADLINE)
            reader, writer = await asyncio.open_connection(HOST, listener.getsockname()[1])
            writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 204 No Content\r\n"
            sockets = [one.transport.get_extra_info("socket") for one in server.server_state.connections]
            flags = [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets]
            writer.close()
            server.should_exit = True
            await task
            return [int(flag > 0) for flag in flags]

    async def bounded() -> list[int]:
        async with asyncio.timeout(DEADLINE):
            return await go()

    assert asyncio.run(bounded()) == [1]


def test_a_server_that_ends_before_it_is_up_never_comes_up() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    async def go() -> bool:
        server = configured(app)
        with socket.create_server((HOST, 0)) as listener:
            async with asyncio.timeout(DEADLINE):
                task = asyncio.create_task(server.serve(sockets=[listener]))
                came = await server.comes_up(task, DEADLINE)
                await task
                return came

    assert asyncio.run(go()) is False
