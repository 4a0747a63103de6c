"""Asking the agent and waiting for a while: every request of a host goes through `Asking.ask`.

An answer that comes after the deadline is not lost: the request stays open, and what it gives is noted.
What the SDK raises becomes an error of `failure.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import acp

from tidings.acp.host.failure import (
    AgentAnswerError,
    AgentDeadlineError,
    AgentRefusedError,
    HostClosedError,
    HostError,
)
from tidings.acp.host.notes import Notes
from tidings.acp.host.process import AgentProcess
from tidings.core.producers import shown
from tidings.errors import CallerError

T = TypeVar("T")


class Asking:
    """The requests that are under way. Whoever made it closes it."""

    def __init__(self, process: AgentProcess, notes: Notes) -> None:
        self._process = process
        self._notes = notes
        self._open: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def ask(self, doing: str, call: Coroutine[Any, Any, T], deadline: float) -> T:
        """The answer to `call`, which `doing` names in errors.

        Raises:
            HostError: the agent refuses, dies, answers nonsense or not at all.
        """
        task = self.begin(doing, call)
        return await self.result(doing, task, deadline)

    def begin(self, doing: str, call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a request; it is ours until it is answered or the host stops.

        Raises:
            HostClosedError: the host was stopped.
        """
        if self._closed:
            call.close()
            raise HostClosedError(f"{doing}: the host was stopped; start another one")
        task = asyncio.create_task(call, name=f"tidings.acp {doing}")
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def result(self, doing: str, task: asyncio.Task[T], deadline: float) -> T:
        """What a request gives, if it does so in time.

        Raises:
            HostError: the agent refuses, dies, answers nonsense or not at all.
        """
        try:
            await asyncio.wait({task}, timeout=deadline)
        except asyncio.CancelledError:
            self._watch_late(doing, task)
            raise
        if not task.done():
            self._watch_late(doing, task)
            raise AgentDeadlineError(doing, deadline)
        return await self._read(doing, task)

    async def _read(self, doing: str, task: asyncio.Task[T]) -> T:
        try:
            return task.result()
        except acp.RequestError as error:
            raise AgentRefusedError(doing, error.code, str(error), error.data) from None
        except AgentRefusedError as error:
            raise AgentRefusedError(doing, error.code, error.message, error.data) from None
        except (HostError, CallerError):
            raise
        except ValueError as error:
            raise AgentAnswerError(doing, "what the protocol allows", _first_line(error)) from error
        except (ConnectionError, asyncio.CancelledError) as error:
            if self._closed:
                raise HostClosedError(f"{doing}: the host was stopped meanwhile") from error
            raise await self._process.death(doing) from None

    def _watch_late(self, doing: str, task: asyncio.Task[T]) -> None:
        def came(done: asyncio.Task[T]) -> None:
            error = None if done.cancelled() else done.exception()
            if done.cancelled() or self._closed or isinstance(error, ConnectionError):
                return
            what = shown(done.result() if error is None else error)
            self._notes.add("late_answer", f"{doing} was answered too late: {what}")

        task.add_done_callback(came)

    async def close(self) -> None:
        """End what is under way."""
        self._closed = True
        under_way = list(self._open)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())
