"""One watcher, kept going: started, heard, started again after a pause that grows, stopped in time.

Whatever a watcher raises costs only its own run. Its state and its last words can be read at any time; each
turn of the state is told to `turned`. Knows neither the hub nor any config.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Literal, Protocol, TypeAlias

from tidings.agent.providers.quoting import one_line
from tidings.errors import TidingsError
from tidings.mcp.host.settings import Backoff, Clock, SteadyClock

State: TypeAlias = Literal["starting", "watching", "waiting", "gave_up", "stopped"]

PATIENCE = Backoff(first=1.0, factor=2.0, longest=60.0, attempts=60, steady=60.0)
"""How a watcher that fails is started again: after a second, then twice as long, at most a minute."""
SAID = 300
"""Characters of its last words that are kept."""
STOP_SECONDS = 10.0
"""How long watchers get to end: a killed command needs one or two."""

Deliver: TypeAlias = Callable[[object], Awaitable[None]]
Turned: TypeAlias = Callable[["Kept"], None]

_logger = logging.getLogger(__name__)


class Source(Protocol):
    """Something with news: a watcher, or what is like one. An event `ready` says that it sees."""

    def watch(self) -> AsyncGenerator[object, None]:
        """What happens, as it happens."""
        ...


class Kept:
    """What `make` gives, running. `deliver` takes its news, one at a time."""

    def __init__(
        self,
        make: Callable[[], Source],
        deliver: Deliver,
        turned: Turned,
        *,
        name: str,
        patience: Backoff = PATIENCE,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.message = ""
        self._state: State = "starting"
        self._ready: asyncio.Event | None = None
        self.settled = asyncio.Event()
        """Set once it watches, or has failed to."""
        self._make = make
        self._deliver = deliver
        self._turned = turned
        self._patience = patience
        self._clock = clock or SteadyClock()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """How it stands now: one that watched and lost its source waits."""
        lost = self._state == "watching" and self._ready is not None and not self._ready.is_set()
        return "waiting" if lost else self._state

    def start(self) -> None:
        """Begin; once."""
        self._task = asyncio.create_task(self._run(), name=f"tidings.watch.{self.name}")

    def cancel(self) -> asyncio.Task[None] | None:
        """Ask it to end; `stop` waits for it."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    def stopped(self) -> None:
        """It has ended."""
        self._turn("stopped", "")

    def say(self, message: str) -> None:
        """Keep the last words."""
        self.message = one_line(message, SAID)

    async def _run(self) -> None:
        losses = 0
        while True:
            self._turn("starting", self.message)
            began = self._clock.now()
            why = await self._stay()
            lasted = self._clock.now() - began
            losses = 1 if lasted >= self._patience.steady else losses + 1
            pause = self._patience.pause(losses)
            if pause is None:
                self._turn("gave_up", f"{why} (given up after {losses} times; attach the folder again)")
                return
            self._turn("waiting", why)
            await self._clock.sleep(pause)

    async def _stay(self) -> str:
        """One run, to its end; gives why it ended."""
        try:
            watcher = self._make()
            event = getattr(watcher, "ready", None)
            self._ready = event if isinstance(event, asyncio.Event) else None
            ready = asyncio.create_task(self._announce())
            try:
                async with aclosing(watcher.watch()) as news:
                    async for one in news:
                        await self._deliver(one)
            finally:
                ready.cancel()
        except TidingsError as error:
            return str(error)
        except Exception as error:
            _logger.exception("watcher %r failed", self.name)
            return f"{type(error).__name__}: {error}"
        return "it ended by itself"

    async def _announce(self) -> None:
        if self._ready is not None:
            await self._ready.wait()
        self._turn("watching", "")

    def _turn(self, state: State, message: str) -> None:
        self._state = state
        self.say(message)
        if state != "starting":
            self.settled.set()
        self._turned(self)


async def stop(kept: list[Kept], seconds: float = STOP_SECONDS) -> list[str]:
    """End all at once; gives the names of those that did not end in time, which are left to themselves."""
    tasks = {task: one for one in kept if (task := one.cancel()) is not None}
    if not tasks:
        return []
    _, late = await asyncio.wait(tasks, timeout=seconds)
    for task, one in tasks.items():
        if task not in late:
            one.stopped()
    return sorted(tasks[task].name for task in late)
