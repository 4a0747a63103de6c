"""Purging the SQLite file: what the chain still proves, kills, other processes, space given back."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from tests.log.test_processes import DEADLINE, child
from tidings.errors import LogCorruptError, LogUnavailableError, LogUsageError, SubscriberLaggedError
from tidings.log import Checkpoint, open_log
from tidings.log.memory import MemoryLog
from tidings.log.purge import RESERVE_PAGES, Cut, cut_off
from tidings.log.record import CHECKPOINTS, mark_of
from tidings.log.sqlite import SqliteLog

T, CHECKS = 2 << 40, 3 << 40
"""The row before the first of `t`, and before the first checkpoint."""

TAMPERINGS = {
    "an altered record that was left": ([f"UPDATE records SET kind = 'x' WHERE id = {T + 6}"], "t", 6),
    "a removed record that was left": ([f"DELETE FROM records WHERE id = {T + 5}"], "t", 5),
    "a purged record put back": ([f"INSERT INTO records VALUES ({T + 4}, 1, 'k', '{{}}', NULL)"], "", 0),
    "a base moved on": (
        [
            f"UPDATE chains SET base_cursor = 6, base_link = (SELECT link FROM records WHERE id = {T + 6}) "
            "WHERE id = 2",
            f"DELETE FROM records WHERE id > {T} AND id <= {T + 6}",
        ],
        "t",
        6,
    ),
    "a base moved back": (["UPDATE chains SET base_cursor = 3 WHERE id = 2"], "t", 4),
    "a base with another link": (["UPDATE chains SET base_link = zeroblob(32) WHERE id = 2"], "t", 5),
    "an altered checkpoint": (
        [
            "UPDATE records SET payload = replace(payload, '\"purged_through\":4', '\"purged_through\":2') "
            f"WHERE id = {CHECKS + 1}"
        ],
        CHECKPOINTS,
        1,
    ),
    "a removed checkpoint": ([f"DELETE FROM records WHERE id = {CHECKS + 1}"], CHECKPOINTS, 1),
    "a checkpoint removed with its head": (
        [
            f"DELETE FROM records WHERE id > {CHECKS}",
            "UPDATE chains SET cursor = 0, link = zeroblob(32) WHERE id = 3",
        ],
        "t",
        4,
    ),
    "all checkpoints removed with their topic": (
        [f"DELETE FROM records WHERE id > {CHECKS}", "DELETE FROM chains WHERE id = 3"],
        "t",
        4,
    ),
}


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0
        connection.commit()


def make(path: Path, count: int = 8, size: int = 0) -> None:
    with open_log(path, clock=lambda: 1_700_000_000_000) as log:
        for number in range(count):
            log.append("t", "k", {"n": number, "text": "x" * size})


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_tampering_after_a_purge_is_found_where_it_happened(tmp_path: Path, tampering: str) -> None:
    path = tmp_path / "log.db"
    make(path)
    with open_log(path) as log:
        log.purge("t", 4)
        log.verify()
    statements, topic, cursor = TAMPERINGS[tampering]
    change(path, *statements)
    with open_log(path) as log, pytest.raises(LogCorruptError) as raised:
        log.verify()
    assert (raised.value.topic, raised.value.cursor) == (topic, cursor)


def test_a_checkpoint_holds_the_link_at_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path)
    with closing(sqlite3.connect(path)) as connection:
        (link,) = connection.execute(f"SELECT hex(link) FROM records WHERE id = {T + 4}").fetchone()
    with open_log(path, clock=lambda: 7) as log:
        first = mark_of(next(log.read("t")))
        expected = Checkpoint(topic="t", purged_through=4, link=link.lower(), count=4, at_ms=7, first=first)
        assert log.purge("t", 4) == expected
        assert log.verify().checkpoints == (expected,)


def test_a_purge_does_not_cover_up_a_break(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path)
    change(path, f"UPDATE records SET payload = '{{}}' WHERE id = {T + 3}")
    with open_log(path) as log:
        for dry_run in (True, False):
            with pytest.raises(LogCorruptError, match="records 3 to 3 were changed"):
                log.purge("t", 5, dry_run=dry_run)
        assert log.purged_through("t") == 0
        log.purge("t", 2)
        assert log.purged_through("t") == 2


def test_space_goes_back_to_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path, 2_000, 4_000)
    full = path.stat().st_size
    with open_log(path) as log:
        log.purge("t", 1_900)
        used = log.size()
    assert used < full / 10
    assert path.stat().st_size <= used + RESERVE_PAGES * 4096
    with open_log(path) as log:
        assert [record.cursor for record in log.read("t", 1_900)] == list(range(1_901, 2_001))
        log.verify()


def test_a_file_made_without_giving_back_keeps_the_space_for_what_comes(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path, 200, 2_000)
    change_mode(path)
    full = path.stat().st_size
    with open_log(path) as log:
        log.purge("t", 190)
        assert log.size() < full / 2
        log.append_batch([("t", "k", {"text": "x" * 2_000}) for _ in range(100)])
    assert path.stat().st_size == full


def change_mode(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")


def test_what_is_purged_bit_by_bit_makes_room_without_moving_pages(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path, 200, 2_000)
    statements: list[str] = []
    with SqliteLog(path) as log:
        log._writer.connection.set_trace_callback(statements.append)
        log.purge("t", 100)
        assert not any("incremental_vacuum" in each for each in statements)


def test_who_writes_gets_in_while_space_is_given_back(tmp_path: Path) -> None:
    make(tmp_path / "log.db", 1_000, 3_000)

    async def main(log: SqliteLog) -> int:
        purge = asyncio.create_task(asyncio.to_thread(log.purge, "t", 1_000))
        written = 0
        async with asyncio.timeout(DEADLINE):
            while not purge.done():
                log.append("u", "k", {})
                written += 1
                await asyncio.sleep(0)
            await purge
        return written

    with SqliteLog(tmp_path / "log.db") as log:
        written = asyncio.run(main(log))
        assert (written > 1, log.latest("u"), log.verify().records) == (True, written, written + 1)


def test_threads_that_purge_the_same_topic_purge_each_record_once(tmp_path: Path) -> None:
    make(tmp_path / "log.db", 200)
    counts: list[int] = []

    def purge(log: SqliteLog, start: int) -> None:
        for through in range(start, 201, 3):
            purged = log.purge("t", through)
            counts.append(0 if purged is None else purged.count)

    with SqliteLog(tmp_path / "log.db") as log:
        threads = [Thread(target=purge, args=(log, start)) for start in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        assert (sum(counts), log.purged_through("t"), len(counts)) == (200, 200, 200)
        log.verify()


def test_a_topic_that_grew_is_not_forgotten_whole(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        log.append("t", "k", {})
        stale = log._find_cut("t", 1)
        assert isinstance(stale, Cut)
        log.append("t", "k", {})
        for whole, done in ((True, False), (False, True), (False, False)):
            purged = stale.checkpoint(7)
            assert log._writer.transact(lambda at, w=whole, p=purged: cut_off(at, stale, p, w)) == done
        assert (log.purged_through("t"), log.latest(CHECKPOINTS)) == (1, 1)


def test_a_topic_that_grows_while_it_is_looked_at_is_not_forgotten_whole() -> None:
    class Growing(MemoryLog):
        """Grows between the check that all of a session goes and its going."""

        asked = 0

        def latest(self, topic: str) -> int:
            found = super().latest(topic)
            self.asked += 1
            if self.asked == 2:
                self.append(topic, "mailbox.queued", {})
            return found

    with Growing() as log:
        log.append("session.s.transcript", "mailbox.queued", {})
        with pytest.raises(LogUsageError, match="cannot be purged up to 1, only up to 0"):
            log.purge("session.s.transcript", 1)
        assert (log.latest("session.s.transcript"), log.purged_through("session.s.transcript")) == (2, 0)


def test_a_page_read_during_a_purge_has_no_hole(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path)
    with SqliteLog(path) as log, SqliteLog(path) as other:

        def purge_first(statement: str) -> None:
            if "group_concat" in statement:
                log._reader._connection.set_trace_callback(None)
                other.purge("t", 4)

        log._reader._connection.set_trace_callback(purge_first)
        with pytest.raises(SubscriberLaggedError) as raised:
            list(log.read("t", 2))
        assert (raised.value.resume_from, raised.value.missed) == (4, 2)


@pytest.mark.parametrize(
    ("statement", "gone"),
    [
        ("BEGIN IMMEDIATE", 0),
        ("DELETE FROM records", 0),
        ("UPDATE chains SET base_cursor", 0),
        ("INSERT INTO records", 0),
        ("UPDATE chains SET cursor", 0),
        ("COMMIT", 0),
        ("PRAGMA incremental_vacuum", 200),
    ],
)
def test_killed_in_the_middle_of_a_purge_all_of_it_is_done_or_nothing(
    tmp_path: Path, statement: str, gone: int
) -> None:
    path = tmp_path / "log.db"
    make(path, 300, 8_000)
    with child("die_in_purge", path, statement) as dying:
        assert dying.wait(DEADLINE) == -signal.SIGKILL
    with open_log(path) as log:
        assert log.purged_through("t") == gone
        assert log.verify().records == 300 - gone + (gone > 0)
        assert [record.cursor for record in log.read("t", gone)] == list(range(gone + 1, 301))
        assert log.append("t", "k", {}).cursor == 301
        log.purge("t", 250)
        log.verify()


def test_processes_that_write_read_and_purge_at_once_agree(tmp_path: Path) -> None:
    path, last = tmp_path / "log.db", 2 * 60 * 4
    make(path, 0)
    with (
        child("read_on", path, last) as reader,
        child("purge", path, last) as purger,
        child("write", path, "a", 60) as first,
        child("write", path, "b", 60) as second,
    ):
        written = " ".join(each.communicate(timeout=DEADLINE)[0] for each in (first, second))
        read, purged = (each.communicate(timeout=DEADLINE)[0] for each in (reader, purger))
    assert sorted(map(int, written.split())) == list(range(1, last + 1))
    position = 0
    for what, number in (line.split() for line in read.splitlines()):
        assert what == "gone" or int(number) == position + 1
        position += int(number) if what == "gone" else 1
    cuts = [tuple(map(int, line.split())) for line in purged.splitlines()]
    assert (position, sum(count for _, count in cuts)) == (last, cuts[-1][0])
    with open_log(path) as log:
        assert log.verify().records == last - cuts[-1][0] + len(cuts)


def test_a_log_locked_by_another_process_purges_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    make(path)
    with SqliteLog(path, busy_seconds=0.05) as log, SqliteLog(path) as other:
        other._writer.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailableError, match="another process holds the write lock"):
            log.purge("t", 4)
        other._writer.connection.execute("ROLLBACK")
        assert (log.purged_through("t"), log.verify().records) == (0, 8)
