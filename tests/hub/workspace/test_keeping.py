"""A watcher is kept going: its failures are told and followed by a pause, and it is stopped in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from tests.hub.desks import DEADLINE
from tests.mcp.host.running import ManualClock
from tidings.errors import CallerError
from tidings.hub.workspace.keeping import Kept, stop
from tidings.mcp.host.settings import Backoff

QUICK = Backoff(first=1, factor=2, longest=4, attempts=4, steady=60)


class Scripted:
    """A watcher that says what it is told to, then waits or fails."""

    def __init__(self, *news: object, error: Exception | None = None, stays: float | None = None) -> None:
        self.ready = asyncio.Event()
        self.closed = False
        self._news = news
        self._error = error
        self._stays = stays

    async def watch(self) -> AsyncGenerator[object, None]:
        self.ready.set()
        try:
            for one in self._news:
                yield one
            if self._error is not None:
                raise self._error
            if self._stays is not None:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def run(scene: Callable[[], Any]) -> Any:
    async def whole() -> Any:
        async with asyncio.timeout(DEADLINE):
            return await scene()

    return asyncio.run(whole())


class Noting:
    """Everything that a kept watcher delivers, and every turn of its state."""

    def __init__(self) -> None:
        self.news: list[object] = []
        self.turns: list[tuple[str, str]] = []

    async def deliver(self, one: object) -> None:
        self.news.append(one)
        await asyncio.sleep(0)

    def turned(self, kept: Kept) -> None:
        self.turns.append((kept.state, kept.message))


async def ended(kept: Kept) -> None:
    while kept.state != "gave_up":  # noqa: ASYNC110 the state is all there is to look at
        await asyncio.sleep(0)


def test_a_watcher_that_fails_is_started_again_after_pauses_that_grow_and_then_given_up() -> None:
    async def scene() -> tuple[Noting, list[float]]:
        noting, clock = Noting(), ManualClock()
        made = [
            Scripted("one", error=CallerError("the folder is gone")),
            Scripted("two", error=RuntimeError("boom")),
            Scripted("three"),
            Scripted("four", error=OSError("disk")),
        ]
        left = iter(made)
        kept = Kept(
            lambda: next(left), noting.deliver, noting.turned, name="x", patience=QUICK, clock=clock
        )
        kept.start()
        await ended(kept)
        assert all(one.closed for one in made)
        return noting, clock.slept

    noting, slept = run(scene)
    assert noting.news == ["one", "two", "three", "four"]
    assert slept == [1, 2, 4]
    assert [turn for turn in noting.turns if turn[0] in ("waiting", "gave_up")] == [
        ("waiting", "the folder is gone"),
        ("waiting", "RuntimeError: boom"),
        ("waiting", "it ended by itself"),
        ("gave_up", "OSError: disk (given up after 4 times; attach the folder again)"),
    ]


def test_a_watcher_that_cannot_even_be_made_is_told_like_any_other() -> None:
    async def scene() -> Noting:
        def make() -> Scripted:
            raise CallerError("watching files needs watchfiles: pip install 'tidings[watch]'")

        noting = Noting()
        kept = Kept(make, noting.deliver, noting.turned, name="x", patience=QUICK, clock=ManualClock())
        kept.start()
        await ended(kept)
        return noting

    words = "watching files needs watchfiles: pip install 'tidings[watch]'"
    assert ("waiting", words) in run(scene).turns


def test_what_a_delivery_raises_costs_only_that_run() -> None:
    async def scene() -> Noting:
        noting, left = Noting(), iter([Scripted("bad"), Scripted("good", stays=1)])

        async def deliver(one: object) -> None:
            if one == "bad":
                raise RuntimeError("full")
            await noting.deliver(one)

        kept = Kept(
            lambda: next(left), deliver, noting.turned, name="x", patience=QUICK, clock=ManualClock()
        )
        kept.start()
        while not noting.news:  # noqa: ASYNC110 there is no event for it
            await asyncio.sleep(0)
        assert await stop([kept]) == []
        return noting

    noting = run(scene)
    assert noting.news == ["good"]
    assert noting.turns[-1] == ("stopped", "")


def test_a_watcher_that_stayed_long_enough_begins_a_new_row_of_losses() -> None:
    async def scene() -> list[float]:
        clock, noting = ManualClock(), Noting()

        async def deliver(one: object) -> None:
            clock.time += float(str(one))

        made = iter([Scripted("0"), Scripted("100"), Scripted("0"), Scripted("0"), Scripted("0")])
        kept = Kept(lambda: next(made), deliver, noting.turned, name="x", patience=QUICK, clock=clock)
        kept.start()
        await ended(kept)
        return clock.slept

    assert run(scene) == [1, 1, 2, 4]


def test_one_that_lost_its_source_waits_until_it_is_back() -> None:
    async def scene() -> list[str]:
        watcher, noting = Scripted(stays=1), Noting()
        kept = Kept(lambda: watcher, noting.deliver, noting.turned, name="x", clock=ManualClock())
        kept.start()
        await kept.settled.wait()
        states = [kept.state]
        watcher.ready.clear()
        states.append(kept.state)
        watcher.ready.set()
        states.append(kept.state)
        await stop([kept])
        return [*states, kept.state]

    assert run(scene) == ["watching", "waiting", "watching", "stopped"]


def test_one_that_does_not_end_in_time_is_named_and_left() -> None:
    async def scene() -> list[str]:
        release = asyncio.Event()

        class Stubborn(Scripted):
            async def watch(self) -> AsyncGenerator[object, None]:
                self.ready.set()
                try:
                    await asyncio.Event().wait()
                    yield
                finally:
                    await release.wait()

        noting = Noting()
        stubborn = Kept(Stubborn, noting.deliver, noting.turned, name="slow")
        quick = Kept(lambda: Scripted(stays=1), noting.deliver, noting.turned, name="quick")
        for kept in (stubborn, quick):
            kept.start()
            await kept.settled.wait()
        late = await stop([stubborn, quick], seconds=0.05)
        assert (stubborn.state, quick.state) == ("watching", "stopped")
        release.set()
        task = stubborn.cancel()
        assert task is not None
        await asyncio.wait({task})
        return late

    assert run(scene) == ["slow"]
