"""What a tool is to the dispatcher, and what a running call is told about its surroundings.

A tool binds arguments first and runs second, so that a call with bad arguments is answered before
anyone is asked to approve it. `function.py` makes tools from Python functions; an adapter (MCP, for
one) builds a `Tool` directly. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from tidings.agent.port import Outcome, ToolSpec
from tidings.agent.signal import Signal
from tidings.core.reminder import Payload
from tidings.errors import CallerError, TidingsError

MAX_OUTPUT = 30_000
"""Characters of a result that the model is shown, unless the dispatcher is told otherwise."""

Emit: TypeAlias = Callable[[str, Payload], None]
"""Hears an event name and its payload; must not wait."""


class ToolError(TidingsError):
    """A tool could not do what was asked, for a reason the model can act on; shown to it as it is."""


class ArgumentError(CallerError):
    """Arguments that do not fit a tool's signature; `problems` has one sentence for each."""

    def __init__(self, tool: str, problems: tuple[str, ...]) -> None:
        self.tool = tool
        self.problems = problems
        super().__init__(f"tool {tool!r} was not run: " + "; ".join(problems))


def ignore_event(_event: str, _payload: Payload) -> None:
    """Hear nothing: what a context does until someone listens."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of one call.

    `cancel` is set when the call must end, also for functions in threads, which cannot be stopped and
    should look at `cancelled` now and then. `emit` may be called from any thread.
    """

    session_id: str = ""
    call_id: str = ""
    cancel: Signal = msgspec.field(default_factory=Signal)
    emit: Emit = ignore_event
    workspace: Path | None = None
    max_output: int = MAX_OUTPUT

    @property
    def cancelled(self) -> bool:
        """Whether the call must end."""
        return self.cancel.is_set()


Run: TypeAlias = Callable[[ToolContext], Awaitable[Outcome]]
"""A call that is ready to run."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: what the model is told, and how arguments become a run.

    `bind` raises `ArgumentError`. `read_only` promises that running it changes nothing: such calls may
    run side by side, and without asking. `deadline` (seconds) replaces the dispatcher's.
    """

    spec: ToolSpec
    bind: Callable[[Payload], Run]
    read_only: bool = False
    deadline: float | None = None

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name
