"""A server of ours for foreign MCP clients: a tool that makes something happen, a resource that changes.

    python -m tests.interop.mcp_server stdio|http [shown]

Over http it prints its url. With `shown` reminders also stand in tool results. Its tool `report` emits a
reminder that says what happened, tells that the resource changed, and answers with the reminder's id.
"""

from __future__ import annotations

import asyncio
import sys

from mcp.server.mcpserver import MCPServer

from tidings.mcp import Reminders, serve_http, serve_stdio

URI = "file:///build.log"


def build(*, shown: bool = False) -> Reminders:
    """The server with its reminders."""
    server: MCPServer[object] = MCPServer("build-watcher", log_level="ERROR")
    reminders = Reminders(server, in_tool_results=shown)

    @server.tool()
    async def report(what: str) -> str:
        told = await reminders.emit(
            what, tags=["build"], dedupe_key=f"build:{what}", ttl_turns=2, resource=URI
        )
        return told.id

    @server.resource(URI)
    def log() -> str:
        return "all is well"

    return reminders


async def main(transport: str, *options: str) -> None:
    """Serve until the client leaves, or SIGTERM."""
    reminders = build(shown="shown" in options)
    if transport == "stdio":
        await serve_stdio(reminders.server)
    else:
        await serve_http(reminders.server, port=0, ready=lambda url: print(url, flush=True))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
