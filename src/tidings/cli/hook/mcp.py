"""`tidings hook mcp`: a small MCP server with one tool, `drain`, for hosts whose hooks can call tools.

The process lives as long as its host, so that a hook costs a few milliseconds and no start. The tool takes
the fields of the hook and gives the host's answer as one text. If the hub is down, that is the answer which
changes nothing.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tidings.bridge.rpc import RpcError
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hosts.happening import HOSTS
from tidings.hosts.table import host_named
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.version import __version__

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

NAME = "tidings"
TOOL = "drain"
SECONDS = 1.0
_WORDS: dict[str, object] = {"true": True, "false": False}
_ABOUT = "For hooks, not for the model: hands a hook's event to the hub and gives the hook's answer."
SCHEMA: Payload = {
    "type": "object",
    "properties": {
        "host": {"type": "string", "enum": list(HOSTS)},
        "hook_event_name": {"type": "string"},
        "session_id": {"type": "string"},
    },
    "required": ["host", "hook_event_name", "session_id"],
}
"""The fields of the hook that matter, beside the host; others are taken too."""


def run(socket: str) -> None:
    """Serve at stdin and stdout until the host has left."""
    made = server(socket)
    from tidings.mcp import serve_stdio

    asyncio.run(serve_stdio(made))


def server(socket: str) -> Server[Any]:
    """The server, asking the hub at this socket.

    Raises:
        CallerError: the SDK is not installed.
    """
    try:
        from mcp.server.lowlevel import Server
        from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
    except ImportError as error:
        raise CallerError("tidings hook mcp needs the MCP SDK: pip install 'tidings[mcp]'") from error

    async def tools(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=TOOL, description=_ABOUT, input_schema=SCHEMA)])

    async def call(_: object, params: CallToolRequestParams) -> CallToolResult:
        text = json.dumps(await answered(socket, params.arguments or {}))
        return CallToolResult(content=[TextContent(type="text", text=text)])

    return Server(NAME, version=__version__, on_list_tools=tools, on_call_tool=call)


async def answered(socket: str, arguments: Payload) -> Payload:
    """The hub's answer to a hook; the neutral one when there is none."""
    host = host_named(str(arguments.get("host")))
    if host is None:
        return {}
    asked: Payload = {"host": host, "event": event_of(arguments)}
    try:
        answer = await ask(socket, "hub/drain", asked, SECONDS)
    except (HubError, RpcError):
        return {}
    told = answer.get("answer")
    return told if isinstance(told, dict) else {}


def event_of(arguments: Payload) -> Payload:
    """The payload that a host's template made: what it left empty is absent, true and false are words."""
    return {
        name: _WORDS.get(value, value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if name != "host" and value not in ("", None) and not str(value).startswith("${")
    }
