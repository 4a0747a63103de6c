"""Watchers inside the process of the loop: their news goes into a session's mailbox.

What a watcher says is external (decision 21): quoted, budgeted, without powers. A watcher that fails ends,
with a record; the session and the other watchers go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from tidings.agent.session import Session
from tidings.core import records
from tidings.errors import CallerError
from tidings.watchers.told import News, Noticed, Watcher

Source: TypeAlias = Watcher | AsyncGenerator[News, None]
"""A watcher, or an async generator, whose name is its function's."""

CLOSE_DEADLINE = 10.0
"""Seconds that watchers get to end: a killed command needs one or two."""


@asynccontextmanager
async def watching(session: Session, *watchers: Source) -> AsyncIterator[None]:
    """Remind `session` of what `watchers` say while the block runs.

    Raises:
        CallerError: two watchers have the same name: their dedupe keys would meet.
    """
    named = named_watchers(watchers)
    tasks = [asyncio.create_task(_follow(session, name, news), name=name) for name, news in named]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_DEADLINE)


def named_watchers(watchers: Sequence[Source]) -> list[tuple[str, AsyncGenerator[News, None]]]:
    """Each watcher's name and its news.

    Raises:
        CallerError: a name that is used twice.
    """
    named: list[tuple[str, AsyncGenerator[News, None]]] = []
    for watcher in watchers:
        given = (
            watcher.name if isinstance(watcher, Watcher) else str(getattr(watcher, "__name__", "watcher"))
        )
        if any(name == given for name, _ in named):
            raise CallerError(f"two watchers are named {given!r}; give one of them another `name`")
        named.append((given, watcher.watch() if isinstance(watcher, Watcher) else watcher))
    return named


async def _follow(session: Session, name: str, news: AsyncGenerator[News, None]) -> None:
    try:
        async with aclosing(news):
            async for one in news:
                deliver(session, name, one)
    except Exception as error:  # noqa: BLE001 a failing watcher becomes a record, never a dead run
        note(session, name, Noticed("watcher_ended", f"{type(error).__name__}: {error}"))


def deliver(session: Session, name: str, news: News) -> None:
    """Put one piece of news where it belongs; what the session refuses is recorded."""
    if isinstance(news, Noticed):
        note(session, name, news)
        return
    try:
        session.remind(news.options(), producer="mcp", origin=name)
    except CallerError as error:
        note(session, name, Noticed("watcher_refused", str(error), {"dedupe_key": news.dedupe_key}))


def note(session: Session, name: str, noticed: Noticed) -> None:
    """Write what a watcher noticed in the session's log."""
    told = records.warning(noticed.code, f"watcher:{name}", noticed.message, **noticed.details)
    with session.step():
        session.note((told,))
