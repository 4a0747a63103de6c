"""Plain functions run beside the event loop, each in a daemon thread of its own.

Not the loop's executor: a function that never returns would hold one of its few workers, and the
end of `asyncio.run` would wait for it for ever. A thread cannot be stopped, so the ones still busy are
bounded; beyond the bound a call is refused at once. Called by `function.py`.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from tidings.agent.tools.tool import ToolError

MAX_THREADS = 64

_T = TypeVar("_T")
_Result: TypeAlias = tuple[_T | None, BaseException | None]
_logger = logging.getLogger(__name__)
_slots = threading.BoundedSemaphore(MAX_THREADS)


async def in_thread(function: Callable[[], _T]) -> _T:
    """What `function` returns or raises; a cancelled caller leaves it running alone.

    Raises:
        ToolError: too many earlier functions are still busy, or this one raised KeyboardInterrupt, which
            only ever comes to the main thread.
    """
    slots = _slots
    if not slots.acquire(blocking=False):
        raise ToolError(f"{MAX_THREADS} tool functions are still busy; wait until some have returned")
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Result[_T]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(_outcome, function)
        finally:
            slots.release()
        _tell(loop, answer, result)

    try:
        threading.Thread(target=work, name="tidings-tool", daemon=True).start()
    except RuntimeError:
        slots.release()
        raise
    value, error = await answer
    if isinstance(error, KeyboardInterrupt):
        raise ToolError("the tool raised KeyboardInterrupt") from error
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # None only where the function gave None


def _outcome(function: Callable[[], _T]) -> _Result[_T]:
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 raised again in the caller's task
        return None, error


def _tell(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[_Result[_T]], result: _Result[_T]
) -> None:
    def settle() -> None:
        if not answer.done():
            answer.set_result(result)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        _logger.info("a tool function returned after its event loop had closed; its result is gone")
