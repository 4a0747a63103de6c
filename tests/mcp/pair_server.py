"""A server for tests in which both sides are real: our host, or a raw client, and this process.

    python -m tests.mcp.pair_server FILE [PROFILE]

Its tools: `say` emits a reminder, `hang` tells with reminders that it begins and that it is cancelled,
`stop` asks the process to stop as a supervisor would. Having ended in order it writes a line to FILE.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from tidings.mcp import Reminders, serve_stdio
from tidings.mcp.names import MODERN


def build(profile: str = MODERN) -> Reminders:
    """The server with its reminders."""
    server: MCPServer[Any] = MCPServer("pair", log_level="ERROR")
    reminders = Reminders(server, profile=profile)

    @server.tool()
    async def say(body: str) -> str:
        return (await reminders.emit(body, dedupe_key=body, ttl_turns=1)).id

    @server.tool()
    async def hang() -> str:
        reminders.emit_soon("it began")
        try:
            await asyncio.Event().wait()
        finally:
            reminders.emit_soon("it was cancelled")
        return "never"

    @server.tool()
    async def stop() -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return "stopping"

    return reminders


async def main(file: str, profile: str = MODERN) -> None:
    """Serve until the client leaves, or SIGTERM."""
    await serve_stdio(build(profile).server)
    note(Path(file))


def note(file: Path) -> None:
    """Say that all went well."""
    with file.open("a") as ended:
        ended.write("ended in order\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
