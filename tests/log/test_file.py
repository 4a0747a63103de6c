"""The SQLite file: what is opened, what is refused, and a disk that is full."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from tidings.errors import LogCorruptError, LogUnavailableError, LogUsageError
from tidings.log import Verified, open_log
from tidings.log.sqlite import SqliteLog


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_log_opened_again_goes_on_where_it_was(tmp_path: Path) -> None:
    for durability in ("normal", "fsync", "normal"):
        with open_log(tmp_path / "log.db", durability=durability) as log:
            log.append_batch([("a", "k", {}), ("b", "k", {})])
    with open_log(tmp_path / "log.db") as log:
        assert (log.latest("a"), log.latest("b")) == (3, 3)
        assert log.verify() == Verified(topics=2, records=6, batches=6)


@pytest.mark.parametrize("round_", range(30))
def test_a_new_file_can_be_opened_by_many_at_once(tmp_path: Path, round_: int) -> None:
    path, together = tmp_path / f"{round_}.db", Barrier(6)

    def use(number: int) -> int:
        together.wait(30)
        with open_log(path) as log:
            return log.append(f"topic-{number}", "k", {}).cursor

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(use, range(6))) == [1] * 6


def test_a_database_of_another_application_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(LogUsageError, match="database of another application"):
        open_log(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    open_log(path).close()
    change(path, "PRAGMA user_version = 4")
    with pytest.raises(LogUnavailableError, match="has schema 4, this Tidings reads up to 3"):
        open_log(path)


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_text("once upon a time" * 100)
    with pytest.raises(LogCorruptError, match=r"log\.db is damaged"):
        open_log(path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "log.db"
    with pytest.raises(LogUnavailableError, match="check that its directory exists") as raised:
        open_log(path)
    assert str(path) in str(raised.value)


def test_a_page_that_does_not_decode_names_its_record(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        log.append_batch([("t", "k", {"n": n}) for n in range(5)])
        change(path, """UPDATE records SET payload = replace(payload, '{"n":2}', '{')""")
        with pytest.raises(LogCorruptError) as raised:
            list(log.read("t"))
    assert (raised.value.topic, raised.value.cursor) == ("t", 3)


@pytest.mark.parametrize("durability", ["normal", "fsync"])
def test_a_full_disk_loses_nothing_and_the_log_works_again_once_relieved(
    tmp_path: Path, durability: str
) -> None:
    big = {"text": "x" * 10_000}
    with SqliteLog(tmp_path / "log.db", durability=durability) as log:  # type: ignore[arg-type]
        log.append("t", "k", {})
        limit(log, 12)
        with pytest.raises(LogUnavailableError, match="the disk is full; free some space"):
            log.append_batch([("t", "k", big), ("new", "k", big)] * 20)
        with pytest.raises(LogUnavailableError, match="the disk is full; free some space"):
            asyncio.run(durable(log, {"text": "x" * 200_000}))
        assert (log.latest("t"), log.topics()) == (1, ("t",))
        limit(log, 1_000_000)
        assert log.append("t", "k", big).cursor == 2
        assert asyncio.run(durable(log, big)) == 3
        assert log.append("new", "k", big).cursor == 1
        assert log.verify() == Verified(topics=2, records=4, batches=4)


def limit(log: SqliteLog, pages: int) -> None:
    log._writer.connection.execute(f"PRAGMA max_page_count = {pages}")


async def durable(log: SqliteLog, payload: dict[str, object]) -> int:
    async with asyncio.timeout(10):
        return (await log.append_durable("t", "k", payload)).cursor


def test_a_commit_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db", clock=iter([1, 2**70, 3]).__next__) as log:
        log.append("t", "k", {})
        with pytest.raises(OverflowError):
            log.append_batch([("t", "k", {}), ("new", "k", {})])
        assert log.append("t", "k", {}).cursor == 2
        assert (log.topics(), log.verify().records) == (("t",), 2)


def test_heads_remembered_from_before_another_writer_are_reloaded(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as one, open_log(tmp_path / "log.db") as two:
        cursors = [log.append(topic, "k", {}).cursor for log in (one, two) * 3 for topic in "ab"]
        assert cursors == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
        assert one.verify() == two.verify() == Verified(topics=2, records=12, batches=12)


def test_big_and_small_payloads_are_paged_alike(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        sizes = [300_000] * 5 + [1] * 400 + [300_000] * 20
        log.append_batch([("t", "k", {"text": "x" * size}) for size in sizes])
        assert [len(str(record.payload["text"])) for record in log.read("t")] == sizes


def test_a_page_too_long_for_sqlite_is_read_in_smaller_ones(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        records = [log.append("t", "k", {"text": "x" * 1000}) for _ in range(50)]
        log._reader._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5000)
        assert list(log.read("t")) == records
        log._reader._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 500)
        with pytest.raises(LogUnavailableError, match="too big"):
            list(log.read("t"))


def test_the_write_ahead_log_is_moved_into_the_database_in_the_background(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog(path) as log:
        for _ in range(5):
            log.append("t", "k", {"text": "x" * 4_000_000})
        log._disk.close()
        assert path.stat().st_size > 16_000_000
        assert log.verify().records == 5
