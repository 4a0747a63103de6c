"""What makes a command run again: files that changed, or the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from tidings.watchers.changes import Batch
from tidings.watchers.matching import Patterns
from tidings.watchers.rerun import MOST_PATHS, Cause
from tidings.watchers.tree import Tree


def cause_of(batch: Batch) -> Cause:
    """Why to run again after `batch`."""
    paths = tuple(change.path for change in batch.changes[:MOST_PATHS])
    return Cause(paths, own=all(change.own for change in batch.changes))


async def changes(tree: Tree, patterns: Patterns) -> AsyncGenerator[Cause, None]:
    """A cause for each burst of changes that match."""
    async with aclosing(tree.batches()) as batches:
        async for batch in batches:
            chosen = patterns.only(batch)
            if chosen.changes:
                yield cause_of(chosen)


async def every(seconds: float) -> AsyncGenerator[Cause, None]:
    """A cause at each tick; a run that is going is not stale by it."""
    while True:
        await asyncio.sleep(seconds)
        yield Cause(stale=False)
