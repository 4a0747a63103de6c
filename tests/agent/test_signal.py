"""A signal: an event that calls back."""

from __future__ import annotations

import asyncio

from tidings.agent.session import Session
from tidings.agent.signal import Signal


def test_hearers_are_called_each_time_it_is_set_and_only_inside_their_block() -> None:
    heard: list[str] = []
    signal = Signal()
    signal.set()
    with signal.telling(lambda: heard.append("outer")):
        signal.set()
        with signal.telling(lambda: heard.append("inner")):
            signal.set()
        signal.set()
    signal.set()
    assert heard == ["outer", "outer", "inner", "outer"]


def test_a_hearer_may_leave_while_it_is_called() -> None:
    signal, heard = Signal(), []
    telling = signal.telling(lambda: (heard.append("once"), telling.__exit__(None, None, None)))
    telling.__enter__()
    signal.set()
    signal.set()
    assert heard == ["once"]


def test_those_who_wait_are_woken_as_by_any_event() -> None:
    async def main(signal: Signal | asyncio.Event) -> list[object]:
        waiting = [asyncio.ensure_future(signal.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting.pop().cancel()
        signal.set()
        signal.set()
        at_once = await signal.wait()
        signal.clear()
        again = asyncio.ensure_future(signal.wait())
        woken = await asyncio.gather(*waiting)
        return [at_once, *woken, signal.is_set(), again.done(), again.cancel()]

    async def bounded(signal: Signal | asyncio.Event) -> list[object]:
        async with asyncio.timeout(10):
            return await main(signal)

    expected = [True, True, True, False, False, True]
    assert [asyncio.run(bounded(kind())) for kind in (Signal, asyncio.Event)] == [expected, expected]


def test_news_from_another_thread_is_heard_in_the_loops_own() -> None:
    async def main() -> None:
        session, heard = Session("s"), asyncio.Event()
        with session.listening() as news, news.telling(heard.set):
            await asyncio.to_thread(session.cancel)
            async with asyncio.timeout(10):
                await heard.wait()

    asyncio.run(main())
