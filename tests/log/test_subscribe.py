"""What subscribers hold and give back; the contract suite proves what they receive."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from tidings.errors import LogCorruptError, SubscriberLaggedError
from tidings.log.memory import MemoryLog
from tidings.log.nudge import nudge_directory
from tidings.log.sqlite import SqliteLog
from tidings.testing.log_contract import DEADLINE, take, until_live


def held(log: SqliteLog) -> tuple[int, int, bool]:
    return len(log._bells), len(log._watches), nudge_directory(log.path).exists()


async def stop_by_break(log: SqliteLog) -> None:
    async for _ in log.subscribe("t"):
        break
    for _ in range(5):
        await asyncio.sleep(0)


async def stop_by_closing(log: SqliteLog) -> None:
    async with aclosing(log.subscribe("t")) as records:
        await anext(records)


async def stop_by_cancelling(log: SqliteLog) -> None:
    records = log.subscribe("t", 1)
    waiting = await until_live(records)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize("stop", [stop_by_break, stop_by_closing, stop_by_cancelling])
def test_a_subscriber_that_stops_releases_everything(tmp_path: Path, stop: object) -> None:
    assert callable(stop)

    async def main(log: SqliteLog) -> None:
        async with asyncio.timeout(DEADLINE):
            records = log.subscribe("t")
            await anext(records)
            assert held(log) == (1, 1, True)
            await stop(log)
            assert held(log) == (1, 1, True)
            await records.aclose()
            assert held(log) == (0, 0, False)

    with SqliteLog(tmp_path / "log.db") as log:
        log.append("t", "k", {})
        asyncio.run(main(log))


def test_subscribers_of_one_loop_share_one_socket(tmp_path: Path) -> None:
    async def main(log: SqliteLog) -> list[int]:
        streams = [log.subscribe("t") for _ in range(3)]
        waiting = [await until_live(records) for records in streams]
        sockets = os.listdir(nudge_directory(log.path))
        log.append("t", "k", {})
        async with asyncio.timeout(DEADLINE):
            seen = [(await record).cursor for record in waiting]
        for records in streams:
            await records.aclose()
        return [len(sockets), *seen]

    with SqliteLog(tmp_path / "log.db", poll_seconds=3600) as log:
        assert asyncio.run(main(log)) == [1, 1, 1, 1]


def test_a_subscriber_of_a_damaged_record_is_told(tmp_path: Path) -> None:
    async def main(log: SqliteLog) -> None:
        await take(log.subscribe("t"), 2)

    with SqliteLog(tmp_path / "log.db") as log:
        log.append("t", "k", {})
        log._writer.connection.execute("UPDATE records SET payload = 'x'")
        with pytest.raises(LogCorruptError, match="does not decode at cursor 1"):
            asyncio.run(main(log))


def test_a_subscriber_ahead_of_the_log_waits_for_its_cursor(tmp_path: Path) -> None:
    async def main(log: SqliteLog) -> list[int]:
        following = asyncio.ensure_future(take(log.subscribe("t", 3), 1))
        for _ in range(4):
            await log.append_durable("t", "k", {})
        return [record.cursor for record in await following]

    with SqliteLog(tmp_path / "log.db") as log:
        assert asyncio.run(main(log)) == [4]


def test_a_memory_log_with_a_capacity_says_how_many_records_are_gone() -> None:
    with MemoryLog(capacity=3) as log:
        log.append_batch([("t", "k", {"n": n}) for n in range(10)])
        assert [record.cursor for record in log.read("t", 7)] == [8, 9, 10]
        with pytest.raises(SubscriberLaggedError) as raised:
            log.read("t", 2)
        assert (raised.value.resume_from, raised.value.latest, raised.value.missed) == (7, 10, 5)
        with pytest.raises(SubscriberLaggedError) as raised:
            asyncio.run(take(log.subscribe("t", 6), 1))
        assert (raised.value.resume_from, raised.value.latest, raised.value.missed) == (7, 10, 1)
        assert [r.cursor for r in asyncio.run(take(log.subscribe("t", 7), 3))] == [8, 9, 10]
