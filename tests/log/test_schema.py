"""Files that an older Tidings wrote: read, verified and written on, and not misread by an older one."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.log.test_processes import DEADLINE, child
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import LogRecord, Verified, open_log
from tidings.log.schema import VERSION

FIXTURES = Path(__file__).parent / "fixtures"
FIRST = FIXTURES / "schema-1.sqlite"
"""Every record had a row of its own: seven records in `t`, two in `u`."""
SECOND = FIXTURES / "schema-2.sqlite"
"""All rows were in one table: six records of the lifecycle, the first of them purged, and three in `u`."""
NOON = 1_700_000_000_000


def copied(old: Path, folder: Path) -> Path:
    return Path(shutil.copy(old, folder / "log.db"))


def rows_in(path: Path, table: str) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT id % (1 << 40), kind FROM {table} ORDER BY id").fetchall()


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_file_of_the_first_schema_is_read_verified_and_written(tmp_path: Path) -> None:
    path = copied(FIRST, tmp_path)
    before = rows_in(path, "records")
    with open_log(path, clock=lambda: 8) as log:
        many = [LogRecord(n + 1, "t", "k.many", {"n": n}, NOON + 1) for n in range(1, 5)]
        old = [
            LogRecord(1, "t", "k.one", {"n": 0, "text": "line\nend"}, NOON),
            *many,
            LogRecord(6, "t", "k.one", {"n": 5}, NOON + 2),
            LogRecord(7, "t", "k.last", {"n": 6, "deep": {"ä": [1, None]}}, NOON + 3),
        ]
        assert list(log.read("t")) == old
        assert list(log.read("t", 2, "k.many")) == many[1:]
        assert log.verify() == Verified(topics=2, records=9, batches=6)
        new = log.append_batch([("t", "k.new", {"n": 7}), ("t", "k.new", {"n": 8})])
        assert list(log.read("t")) == [*old, *new]
        assert list(log.read("t", 7)) == list(new)
        assert log.verify() == Verified(topics=2, records=11, batches=7)
    assert rows_in(path, "first_records") == [*before[:7], (9, "k.new ")]
    assert rows_in(path, "records") == before[7:]


def test_a_file_of_the_second_schema_is_read_verified_written_and_purged(tmp_path: Path) -> None:
    path = copied(SECOND, tmp_path)
    with open_log(path, clock=lambda: 8) as log:
        old = [
            *[LogRecord(n + 1, LIFECYCLE_TOPIC, "k.many", {"n": n}, NOON + 1) for n in range(1, 5)],
            LogRecord(6, LIFECYCLE_TOPIC, "k.last", {"n": 5, "deep": {"ä": [1, None]}}, NOON + 3),
        ]
        times = (NOON, NOON + 2, NOON + 3)
        others = [LogRecord(n + 1, "u", "k", {"n": n}, at) for n, at in enumerate(times)]
        assert (list(log.read(LIFECYCLE_TOPIC, 1)), list(log.read("u"))) == (old, others)
        found = log.verify()
        assert (found.records, [one.purged_through for one in found.checkpoints]) == (9, [1])
        new = log.append_batch([(LIFECYCLE_TOPIC, "k.new", {}), ("u", "k.new", {})])
        assert list(log.read(LIFECYCLE_TOPIC, 1)) == [*old, new[0]]
        assert log.verify().records == 11
        purged = log.purge(LIFECYCLE_TOPIC, 5)
        assert (purged and purged.count, log.verify().records) == (4, 8)
        assert list(log.read(LIFECYCLE_TOPIC, 5)) == [old[-1], new[0]]
    assert rows_in(path, "first_records") == [(6, "k.last"), (7, "k.new")]


@pytest.mark.parametrize("old", [FIRST, SECOND], ids=["first", "second"])
def test_an_older_file_is_marked_so_that_no_older_tidings_misreads_it(old: Path, tmp_path: Path) -> None:
    path = copied(old, tmp_path)
    with open_log(path), open_log(path) as again:
        assert (version_of(path), again.verify().records) == (VERSION, 9)


def test_an_older_tidings_that_has_the_file_open_writes_nothing_more(tmp_path: Path) -> None:
    path = copied(SECOND, tmp_path)
    with closing(sqlite3.connect(path)) as older:
        advance = "UPDATE topics SET cursor = cursor + 1 WHERE id = 1"
        older.execute(advance)
        older.rollback()
        open_log(path).close()
        with pytest.raises(sqlite3.OperationalError, match="no such table: topics"):
            older.execute(advance)


@pytest.mark.parametrize(
    "statement",
    ["ALTER TABLE", "CREATE TABLE", "INSERT INTO", "DELETE FROM", "PRAGMA user_version = ", "COMMIT"],
)
def test_killed_while_a_file_is_brought_up_to_date_it_is_the_old_one(
    tmp_path: Path, statement: str
) -> None:
    path = copied(SECOND, tmp_path)
    with child("die_in_opening", path, statement) as dying:
        assert dying.wait(DEADLINE) == -signal.SIGKILL
    assert version_of(path) == 2
    with open_log(path) as log:
        assert (version_of(path), log.verify().records) == (VERSION, 9)


def test_processes_that_open_an_older_file_at_once_agree(tmp_path: Path) -> None:
    path = copied(SECOND, tmp_path)
    with child("write", path, "a", 5) as first, child("write", path, "b", 5) as second:
        for each in (first, second):
            each.communicate(timeout=DEADLINE)
            assert each.returncode == 0
    with open_log(path) as log:
        assert log.verify().records == 9 + 2 * 5 * 4
