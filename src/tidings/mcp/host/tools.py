"""The tools of servers as tools of the loop: `server__tool`, asked under the loop's deadline and approval.

A server's own word that a tool changes nothing is not believed, so that every call passes the gate. A tool
outlives its connection: a call uses the one that is there, or tells the model that there is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial

from tidings.agent.port import Outcome, ToolSpec
from tidings.agent.tools.tool import Run, Tool, ToolContext, ToolError
from tidings.core.reminder import Payload
from tidings.core.text import scrub
from tidings.mcp.config import Server
from tidings.mcp.host.connection import AnswerError
from tidings.mcp.host.link import Link
from tidings.mcp.host.naming import tool_name
from tidings.mcp.host.outcome import outcome_of
from tidings.mcp.names import OWN_WRITES
from tidings.shell.ids import new_id

LONGEST_DESCRIPTION = 4_000
_NO_ARGUMENTS: Payload = {"type": "object", "properties": {}}


def tools_of(link: Link, listed: Iterable[Payload], taken: set[str]) -> list[Tool]:
    """The tools of a server that its config lets through; their names join `taken`."""
    found: list[Tool] = []
    for each in listed:
        name = each.get("name")
        if isinstance(name, str) and name and _wanted(name, link.server):
            tool = _tool(link, name, each, taken)
            taken.add(tool.name)
            found.append(tool)
    return found


def _wanted(name: str, server: Server) -> bool:
    """Whether the model is offered it; what the host itself calls is none of its business."""
    if server.own_writes and name == OWN_WRITES:
        return False
    return server.tools is None or any(fnmatchcase(name, pattern) for pattern in server.tools)


def _tool(link: Link, name: str, listed: Mapping[str, object], taken: set[str]) -> Tool:
    schema = listed.get("inputSchema")
    said = str(listed.get("description") or listed.get("title") or f"{name} of {link.server.name}")
    spec = ToolSpec(
        tool_name(link.server.name, name, taken),
        scrub(said[:LONGEST_DESCRIPTION]),
        dict(schema) if isinstance(schema, Mapping) else _NO_ARGUMENTS,
    )
    return Tool(spec=spec, bind=partial(_bind, link, name))


def _bind(link: Link, name: str, arguments: Payload) -> Run:
    return partial(_call, link, name, arguments)


async def _call(link: Link, name: str, arguments: Payload, context: ToolContext) -> Outcome:
    connection = link.connection
    if connection is None:
        why = f": {link.reason}" if link.reason else ""
        raise ToolError(f"The MCP server {link.server.name!r} is not connected{why}.")
    token = new_id()

    def progressed(params: Mapping[str, object]) -> None:
        told = {key: params[key] for key in ("progress", "total", "message") if key in params}
        context.emit("tool_progress", {"tool_call_id": context.call_id, "server": link.server.name, **told})

    connection.tap.expect(token, progressed)
    abandoned = False
    try:
        result = await connection.call_tool(name, arguments, token)
    except asyncio.CancelledError:
        abandoned = True
        raise
    except AnswerError as error:
        raise ToolError(
            f"The MCP server {link.server.name!r} gave no result: {scrub(str(error))}"
        ) from error
    finally:
        connection.tap.forget(token, abandoned=abandoned)
    return outcome_of(result, link.server.name, name)
