"""When a command is run again, without any command: causes in, runs out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from tests.watchers.waiting import until
from tidings.watchers.rerun import (
    ECHOES,
    LONGEST_WAIT,
    MOST_PATHS,
    PATIENCE,
    START,
    Cause,
    Pace,
    Ran,
    reruns,
)

A, B = Cause(("a.py",)), Cause(("b.py",), own=True)
TICK = Cause(stale=False)


class Work:
    """Runs that end when the test says so."""

    def __init__(self) -> None:
        self.started = 0
        self.cancelled = 0
        self.end = asyncio.Queue[str]()

    async def run(self) -> str:
        self.started += 1
        try:
            return await self.end.get()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


class Script:
    """A run of `reruns` whose causes the test sends."""

    def __init__(self) -> None:
        self.work = Work()
        self.causes: asyncio.Queue[Cause | None] = asyncio.Queue()
        self.ran: list[Ran[str]] = []

    async def heard(self) -> AsyncGenerator[Cause, None]:
        while (cause := await self.causes.get()) is not None:
            yield cause

    async def follow(self) -> None:
        async for ran in reruns(self.heard(), self.work.run, Pace()):
            self.ran.append(ran)

    async def cause(self, cause: Cause, started: int) -> None:
        self.causes.put_nowait(cause)
        await until(lambda: self.work.started == started)

    async def settle(self) -> None:
        """Until every cause that was sent has been taken in."""
        await until(self.causes.empty)
        for _ in range(10):
            await asyncio.sleep(0)

    async def finish(self, word: str) -> None:
        before = len(self.ran)
        self.work.end.put_nowait(word)
        await until(lambda: len(self.ran) == before + 1)

    async def close(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.wait({task})


def play(steps: object) -> Script:
    script = Script()

    async def run() -> None:
        task = asyncio.create_task(script.follow())
        await until(lambda: script.work.started == 1)
        await steps(script)  # type: ignore[operator]
        await script.close(task)

    asyncio.run(run())
    return script


def test_it_runs_at_once_and_again_at_each_cause() -> None:
    async def steps(script: Script) -> None:
        await script.finish("one")
        await script.cause(A, started=2)
        await script.finish("two")

    assert play(steps).ran == [Ran("one", START), Ran("two", A)]


def test_a_change_during_a_run_cancels_it_and_both_causes_count() -> None:
    async def steps(script: Script) -> None:
        await script.finish("first")
        await script.cause(A, started=2)
        await script.cause(B, started=3)
        await script.finish("second")

    script = play(steps)
    assert script.ran == [Ran("first", START), Ran("second", Cause(("a.py", "b.py")))]
    assert script.work.cancelled == 1


def test_the_clock_does_not_make_a_run_stale() -> None:
    async def steps(script: Script) -> None:
        script.causes.put_nowait(TICK)
        script.causes.put_nowait(TICK)
        await script.settle()
        await script.finish("one")
        await script.cause(TICK, started=2)
        await script.finish("two")

    script = play(steps)
    assert ([ran.cause for ran in script.ran], script.work.cancelled) == ([START, TICK], 0)


def test_changes_that_never_pause_let_a_run_finish_now_and_then() -> None:
    async def steps(script: Script) -> None:
        for number in range(PATIENCE):
            await script.cause(Cause((f"f{number}",)), started=number + 2)
        script.causes.put_nowait(A)
        script.causes.put_nowait(B)
        await script.settle()
        await script.finish("finished")
        await until(lambda: script.work.started == PATIENCE + 2)
        await script.finish("after")

    script = play(steps)
    assert script.work.cancelled == PATIENCE
    assert script.ran[-1] == Ran("after", Cause(("a.py", "b.py")))


def test_when_nothing_can_cause_a_run_any_more_the_last_one_is_still_told() -> None:
    async def run() -> list[str]:
        script = Script()
        script.causes.put_nowait(None)
        script.work.end.put_nowait("only")
        async with asyncio.timeout(30):
            await script.follow()
        return [ran.result for ran in script.ran]

    assert asyncio.run(run()) == ["only"]


def test_closing_cancels_the_run_that_is_going() -> None:
    async def steps(script: Script) -> None:
        await script.cause(A, started=2)

    assert play(steps).work.cancelled == 2


def test_a_cause_that_keeps_following_its_own_run_waits_longer_each_time() -> None:
    pace = Pace()
    waits = [pace.wait(A, 0.1) for _ in range(ECHOES + 4)]
    assert waits == [0.0] * (ECHOES + 1) + [1.0, 2.0, 4.0]
    assert [pace.wait(A, 0.1) for _ in range(20)][-1] == LONGEST_WAIT


def test_other_files_or_a_pause_end_the_waiting() -> None:
    pace = Pace()
    echoes = [pace.wait(A, None) for _ in range(ECHOES + 2)]
    assert (echoes[-1], pace.wait(B, 0.1), pace.wait(B, 30.0), pace.wait(TICK, 0.0)) == (1.0, 0.0, 0.0, 0.0)


def test_causes_that_add_up_name_a_bounded_number_of_paths() -> None:
    many = [Cause(tuple(f"{number}/{each}" for each in range(MOST_PATHS))) for number in range(3)]
    both = many[0].and_then(many[1]).and_then(many[2])
    assert both == many[0]
