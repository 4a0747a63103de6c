"""A server to test with, high-level or low-level, in this process or as one of its own.

    python -m tests.mcp.emit.fixture KIND stdio|http|sdk-stdio [JSON of the options of Reminders]

Over http it prints its url. Its tools: `emit` emits what its arguments say; `flood` emits many and writes
how many were dropped into a file; `count` reports progress; `change` tells the SDK's own bus that the tools
changed; `wait` never ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer

from tidings.mcp import Reminders, progress, serve_http, serve_stdio

HINTS = {"tools/list": CacheHint(ttl_ms=60_000, scope="public")}
URI = "file:///src/lib.rs"


def high(**options: Any) -> Reminders:
    """An `MCPServer` with reminders."""
    server: MCPServer[Any] = MCPServer("watcher", cache_hints=HINTS, log_level="ERROR")
    reminders = Reminders(server, **options)

    @server.tool()
    async def emit(reminder: dict[str, Any]) -> str:
        return (await reminders.emit(**reminder)).id

    @server.tool()
    async def flood(many: int, tell: str) -> str:
        for number in range(many):
            await reminders.emit(f"number {number}")
        await asyncio.to_thread(Path(tell).write_text, str(reminders.stats.dropped))
        return "done"

    @server.tool()
    async def count(ctx: Context[Any, Any]) -> str:
        async with progress(ctx) as report:
            await report(1, total=2)
            await report(2, total=2, message="all")
        return str(await report(3))

    @server.tool()
    async def change(ctx: Context[Any, Any]) -> str:
        await ctx.notify_tools_changed()
        await ctx.notify_resource_updated(URI)
        return "changed"

    @server.tool()
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    @server.resource(URI)
    def library() -> str:
        return "fn main() {}"

    return reminders


def low(**options: Any) -> Reminders:
    """A low-level `Server` with reminders."""

    async def list_tools(_ctx: ServerRequestContext[Any], _params: object) -> types.ListToolsResult:
        tool = types.Tool(name="emit", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(
        _ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = (params.arguments or {}).get("reminder", {})
        reminder = await made[0].emit(**arguments)
        return types.CallToolResult(content=[types.TextContent(text=reminder.id)])

    server: Server[Any] = Server(
        "watcher", on_list_tools=list_tools, on_call_tool=call_tool, cache_hints=HINTS
    )
    made = [Reminders(server, **options)]
    return made[0]


KINDS = {"high": high, "low": low}


async def main(kind: str, transport: str, options: str = "{}") -> None:
    reminders = KINDS[kind](**json.loads(options))
    if transport == "stdio":
        await serve_stdio(reminders.server, deadline=1)
    elif transport == "http":
        await serve_http(reminders.server, port=0, deadline=3, ready=lambda url: print(url, flush=True))
    else:
        await reminders.server.run_stdio_async()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
