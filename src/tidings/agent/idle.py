"""Waiting for news: a daemon loop between two pieces of work.

It sleeps in growing steps and wakes on interrupt reminders, user messages, its timer, or a change of a
watched path. Both idle seams are passed at every step, so that an interrupt never waits for the end of a
sleep: the sleep ends when something arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tidings.agent.result import Daemon, Status
from tidings.agent.run import Run
from tidings.core.mailbox import UserMessage


async def idle(run: Run, settings: Daemon) -> Status | None:
    """Wait until there is work (None), or until the loop should end (its status)."""
    clock = asyncio.get_running_loop().time
    began, marks, step = clock(), _marks(settings.watch), 0
    while True:
        run.news.clear()
        if await run.checkpoint("daemon_idle_pre") or _spoken_to(run):
            return await run.ended()
        if (ended := await run.ended()) is not None:
            return ended
        run.session.flush()
        await _sleep(run, _pause(settings, step, clock() - began))
        step += 1
        waited = clock() - began
        if await run.checkpoint("daemon_idle_post") or _spoken_to(run):
            return await run.ended()
        if await _woken(run, settings, waited, _marks(settings.watch) != marks):
            return await run.ended()
        if waited >= settings.max_idle_seconds:
            return "idle"


def _pause(settings: Daemon, step: int, waited: float) -> float:
    """How long this step may last: not beyond the timer, nor beyond the end of all waiting."""
    ends = [settings.max_idle_seconds - waited]
    if settings.timer_seconds is not None:
        ends.append(settings.timer_seconds - waited)
    return max(0.0, min(settings.backoff[min(step, len(settings.backoff) - 1)], *ends))


async def _sleep(run: Run, seconds: float) -> None:
    """Sleep, but not beyond the next news; what came since the last look counts."""
    try:
        async with asyncio.timeout(seconds):
            await run.news.wait()
    except TimeoutError:
        return


async def _woken(run: Run, settings: Daemon, waited: float, changed: bool) -> bool:
    """Tell hooks and providers how long it has been; a timer or a changed path is work."""
    timed = settings.timer_seconds is not None and waited >= settings.timer_seconds
    payload = {"wake_interval_ms": int(waited * 1000), "path_changed": changed, "timer": timed}
    await run.happenings.happen("session_idle", payload)
    return timed or changed


def _spoken_to(run: Run) -> bool:
    """Whether a user message waits that the next iteration lets in."""
    items = run.session.stored.mailbox.items
    return any(isinstance(item.what, UserMessage) and item.mode != "audit_only" for item in items)


def _marks(paths: Sequence[Path | str]) -> dict[str, tuple[int, int] | None]:
    return {str(path): _mark(Path(path)) for path in paths}


def _mark(path: Path) -> tuple[int, int] | None:
    """What changes with the file; None while nobody can look at it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
