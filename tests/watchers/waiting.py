"""Waiting for watchers in tests: always with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tidings.watchers.told import News, Watcher

DEADLINE = 60


class Following:
    """A watcher that is being followed; `next` gives its next news."""

    def __init__(self, watcher: Watcher) -> None:
        self.news: asyncio.Queue[News] = asyncio.Queue()
        self._watcher = watcher

    async def run(self) -> None:
        async for one in self._watcher.watch():
            self.news.put_nowait(one)

    async def next(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return await self.news.get()


@asynccontextmanager
async def following(watcher: Any) -> AsyncIterator[Following]:
    """Follow `watcher` for the block, from the moment it is ready; its failure fails the test."""
    followed = Following(watcher)
    task = asyncio.create_task(followed.run())
    ready = asyncio.create_task(watcher.ready.wait())
    try:
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield followed
    finally:
        ready.cancel()
        task.cancel()
        async with asyncio.timeout(DEADLINE):
            await asyncio.wait({task})


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(DEADLINE):
        while not true():  # noqa: ASYNC110 what is waited for happens outside this loop
            await asyncio.sleep(0)
