"""What a run hears while it waits for its model or its tools: a cancel, and what its children report.

No task waits for it: the session's signal calls back. Reports are told to the hooks by one task at a time,
which the block starts, owns and waits for; what is left and all other news is for the seams. `run.py` waits
in its company.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType

from tidings.agent.emitted import reports
from tidings.agent.happenings import Happenings
from tidings.agent.session import Session
from tidings.agent.signal import Signal


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
    """A block during which `stop` is called when the session is cancelled."""

    def __init__(
        self, session: Session, happenings: Happenings, news: Signal, stop: Callable[[], None]
    ) -> None:
        self._session = session
        self._happenings = happenings
        self._stop = stop
        self._telling = news.telling(self._hear)
        self._task: asyncio.Task[None] | None = None
        self._over = False

    async def __aenter__(self) -> None:
        self._telling.__enter__()
        self._hear()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._telling.__exit__(kind, error, trace)
        self._over = True
        if self._task is not None:
            await self._task

    def _hear(self) -> None:
        if self._session.cancelled:
            self._stop()
        elif reports(self._session.stored.events) and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        while not self._over and (waiting := reports(self._session.stored.events)):
            await self._happenings.handle(waiting)
