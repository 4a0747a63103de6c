"""One piece of work, watched: it ends by itself, at its deadline, or when it is told to stop.

Work that is told to stop gets a moment to clean up and is then left behind, with a line in the log:
a tool that ignores its cancellation must not hold the loop. Called by `attempt.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from types import CoroutineType
from typing import Literal, TypeAlias, TypeVar

from tidings.agent.signal import Signal
from tidings.agent.tools.tool import ToolError

GRACE = 5.0
"""Seconds that cancelled work may take to clean up."""

Cause: TypeAlias = Literal["deadline", "cancelled"]

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The work was ended before it gave a result."""

    def __init__(self, cause: Cause) -> None:
        self.cause: Cause = cause
        super().__init__(cause)


async def supervise(
    work: Awaitable[_T], *, stop: Signal, told: Signal, deadline: float | None = None
) -> _T:
    """What `work` gives. `told` is set once it is over, for threads that cannot be cancelled.

    Raises:
        Stopped: the deadline passed, or `stop` was set.
        ToolError: the work cancelled itself, or raised what is no `Exception`.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work) if isinstance(work, CoroutineType) else asyncio.ensure_future(work)
    try:
        if not stop.is_set():
            await asyncio.sleep(0)  # much work is over after its first step: nobody has to wake us then
        if not task.done():
            await _first(task, stop, deadline)
        if not task.done():
            raise Stopped("cancelled" if stop.is_set() else "deadline")
    finally:
        told.set()
        if not task.done():
            await _end(task)
    if task.cancelled():
        raise ToolError("the tool cancelled itself and gave no result")
    error = task.exception()
    if error is not None and not isinstance(error, Exception):
        raise ToolError(f"the tool raised {type(error).__name__}: {error}".rstrip(": ")) from error
    return task.result()


async def _first(task: asyncio.Future[_T], stop: Signal, deadline: float | None) -> None:
    """Wait until `task` is done, `stop` is set or the deadline has passed, whatever comes first."""
    if stop.is_set():
        return
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end(*_: object) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(end)
    timer = None if deadline is None else loop.call_later(deadline, end)
    try:
        with stop.telling(end):
            await over
    finally:
        if timer is not None:
            timer.cancel()


async def _end(task: asyncio.Future[_T]) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    if not task.done():
        _logger.error("%r ignores its cancellation and is left behind", task)
    elif not task.cancelled() and (error := task.exception()) is not None:
        _logger.warning("%r failed while it was being stopped", task, exc_info=error)
