"""How the tests of the tools call them: through a dispatcher, inside a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

from tidings.agent.port import Outcome, ToolCall
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.rules import Rule
from tidings.agent.tools.tool import Tool, ToolContext
from tidings.agent.tools.workspace import workspace_tools

DEADLINE = 15.0
FOR_EVER = 3600.0
ALLOW_ALL = Gate([Rule("allow")])

T = TypeVar("T")
Events = list[tuple[str, dict[str, object]]]


def within_deadline(work: Coroutine[object, object, T]) -> T:
    async def main() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(main())


def call(name: str, /, id: str = "c1", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def receipts(
    tools: list[Tool | Callable[..., object]],
    *calls: ToolCall,
    approval: Gate = ALLOW_ALL,
    **options: object,
) -> tuple[Receipt, ...]:
    dispatcher = Dispatcher(tools, approval=approval, **options)  # type: ignore[arg-type]
    return within_deadline(dispatcher.dispatch(calls, ToolContext(session_id="s1")))


def outcome(fn: Tool | Callable[..., object], /, **arguments: object) -> Outcome:
    """What one call of one tool gives."""
    name = fn.name if isinstance(fn, Tool) else getattr(fn, "__name__", "")
    return receipts([fn], ToolCall(id="c1", name=name, arguments=arguments))[0].outcome


class Desk:
    """The built-in tools of a folder, every call allowed, every event heard."""

    def __init__(self, root: Path, **options: object) -> None:
        self.events: Events = []
        self._dispatcher = Dispatcher(
            workspace_tools(root),
            approval=ALLOW_ALL,
            on_event=lambda event, payload: self.events.append((event, payload)),
            **options,  # type: ignore[arg-type]
        )

    def __call__(self, name: str, /, **arguments: object) -> Outcome:
        return self.receipt(name, **arguments).outcome

    def receipt(self, name: str, /, **arguments: object) -> Receipt:
        return within_deadline(
            self._dispatcher.dispatch([ToolCall(id="c1", name=name, arguments=arguments)])
        )[0]
