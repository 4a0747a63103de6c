"""A server that pushes reminders over stdio, in one of three ways, and says what each cost it in CPU.

    python -m benchmarks.mcp_pusher tidings|sdk|bare

The tool `push` sends `many` reminders; its answer is the CPU seconds that they took, and what was dropped.
`bare` is no server: it answers `initialize` and the tool with a loop around `json.dumps`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

BODY = "src/lib.rs changed externally; re-read it before editing."
REMINDER = {
    "body": BODY,
    "tags": ["workspace", "file_changed"],
    "dedupeKey": "file_changed:src/lib.rs",
    "ttlTurns": 2,
    "preserveOnCompact": False,
    "propagate": "session",
    "roleHint": "system",
}


def answer(cpu: float, dropped: int = 0) -> str:
    return json.dumps({"cpu": cpu, "dropped": dropped})


def tool_server(push: Any) -> Any:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="push", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = await push(ctx, int((params.arguments or {})["many"]))
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("pusher", on_list_tools=list_tools, on_call_tool=call_tool)


async def with_tidings() -> None:
    from tidings.mcp import Reminders, serve_stdio

    async def push(_ctx: Any, many: int) -> str:
        before, began = reminders.stats, time.process_time()
        for number in range(many):
            await reminders.emit(
                BODY,
                tags=("workspace", "file_changed"),
                dedupe_key=f"file_changed:{number % 64}",
                ttl_turns=2,
            )
        await asyncio.sleep(0)  # the pump has taken the last one
        return answer(time.process_time() - began, many - (reminders.stats.sent - before.sent))

    server = tool_server(push)
    reminders = Reminders(server)
    await serve_stdio(server)


async def with_sdk() -> None:
    import mcp_types as types
    from mcp.server.stdio import stdio_server

    kind = types.Notification[dict[str, Any], str]

    async def push(ctx: Any, many: int) -> str:
        began = time.process_time()
        for number in range(many):
            params = {"reminder": {**REMINDER, "id": str(number)}}
            await ctx.session.send_notification(kind(method="notifications/reminder", params=params))
        return answer(time.process_time() - began)

    server = tool_server(push)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


async def bare() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "initialize":
            write({"id": message["id"], "result": {}})
        elif message["method"] == "tools/call":
            began = time.process_time()
            for number in range(int(message["params"]["arguments"]["many"])):
                params = {"reminder": {**REMINDER, "id": str(number)}}
                write({"method": "notifications/reminder", "params": params})
            text = answer(time.process_time() - began)
            write({"id": message["id"], "result": {"content": [{"type": "text", "text": text}]}})


WAYS = {"tidings": with_tidings, "sdk": with_sdk, "bare": bare}

if __name__ == "__main__":
    asyncio.run(WAYS[sys.argv[1]]())
