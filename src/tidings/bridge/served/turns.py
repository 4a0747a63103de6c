"""The prompts of one session, one after the other: a second one waits for the first, as ACP clients expect.

A cancel ends the running prompt and every one that waits, or only the one that carries a mark. Whoever
submitted one gets a future; losing interest in it stops nothing. Called by `session.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tidings.bridge.rpc import SERVER_BUSY, RpcError

WAITING = 16
"""How many prompts may wait or run; the sender of one more is told."""

Asked = TypeVar("Asked")
Ended = TypeVar("Ended")


class Turn(Generic[Asked, Ended]):
    """A prompt that was accepted, the mark of its sender, and how it will end."""

    def __init__(self, asked: Asked, mark: object = None) -> None:
        self.asked = asked
        self.mark = mark
        self.cancelled = False
        self.ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()


class Turns(Generic[Asked, Ended]):
    """A line of turns; `run` works on one, `stop` makes it end early, `skipped` is the end of one unrun."""

    def __init__(
        self, run: Callable[[Asked], Awaitable[Ended]], stop: Callable[[], None], skipped: Ended
    ) -> None:
        self._run = run
        self._stop = stop
        self._skipped = skipped
        self._line: deque[Turn[Asked, Ended]] = deque()
        self._work: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits."""
        return bool(self._line)

    def submit(self, asked: Asked, mark: object = None) -> asyncio.Future[Ended]:
        """Run `asked` after those before it; `mark` is for `cancel_one`.

        Raises:
            RpcError: too many wait already.
        """
        if len(self._line) >= WAITING:
            raise RpcError(
                SERVER_BUSY,
                f"{WAITING} prompts wait for this session already; wait for an answer, "
                "or use session/inject to add to the running one",
                {"reason": "too_many_prompts"},
            )
        turn: Turn[Asked, Ended] = Turn(asked, mark)
        self._line.append(turn)
        if self._work is None:
            self._work = asyncio.create_task(self._work_off(), name="tidings-turns")
        return turn.ended

    def cancel(self) -> bool:
        """End what runs and what waits; gives whether there was anything."""
        for turn in self._line:
            turn.cancelled = True
        if self._line:
            self._stop()
        return bool(self._line)

    def cancel_one(self, mark: object) -> None:
        """End only the turn with this mark, if it runs or waits."""
        for at, turn in enumerate(self._line):
            if turn.mark == mark:
                turn.cancelled = True
                if at == 0:
                    self._stop()
                else:
                    _settle(turn.ended, self._skipped)

    async def end(self, seconds: float) -> bool:
        """Cancel, and wait until all is quiet; gives whether it was in time. Late work is cut off."""
        self.cancel()
        work = self._work
        if work is None:
            return True
        done, _ = await asyncio.wait({work}, timeout=seconds)
        if not done:
            work.cancel()
            await asyncio.wait({work})
        return bool(done)

    async def _work_off(self) -> None:
        try:
            while self._line:
                await self._work_on(self._line[0])
                self._line.popleft()
        finally:
            self._work = None
            for turn in self._line:
                _settle(turn.ended, self._skipped)
            self._line.clear()

    async def _work_on(self, turn: Turn[Asked, Ended]) -> None:
        if turn.cancelled:
            _settle(turn.ended, self._skipped)
            return
        try:
            ended = await self._run(turn.asked)
        except Exception as error:  # noqa: BLE001  # whoever submitted the turn gets it
            if not turn.ended.done():
                turn.ended.set_exception(error)
        else:
            _settle(turn.ended, ended)


def _settle(future: asyncio.Future[Ended], ended: Ended) -> None:
    if not future.done():
        future.set_result(ended)
