"""A build watcher: the agent hears on its next turn whether the project still builds.

python examples/mcp_server.py [command …]        # the command is `cargo check` unless you say otherwise
"""

import asyncio
import sys

from mcp.server.mcpserver import MCPServer

from tidings.mcp import Reminders, serve_stdio

COMMAND = sys.argv[1:] or ["cargo", "check"]
server = MCPServer("build-watcher", log_level="WARNING")
reminders = Reminders(server)
builds: set[asyncio.Task[None]] = set()


@server.tool()
async def edited(path: str) -> str:
    """Say that a file was edited. The build runs in the background; a reminder tells how it ended."""
    task = asyncio.create_task(build(path))
    builds.add(task)
    task.add_done_callback(builds.discard)
    return "building"


async def build(path: str) -> None:
    process = await asyncio.create_subprocess_exec(*COMMAND, stdout=sys.stderr)
    ended = "passed" if await process.wait() == 0 else "failed"
    body = f"{' '.join(COMMAND)} {ended} after the edit of {path}."
    await reminders.emit(body, tags=["build"], dedupe_key="build:status", ttl_turns=1)


asyncio.run(serve_stdio(server))
