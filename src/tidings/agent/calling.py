"""Calling what users wrote, with a deadline: hooks, providers and recall functions.

An async function runs on the loop; any other runs in a thread of its own, so that a slow one cannot
hold up the agent. A thread cannot be stopped: one that overruns is left behind, and its owner is not called
again until it returned (`Slot`). Calls that are in time may overlap: several loops may share a registry.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tidings.errors import CallerError

DEADLINE = 5.0
"""Seconds that one call may take, unless its registration says otherwise."""
GRACE = 0.1
"""Seconds that a cancelled coroutine gets to clean up."""

_Outcome: TypeAlias = tuple[object, BaseException | None]


class LateError(CallerError):
    """A call that was not done by its deadline, or whose last call is still running."""


class EscapeError(CallerError):
    """A function that tried to end more than its own call: with SystemExit, or by cancelling itself."""


class Slot:
    """Counts the calls of one owner that were left behind and still run in their threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.left = 0


async def call(function: Callable[[], object], *, deadline: float, slot: Slot) -> object:
    """What `function` returns, awaited if it is awaitable. Arguments are bound with `partial`.

    Raises:
        LateError: it took longer than `deadline` seconds, or still runs from before.
        EscapeError: it raised SystemExit or the like, or CancelledError of its own accord.
        Exception: whatever it raises.
    """
    if inspect.iscoroutinefunction(function):
        return await _on_loop(function(), deadline)
    if slot.left:
        raise LateError("its last call is still running; it is not called again until that returned")
    clock = asyncio.get_running_loop().time
    until = clock() + deadline
    value, error = await _in_thread(function, deadline, slot)
    if error is not None:
        raise _contained(error)
    return await _on_loop(value, max(until - clock(), 0.0)) if inspect.isawaitable(value) else value


async def _on_loop(awaitable: Awaitable[object], deadline: float) -> object:
    task = asyncio.ensure_future(_kept_in(awaitable))
    try:
        done, _ = await asyncio.wait({task}, timeout=deadline)
    finally:
        task.cancel()
    if not done:
        await asyncio.wait({task}, timeout=GRACE)
        task.add_done_callback(_read_late)
        raise LateError(f"it was not done within {deadline:.3g} s")
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        raise _contained(error)
    return task.result()


async def _kept_in(awaitable: Awaitable[object]) -> object:
    """What `awaitable` gives; a task that raises SystemExit would take the event loop with it."""
    try:
        return await awaitable
    except SystemExit as error:
        raise _contained(error) from error


def _contained(error: BaseException) -> Exception:
    """The error as one that ends no more than the call it came from."""
    if isinstance(error, Exception):
        return error
    return EscapeError(f"it raised {type(error).__name__}: {error}".rstrip(": "))


def _read_late(task: asyncio.Future[object]) -> None:
    """Take the late outcome off the task: its lateness has been reported already."""
    if not task.cancelled():
        task.exception()


async def _in_thread(function: Callable[[], object], deadline: float, slot: Slot) -> _Outcome:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: _Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    running, awaited = True, True

    def work() -> None:
        nonlocal running
        try:
            outcome: _Outcome = (context.run(function), None)
        except BaseException as error:  # noqa: BLE001  # handed to the waiting task, which raises it
            outcome = (None, error)
        with slot.lock:
            running = False
            slot.left -= not awaited
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name="tidings-call", daemon=True).start()
    try:
        done, _ = await asyncio.wait({future}, timeout=deadline)
    finally:
        with slot.lock:
            awaited = False
            slot.left += running
    if not done:
        future.cancel()
        raise LateError(f"it was not done within {deadline:.3g} s")
    return future.result()
