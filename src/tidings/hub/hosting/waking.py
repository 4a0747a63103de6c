"""Waking a session that is idle: somebody beside its host leaves a call with us until there is news.

The call gets no text: whoever is still there then fetches it as an event, so that nothing is lost with a
process that is gone. One call waits for a session at a time; a newer one, or the session going on, ends it.
A call that stays outlives what the session does, and those that would leave again are sent home. Only what
is urgent wakes, and external senders only by grant (decision 21).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidings.hosts.happening import Event, Happening
from tidings.hub import shapes
from tidings.hub.hosting.deciding import is_called_for

if TYPE_CHECKING:
    from tidings.hub.hosting.drain import Hosting

_OVER = shapes.WakeAnswer(news=False, over=True)


class Waiter:
    """A call that waits. `over` says that it is needed no longer."""

    def __init__(self, bell: asyncio.Event, stays: bool) -> None:
        self.bell = bell
        self.stays = stays
        self.over = False

    def end(self) -> None:
        """Answer it: it is over."""
        self.over = True
        self.bell.set()


class Waking:
    """The calls that wait for idle sessions."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._waiters: dict[str, Waiter] = {}

    async def wake(self, asked: shapes.Wake) -> shapes.WakeAnswer:
        """What wakes the session of this event, as soon as there is something."""
        happening = await self._hosting.met(asked.host, asked.event)
        if happening is None or happening.agent_id is not None:
            return _OVER
        name = self._hosting.name_of(happening)
        former = self._waiters.get(name)
        if former is not None and former.stays and not asked.stays:
            return _OVER
        with self._hosting.hub.bell(name) as bell:
            waiter = self._relieve(name, Waiter(bell, asked.stays))
            if not asked.stays or not self._hosting.has_pulse(name):
                self._hosting.rested(name)
            try:
                async with asyncio.timeout(asked.wait_seconds):
                    return await self._news(happening, waiter)
            except TimeoutError:
                return shapes.WakeAnswer(news=False, over=False)
            finally:
                if self._waiters.get(name) is waiter:
                    del self._waiters[name]

    def _relieve(self, name: str, waiter: Waiter) -> Waiter:
        """A new call waits in the place of the former."""
        if (former := self._waiters.get(name)) is not None:
            former.end()
        self._waiters[name] = waiter
        return waiter

    async def _news(self, happening: Happening, waiter: Waiter) -> shapes.WakeAnswer:
        name = self._hosting.name_of(happening)
        while not waiter.over and name in self._hosting.hub.board.sessions:
            if is_called_for(self._hosting.situation(name, happening)):
                return shapes.WakeAnswer(news=True, over=False)
            waiter.bell.clear()
            await waiter.bell.wait()
        return _OVER

    def heard(self, name: str, event: Event) -> None:
        """An event came from the session: it goes on, ends, or has come to rest."""
        waiter = self._waiters.get(name)
        if waiter is None:
            return
        goes_on = event.asks or event.phase == "prompted"
        if event.phase == "ends" or (goes_on and not waiter.stays):
            waiter.end()
        else:
            waiter.bell.set()
