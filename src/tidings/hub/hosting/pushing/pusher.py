"""Sessions of a host that is spoken to from outside: what waits goes to those that work, or wakes others.

A surface reports its sessions and hands texts over; this attends to each session while the surface is
there. Text goes out through the same drain as a hook's, so that whoever comes first delivers. A surface
that goes away is tried again. `serving` owns all of it for the time that a hub runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from tidings.core.reminder import Payload
from tidings.hosts.happening import PUSH, WAKE, Host
from tidings.hub.hosting.drain import Hosting
from tidings.hub.hosting.hosted import scoped

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
GRACE_SECONDS = 1.0
"""Where hooks speak for a session, they tell it what waits; so long they have to be heard first."""

_logger = logging.getLogger(__name__)


class Attendant:
    """What a surface tells: which sessions there are, and whether they work."""

    def __init__(self, host: Host, hosting: Hosting, group: asyncio.TaskGroup, wake: bool) -> None:
        self.host = host
        self._hosting = hosting
        self._group = group
        self._wake = wake
        self._sessions: dict[str, Attended] = {}

    def tell(self, surface: Surface, session_id: str, workspace: str | None, busy: bool) -> None:
        """A session is there, and works or rests."""
        known = self._sessions.get(session_id)
        if known is None:
            known = Attended(session_id, workspace)
            self._sessions[session_id] = known
            task = self._group.create_task(self._attend(surface, known))
            task.add_done_callback(lambda _: self._sessions.pop(session_id, None))
        if busy and not known.busy:
            known.busy_since = asyncio.get_running_loop().time()
        known.busy = busy
        known.changed.set()

    def gone(self, session_id: str) -> None:
        """A session is there no longer."""
        if (known := self._sessions.pop(session_id, None)) is not None:
            known.ended = True
            known.changed.set()

    async def _attend(self, surface: Surface, known: Attended) -> None:
        name = scoped(self.host, known.session_id)
        await self._hosting.met(self.host, known.event(PUSH))
        with self._hosting.hub.bell(name) as bell:
            known.changed = bell
            while not known.ended:
                bell.clear()
                await self._give(surface, known, name)
                await _rung(bell, known.grace())

    async def _give(self, surface: Surface, known: Attended, name: str) -> None:
        if not known.busy:
            self._hosting.rested(name)
        wanted = not (known.grace() or self._hosting.has_hooks(name)) if known.busy else self._wake
        if not wanted:
            return
        text = await self._hosting.news(self.host, known.event(PUSH if known.busy else WAKE))
        if not text:
            return
        try:
            await surface.give(known.session_id, text, wake=not known.busy)
        except OSError as error:
            self._hosting.warn(self.host, f"news for {name} did not reach it: {error}")
            raise


class Attended:
    """A session that is attended to."""

    def __init__(self, session_id: str, workspace: str | None) -> None:
        self.session_id = session_id
        self.workspace = workspace
        self.busy = False
        self.busy_since = 0.0
        self.ended = False
        self.changed = asyncio.Event()

    def grace(self) -> float:
        """How long hooks of a session that just began to work still have to show themselves."""
        left = self.busy_since + GRACE_SECONDS - asyncio.get_running_loop().time()
        return max(0.0, left) if self.busy else 0.0

    def event(self, name: str) -> Payload:
        """An event of ours about it."""
        where: Payload = {} if self.workspace is None else {"cwd": self.workspace}
        return {"hook_event_name": name, "session_id": self.session_id, **where}


async def _rung(bell: asyncio.Event, grace: float) -> None:
    """Wait for the bell, or while there is a time of grace for its end."""
    try:
        async with asyncio.timeout(grace or None):
            await bell.wait()
    except TimeoutError:
        return


class Surface(Protocol):
    """A way into a host."""

    async def follow(self, attendant: Attendant) -> None:
        """Tell of sessions until the connection ends.

        Raises:
            OSError: it cannot be reached, or broke.
        """
        ...

    async def give(self, session_id: str, text: str, *, wake: bool) -> None:
        """Hand a text to a session, and start a turn if it is to be woken.

        Raises:
            OSError: it cannot be done.
        """
        ...


@asynccontextmanager
async def serving(hosting: Hosting, surfaces: Mapping[Host, tuple[Surface, bool]]) -> AsyncIterator[None]:
    """Attend to these surfaces inside the block; with each whether it may wake."""
    tasks = [
        asyncio.create_task(_kept(host, surface, hosting, wake))
        for host, (surface, wake) in surfaces.items()
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _kept(host: Host, surface: Surface, hosting: Hosting, wake: bool) -> None:
    """Follow a surface for ever; what goes wrong is noted, and tried again."""
    pause = FIRST_PAUSE
    while True:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.TaskGroup() as group:
                attendant = Attendant(host, hosting, group, wake)
                await surface.follow(attendant)
                raise ConnectionError("it closed the connection")
        except* (OSError, TimeoutError, asyncio.IncompleteReadError) as failures:
            _logger.info("hub: %s cannot be followed now: %s", host, failures.exceptions[0])
        lived = asyncio.get_running_loop().time() - began
        pause = FIRST_PAUSE if lived > LONGEST_PAUSE else min(LONGEST_PAUSE, pause * 2)
        await asyncio.sleep(pause)
