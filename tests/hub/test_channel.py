"""A channel: every reader gets every record once and in order, wherever it begins, however slow it is."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidings.hub.channel as home
from tests.hub.desks import DEADLINE
from tidings.errors import LogUsageError
from tidings.hub.channel import Channel, Chunk
from tidings.log import EventLog, LogRecord, open_log

TOPIC = "hub"


def line(record: LogRecord) -> bytes:
    return b"%d\n" % record.cursor


def channel_of(log: EventLog) -> Channel:
    return Channel(log, TOPIC, line)


def write(log: EventLog, count: int, kind: str = "a.b") -> None:
    log.append_batch([(TOPIC, kind, {})] * count)


async def numbers(chunks: AsyncGenerator[Chunk, None], last: int) -> list[int]:
    """The cursors that a reader gets, up to one of them."""
    found: list[int] = []
    while not found or found[-1] != last:
        found += map(int, (await anext(chunks)).body.split())
    return found


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, DEADLINE))


def test_readers_get_history_and_news_from_where_they_stand() -> None:
    async def scene() -> None:
        log = open_log("memory:")
        write(log, 5)
        channel = channel_of(log)
        async with aclosing(channel.read(0)) as all_of_it, aclosing(channel.read(3)) as rest:
            assert await numbers(all_of_it, 5) == [1, 2, 3, 4, 5]
            assert await numbers(rest, 5) == [4, 5]
            write(log, 2)
            assert await numbers(all_of_it, 7) == [6, 7]
            assert await numbers(rest, 7) == [6, 7]

    play(scene())


def test_a_record_is_encoded_once_for_all_readers_who_keep_up() -> None:
    async def scene() -> None:
        encoded: list[int] = []

        def encode(record: LogRecord) -> bytes:
            encoded.append(record.cursor)
            return line(record)

        log = open_log("memory:")
        channel = Channel(log, TOPIC, encode)
        readers = [channel.read(0) for _ in range(20)]
        waits = [asyncio.create_task(anext(reader)) for reader in readers]
        await asyncio.sleep(0)
        assert channel.readers == len(readers)
        write(log, 3)
        chunks = await asyncio.gather(*waits)
        bodies = {chunk.body for chunk in chunks}
        assert (len(bodies), encoded) == (1, [1, 2, 3])
        for reader in readers:
            await reader.aclose()
        assert channel.readers == 0

    play(scene())


def test_a_reader_that_slept_through_the_ring_misses_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(home, "KEPT", 8)
    monkeypatch.setattr(home, "PAGE", 5)

    async def scene() -> None:
        log = open_log(tmp_path / "hub.db")
        channel = channel_of(log)
        async with aclosing(channel.read(0)) as slow, aclosing(channel.read(0)) as quick:
            write(log, 1)
            assert (await numbers(slow, 1), await numbers(quick, 1)) == ([1], [1])
            write(log, 30)
            assert await numbers(quick, 31) == list(range(2, 32))
            assert await numbers(slow, 31) == list(range(2, 32))
        log.close()

    play(scene())


def test_a_reader_of_one_kind_gets_that_kind_and_keeps_its_place() -> None:
    async def scene() -> None:
        log = open_log("memory:")
        write(log, 2, "other")
        write(log, 1, "a.b")
        channel = channel_of(log)
        async with aclosing(channel.read(0, "a.")) as chunks:
            assert await anext(chunks) == Chunk(3, b"3\n")
            write(log, 1, "other")
            write(log, 1, "a.c")
            assert await anext(chunks) == Chunk(5, b"5\n")

    play(scene())


def test_a_log_that_closes_ends_every_reader_and_one_begun_later_starts_anew() -> None:
    async def scene() -> None:
        log = open_log("memory:")
        channel = channel_of(log)
        write(log, 1)
        async with aclosing(channel.read(0)) as chunks:
            assert await numbers(chunks, 1) == [1]
        async with aclosing(channel.read(0)) as chunks:
            assert await numbers(chunks, 1) == [1]
            log.close()
            assert [chunk async for chunk in chunks] == []

    play(scene())


def test_a_cursor_that_is_none_is_refused() -> None:
    async def scene() -> None:
        log = open_log("memory:")
        write(log, 1)
        async with aclosing(channel_of(log).read(-1)) as chunks:
            with pytest.raises(LogUsageError, match="-1"):
                await anext(chunks)

    play(scene())


@given(
    bursts=st.lists(st.integers(1, 40), min_size=2, max_size=8),
    start=st.integers(0, 40),
    kept=st.integers(1, 20),
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_bursts_a_reader_gets_each_record_after_its_start_once(
    bursts: list[int], start: int, kept: int
) -> None:
    begun = min(start, bursts[0])

    async def scene() -> None:
        log = open_log("memory:")
        write(log, bursts[0])
        async with aclosing(channel_of(log).read(begun)) as chunks:
            reading = asyncio.create_task(numbers(chunks, sum(bursts)))
            for burst in bursts[1:]:
                await asyncio.sleep(0)
                write(log, burst)
            assert await reading == list(range(begun + 1, sum(bursts) + 1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, "KEPT", kept)
        play(scene())


def test_readers_that_leave_while_nothing_comes_leave_nothing_behind() -> None:
    async def waiting(channel: Channel) -> None:
        async with aclosing(channel.read(0)) as chunks:
            await anext(chunks)

    def futures() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Future) for each in gc.get_objects())

    async def scene() -> None:
        channel = channel_of(open_log("memory:"))
        stays = asyncio.create_task(waiting(channel))
        await asyncio.sleep(0)
        before = futures()
        for _ in range(50):
            leaves = asyncio.create_task(waiting(channel))
            await asyncio.sleep(0)
            leaves.cancel()
            await asyncio.wait({leaves})
        del leaves
        assert futures() - before < 50
        stays.cancel()
        await asyncio.wait({stays})

    play(scene())
