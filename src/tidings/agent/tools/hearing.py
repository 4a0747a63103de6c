"""Tools that somebody listens to: what a call emits is heard the moment it is emitted.

Hooks hear the same events, but only at the next seam; who must know at once wraps the tools. What a tool
does and what the model is told stay as they are. Called by watchers and by hosts of MCP servers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from tidings.agent.port import Outcome
from tidings.agent.tools.function import Function, as_tool
from tidings.agent.tools.tool import Run, Tool, ToolContext
from tidings.core.reminder import Payload

Hear: TypeAlias = Callable[[str, Payload], None]
"""Hears an event and its payload, from whichever thread the tool runs in."""
Settle: TypeAlias = Callable[[], Awaitable[None]]


def hearing(tools: Iterable[Tool | Function], hear: Hear, settle: Settle | None = None) -> list[Tool]:
    """The same tools; `hear` is told what they emit, and a call comes back only after `settle`."""
    return [_heard(as_tool(one), hear, settle) for one in tools]


def _heard(tool: Tool, hear: Hear, settle: Settle | None) -> Tool:
    def bind(arguments: Payload) -> Run:
        run = tool.bind(arguments)

        async def listened(context: ToolContext) -> Outcome:
            def emit(event: str, payload: Payload) -> None:
                hear(event, payload)
                context.emit(event, payload)

            outcome = await run(replace(context, emit=emit))
            if settle is not None:
                await settle()
            return outcome

        return listened

    return replace(tool, bind=bind)
