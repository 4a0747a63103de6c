"""Group commit: what is awaited together, cancelled, refused, and never waits in the loop."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from threading import Event, Thread

import pytest

from tidings.errors import LogUnavailableError
from tidings.log import LogRecord, Verified
from tidings.log.open import Durability
from tidings.log.sqlite import SqliteLog

DEADLINE = 10.0
BOTH: list[Durability] = ["normal", "fsync"]


class Disk:
    """A disk whose sync waits until it is released, or fails."""

    def __init__(self) -> None:
        self.asked = Event()
        self.released = Event()
        self.error: OSError | None = None

    def sync(self, descriptor: int) -> None:
        self.asked.set()
        assert self.released.wait(DEADLINE)
        if self.error is not None:
            raise self.error


def test_a_slow_disk_holds_up_neither_the_loop_nor_plain_appends(tmp_path: Path) -> None:
    disk = Disk()

    async def main(log: SqliteLog) -> tuple[bool, list[int]]:
        durable = asyncio.ensure_future(log.append_durable("t", "k", {}))
        assert await asyncio.to_thread(disk.asked.wait, DEADLINE)
        plain = [log.append("t", "k", {}).cursor, log.append("t", "k", {}).cursor]
        acknowledged_early = durable.done()
        disk.released.set()
        async with asyncio.timeout(DEADLINE):
            return acknowledged_early, [(await durable).cursor, *plain]

    with SqliteLog(tmp_path / "log.db", durability="fsync", sync=disk.sync) as log:
        assert asyncio.run(main(log)) == (False, [1, 2, 3])


def test_batches_that_wait_for_the_disk_share_the_next_commit(tmp_path: Path) -> None:
    disk = Disk()

    async def main(log: SqliteLog) -> list[LogRecord]:
        appends = [asyncio.ensure_future(log.append_durable("t", "k", {"n": 0}))]
        assert await asyncio.to_thread(disk.asked.wait, DEADLINE)
        for n in (1, 2, 3):
            appends.append(asyncio.ensure_future(log.append_durable("t", "k", {"n": n})))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        disk.released.set()
        async with asyncio.timeout(DEADLINE):
            return await asyncio.gather(*appends)

    with SqliteLog(tmp_path / "log.db", durability="fsync", sync=disk.sync) as log:
        records = asyncio.run(main(log))
        assert [record.payload for record in records] == [{"n": n} for n in range(4)]
        assert (records, log.verify().batches) == (list(log.read("t")), 2)


def test_a_disk_that_failed_to_sync_is_not_believed_again(tmp_path: Path) -> None:
    disk = Disk()
    disk.released.set()
    disk.error = OSError(errno.EIO, "Input/output error")
    with SqliteLog(tmp_path / "log.db", durability="fsync", sync=disk.sync) as log:
        for _ in range(2):
            with pytest.raises(LogUnavailableError, match="did not confirm a sync"):
                asyncio.run(append(log))
            disk.error = None


@pytest.mark.parametrize("durability", BOTH)
def test_what_one_turn_appends_is_one_commit(tmp_path: Path, durability: Durability) -> None:
    async def main(log: SqliteLog) -> list[LogRecord]:
        async with asyncio.timeout(DEADLINE):
            return await asyncio.gather(*(append(log) for _ in range(100)))

    with SqliteLog(tmp_path / "log.db", durability=durability) as log:
        assert [record.cursor for record in asyncio.run(main(log))] == list(range(1, 101))
        assert log.verify() == Verified(topics=1, records=100, batches=1)


@pytest.mark.parametrize("durability", BOTH)
def test_a_cancelled_producer_does_not_disturb_its_neighbours(
    tmp_path: Path, durability: Durability
) -> None:
    async def main(log: SqliteLog) -> list[LogRecord | BaseException]:
        tasks = [asyncio.ensure_future(append(log)) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[3].cancel()
        async with asyncio.timeout(DEADLINE):
            return await asyncio.gather(*tasks, return_exceptions=True)

    with SqliteLog(tmp_path / "log.db", durability=durability) as log:
        results = asyncio.run(main(log))
        assert [type(result) is LogRecord for result in results] == [True, False, True, False, True]
        assert [result for result in results if isinstance(result, LogRecord)] == [
            record for record in log.read("t") if record.cursor in (1, 3, 5)
        ]


@pytest.mark.parametrize("durability", BOTH)
def test_producers_beyond_the_queue_limit_wait_for_room(tmp_path: Path, durability: Durability) -> None:
    async def main(log: SqliteLog) -> list[LogRecord]:
        async with asyncio.timeout(DEADLINE):
            return await asyncio.gather(*(append(log) for _ in range(50)))

    with SqliteLog(tmp_path / "log.db", durability=durability, queue_limit=10) as log:
        assert sorted(record.cursor for record in asyncio.run(main(log))) == list(range(1, 51))
        assert log.verify() == Verified(topics=1, records=50, batches=5)


@pytest.mark.parametrize("durability", BOTH)
def test_several_event_loops_append_at_once(tmp_path: Path, durability: Durability) -> None:
    async def main(log: SqliteLog) -> None:
        async with asyncio.timeout(DEADLINE):
            for _ in range(20):
                await asyncio.gather(append(log), append(log))

    with SqliteLog(tmp_path / "log.db", durability=durability) as log:
        threads = [Thread(target=asyncio.run, args=(main(log),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        assert [record.cursor for record in log.read("t")] == list(range(1, 121))
        assert log.verify().records == 120


@pytest.mark.parametrize("durability", BOTH)
def test_closing_finishes_what_is_queued(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "log.db"

    async def main() -> LogRecord:
        log = SqliteLog(path, durability=durability)
        queued = asyncio.ensure_future(append(log))
        await asyncio.sleep(0)
        log.close()
        async with asyncio.timeout(DEADLINE):
            return await queued

    record = asyncio.run(main())
    with SqliteLog(path) as log:
        assert list(log.read("t")) == [record]


async def append(log: SqliteLog) -> LogRecord:
    return await log.append_durable("t", "k", {"text": "x"})
