"""When to run again: causes come in, runs start, stale ones are cancelled. No process is known here.

A change while a run is going makes it stale: it is cancelled and started anew. Against changes that never
pause, every fourth run may finish. Runs that change files themselves would cause one another: a cause that
keeps following its own run waits longer each time. `Pace` decides; `reruns` waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

PATIENCE = 3
"""How many runs in a row may be cancelled for being stale."""
ECHO = 1.0
"""Seconds after a run within which the same files changing again look like its own doing."""
ECHOES = 3
"""How many such echoes cost nothing; each more doubles the wait."""
LONGEST_WAIT = 60.0
MOST_PATHS = 100
"""How many changed paths a cause names."""


class Cause(msgspec.Struct, frozen=True):
    """Why to run: the files that changed (none for the clock), and whether a going run is stale by it."""

    paths: tuple[str, ...] = ()
    stale: bool = True
    own: bool = False

    def and_then(self, later: Cause) -> Cause:
        """Both causes as one."""
        paths = tuple(dict.fromkeys((*self.paths, *later.paths)))[:MOST_PATHS]
        return Cause(paths, self.stale or later.stale, self.own and later.own)


START = Cause(stale=False)
"""The first run."""


class Ran(msgspec.Struct, Generic[T], frozen=True):
    """A finished run and why it ran."""

    result: T
    cause: Cause


class Pace:
    """How long to wait before the next run."""

    def __init__(self) -> None:
        self._last: tuple[str, ...] = ()
        self._echoes = 0

    def wait(self, cause: Cause, since_end: float | None) -> float:
        """Seconds; `since_end` is the time since the last run ended, None while it is going."""
        echo = bool(cause.paths) and cause.paths == self._last and (since_end is None or since_end <= ECHO)
        self._echoes = self._echoes + 1 if echo else 0
        self._last = cause.paths
        beyond = self._echoes - ECHOES
        return 0.0 if beyond <= 0 else min(LONGEST_WAIT, 0.5 * 2 ** min(beyond, 10))


async def reruns(
    causes: AsyncIterator[Cause], run: Callable[[], Awaitable[T]], pace: Pace
) -> AsyncGenerator[Ran[T], None]:
    """Run now and at each cause; gives every run that finished."""
    desk: _Desk[T] = _Desk(causes, run, pace)
    async with aclosing(desk.play()) as played:
        async for ran in played:
            yield ran


class _Desk(Generic[T]):
    """One going run, one next cause, and what waits."""

    def __init__(self, causes: AsyncIterator[Cause], run: Callable[[], Awaitable[T]], pace: Pace) -> None:
        self._causes = causes
        self._run = run
        self._pace = pace
        self._going: asyncio.Future[T] | None = None
        self._cause = START
        self._waiting: Cause | None = None
        self._cancelled = 0
        self._ended = 0.0

    async def play(self) -> AsyncGenerator[Ran[T], None]:
        self._begin(START)
        hearing: asyncio.Future[Cause] | None = asyncio.ensure_future(_next(self._causes))
        try:
            while self._going is not None or hearing is not None:
                await asyncio.wait(
                    {task for task in (self._going, hearing) if task is not None},
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if self._going is not None and self._going.done():
                    yield self._finish(self._going)
                if hearing is not None and hearing.done():
                    hearing = await self._hear(hearing)
        finally:
            await _cancel(self._going, hearing)

    def _begin(self, cause: Cause, wait: float = 0.0) -> None:
        async def later() -> T:
            if wait:
                await asyncio.sleep(wait)
            return await self._run()

        self._cause, self._waiting = cause, None
        self._going = asyncio.ensure_future(later())

    def _finish(self, going: asyncio.Future[T]) -> Ran[T]:
        self._going, self._cancelled = None, 0
        self._ended = asyncio.get_running_loop().time()
        ran = Ran(going.result(), self._cause)
        if self._waiting is not None:
            self._begin(self._waiting)
        return ran

    async def _hear(self, heard: asyncio.Future[Cause]) -> asyncio.Future[Cause] | None:
        try:
            cause = heard.result()
        except StopAsyncIteration:
            return None
        await self._take(cause)
        return asyncio.ensure_future(_next(self._causes))

    async def _take(self, cause: Cause) -> None:
        if self._going is None:
            wait = self._pace.wait(cause, asyncio.get_running_loop().time() - self._ended)
            self._begin(cause, wait)
        elif not cause.stale:
            return
        elif self._cancelled >= PATIENCE:
            self._waiting = self._waiting.and_then(cause) if self._waiting is not None else cause
        else:
            self._cancelled += 1
            await _cancel(self._going)
            self._begin(self._cause.and_then(cause), self._pace.wait(cause, None))


async def _next(causes: AsyncIterator[Cause]) -> Cause:
    return await anext(causes)


async def _cancel(*tasks: asyncio.Future[T] | asyncio.Future[Cause] | None) -> None:
    """Cancel and wait until they are over: a cancelled command is killed first."""
    going = [task for task in tasks if task is not None and not task.done()]
    for task in going:
        task.cancel()
    if going:
        await asyncio.wait(going)
