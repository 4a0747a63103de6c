"""What a run hears while it waits for its model or its tools: a cancel, and what its children report.

No task waits for it: the session's signal calls back. Reports are told to the hooks by one task at a time,
which the wait starts, owns and waits for; what is left and all other news is for the seams. `run.py` waits
in its company.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tidings.agent.emitted import reports
from tidings.agent.happenings import Happenings
from tidings.agent.session import Session

T = TypeVar("T")


class Cut:
    """Ends what the current task waits for, when asked; a timeout that nobody has to set.

    Ask in its event loop. The task is cancelled in the loop's next round, unless it is done by then.
    """

    __slots__ = ("_asked", "_before", "_done", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._before = task.cancelling()
        self._asked: asyncio.Handle | None = None
        self._done = False

    def ask(self) -> None:
        """End it; asking again changes nothing."""
        if self._asked is None:
            self._asked = asyncio.get_running_loop().call_soon(self._cut)

    def ended(self) -> bool:
        """Whether the wait that is over now was ended by this, and by nobody else besides."""
        if self._asked is not None:
            self._asked.cancel()
        return self._done and self._task.uncancel() <= self._before

    def _cut(self) -> None:
        self._done = True
        self._task.cancel()


class Company:
    """Keeps one run company in its waits, of which there is one at a time."""

    def __init__(self, session: Session, happenings: Happenings) -> None:
        self._session = session
        self._happenings = happenings
        self._stop: Callable[[], None] | None = None
        self._telling: asyncio.Task[None] | None = None

    async def during(self, work: Awaitable[T], stop: Callable[[], None]) -> T:
        """What `work` gives; `stop` is called when the session is cancelled meanwhile."""
        self._stop = stop
        try:
            self.hear()
            return await work
        finally:
            self._stop = None
            if self._telling is not None:
                telling, self._telling = self._telling, None
                await telling

    def hear(self) -> None:
        """Look for what cannot wait for the next seam. The session's news calls this."""
        if self._stop is None:
            return
        if self._session.cancelled:
            self._stop()
        elif reports(self._session.stored.events) and (self._telling is None or self._telling.done()):
            self._telling = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        while self._stop is not None and (waiting := reports(self._session.stored.events)):
            await self._happenings.handle(waiting)
