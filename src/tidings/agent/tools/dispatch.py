"""A batch of tool calls becomes receipts, one for each call and in the order of the calls.

When every call that can run is of a read-only tool, they run side by side, a few at a time; otherwise
one after the other, in the model's order, and a call that fails does not keep the next from running.
Setting the context's `cancel` closes what is open and returns; cancelling the task closes it too, tells
`on_event`, and raises as it must. Nothing else comes out of `dispatch` as an exception.

`on_event` hears `permission_asked`, `permission_replied`, `tool_call_started`, `tool_call_closed` (exactly
once for each call) and what the tools themselves emit (`file_edited`). Without it the context's `emit`
hears the tools alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence

import msgspec

from tidings.agent.port import ToolCall, ToolSpec
from tidings.agent.tools.approval import Gate, Watch
from tidings.agent.tools.attempt import Attempt, Desk
from tidings.agent.tools.function import Function, as_tool
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.tool import MAX_OUTPUT, Emit, Tool, ToolContext
from tidings.core.reminder import Payload
from tidings.errors import CallerError

DEADLINE = 120.0
MAX_PARALLEL = 8
MIN_OUTPUT = 1_000

_logger = logging.getLogger(__name__)


class Dispatcher:
    """Runs batches of calls of a fixed set of tools."""

    def __init__(
        self,
        tools: Iterable[Tool | Function],
        *,
        approval: Gate | None = None,
        deadline: float = DEADLINE,
        max_output: int = MAX_OUTPUT,
        max_parallel: int = MAX_PARALLEL,
        on_event: Emit | None = None,
    ) -> None:
        _check_limits(deadline, max_output, max_parallel)
        self._desk = Desk(
            tools=_by_name(tools), gate=approval or Gate(), deadline=deadline, max_output=max_output
        )
        self.specs: tuple[ToolSpec, ...] = tuple([tool.spec for tool in self._desk.tools.values()])
        """What the model is told, in the order the tools were given."""
        self._max_parallel = max_parallel
        self._on_event = on_event

    def tool(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._desk.tools.get(name)

    async def dispatch(
        self, calls: Sequence[ToolCall], context: ToolContext | None = None, watch: Watch | None = None
    ) -> tuple[Receipt, ...]:
        """Run the calls; every one is closed with a receipt. `watch` hears what the gate has to ask."""
        given = context or ToolContext()
        hear = self._on_event or given.emit
        emit = hear if isinstance(hear, Emitter) else Emitter(hear)
        tell = None if self._on_event is None else emit
        if given.emit is not emit:
            given = msgspec.structs.replace(given, emit=emit)
        batch = _Batch([Attempt(call, watch, tell) for call in calls], self._desk, given, tell)
        try:
            if len(calls) > 1 and self.only_looks(calls):
                await batch.run_side_by_side(self._max_parallel)
            else:
                await batch.run_in_order()
        except asyncio.CancelledError:
            batch.close_rest()
            raise
        return batch.receipts()

    def only_looks(self, calls: Sequence[ToolCall]) -> bool:
        """Whether every call that can run is of a read-only tool."""
        tools = self._desk.tools
        can_run = [tools[call.name] for call in calls if call.problem is None and call.name in tools]
        return False not in [tool.read_only for tool in can_run]


class Emitter:
    """`hear`, called in the loop's own thread whoever emits; its failures are logged, not passed on."""

    __slots__ = ("_hear", "_home", "_loop")

    def __init__(self, hear: Emit) -> None:
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()

    def __call__(self, event: str, payload: Payload) -> None:
        """Emit an event, from any thread."""
        if threading.get_ident() == self._home:
            self._tell(event, payload)
            return
        try:
            self._loop.call_soon_threadsafe(self._tell, event, payload)
        except RuntimeError:
            _logger.warning("%s came after the event loop had closed: %r", event, payload)

    def _tell(self, event: str, payload: Payload) -> None:
        try:
            self._hear(event, payload)
        except Exception:
            _logger.exception("a listener failed on %s", event)


class _Batch:
    """The calls of one dispatch, and which of them are closed."""

    def __init__(
        self, attempts: list[Attempt], desk: Desk, context: ToolContext, tell: Emit | None
    ) -> None:
        self._attempts = attempts
        self._desk = desk
        self._context = context
        self._tell = tell
        self._closed: dict[int, Receipt] = {}

    async def run_in_order(self) -> None:
        for place, attempt in enumerate(self._attempts):
            self._close(place, await attempt.run(self._desk, self._context))

    async def run_side_by_side(self, at_once: int) -> None:
        slots = asyncio.Semaphore(at_once)

        async def in_slot(place: int) -> None:
            async with slots:
                self._close(place, await self._attempts[place].run(self._desk, self._context))

        async with asyncio.TaskGroup() as group:
            for place in range(len(self._attempts)):
                group.create_task(in_slot(place))

    def close_rest(self) -> None:
        for place, attempt in enumerate(self._attempts):
            if place not in self._closed:
                self._close(place, attempt.cancelled())

    def receipts(self) -> tuple[Receipt, ...]:
        return tuple([self._closed[place] for place in range(len(self._attempts))])

    def _close(self, place: int, receipt: Receipt) -> None:
        self._closed[place] = receipt
        if self._tell is not None:
            self._tell("tool_call_closed", receipt.told)


def _by_name(tools: Iterable[Tool | Function]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for each in map(as_tool, tools):
        if each.name in found:
            raise CallerError(f"two tools are named {each.name!r}; give one of them another name=")
        found[each.name] = each
    return found


def _check_limits(deadline: float, max_output: int, max_parallel: int) -> None:
    if not deadline > 0:
        raise CallerError(f"deadline is {deadline!r}; give seconds above 0")
    if max_output < MIN_OUTPUT:
        raise CallerError(f"max_output is {max_output!r}; give {MIN_OUTPUT} characters or more")
    if max_parallel < 1:
        raise CallerError(f"max_parallel is {max_parallel!r}; give 1 or more")
