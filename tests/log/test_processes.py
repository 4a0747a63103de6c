"""The log between processes: killed writers, several writers, subscribers elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tidings.errors import LogUnavailableError, LogUsageError
from tidings.log import open_log
from tidings.log.nudge import Inbox, nudge_directory
from tidings.log.sqlite import SqliteLog
from tidings.testing.log_contract import take

CHILD = Path(__file__).with_name("child.py")
DEADLINE = 20.0
NEVER = "3600"


@contextmanager
def child(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        deadline = Timer(DEADLINE, process.kill)
        deadline.start()
        try:
            yield process
        finally:
            deadline.cancel()
            process.kill()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


@pytest.mark.parametrize("durability", ["normal", "fsync"])
def test_a_writer_killed_in_the_middle_loses_no_acknowledged_record(
    tmp_path: Path, durability: str
) -> None:
    path = tmp_path / "log.db"
    with child("write_durable", path, durability) as writer:
        lines(writer, 200)
        writer.kill()
        out, _ = writer.communicate(timeout=DEADLINE)
    acknowledged = 200 + len(out.split("\n")) - 1
    with open_log(path) as log:
        assert [record.cursor for record in log.read("t")] == list(range(1, log.latest("t") + 1))
        assert log.latest("t") >= acknowledged
        assert log.verify().records == log.latest("t")
        assert log.append("t", "k", {}).cursor == log.latest("t")


def test_batches_of_a_writer_elsewhere_are_read_whole_while_it_writes_and_after_it_is_killed(
    tmp_path: Path,
) -> None:
    path, size = tmp_path / "log.db", 30
    with open_log(path) as log, child("write_batches", path, size) as writer:
        for place in range(40):
            acknowledged = int(lines(writer, 1)[0])
            start = max(0, acknowledged - size - place)
            seen = [(record.cursor, record.payload["part"]) for record in log.read("t", start)]
            assert seen == [(start + n, (start + n - 1) % size) for n in range(1, len(seen) + 1)]
            assert start + len(seen) >= acknowledged
            assert (start + len(seen)) % size == 0
        writer.kill()
        out, _ = writer.communicate(timeout=DEADLINE)
        last = [int(line) for line in out.split("\n") if line.isdigit()]
        verified = log.verify()
        assert verified.records == log.latest("t") >= max(last, default=acknowledged)
        assert verified.batches * size == verified.records


def test_two_writing_processes_share_one_dense_order_that_every_subscriber_sees(
    tmp_path: Path,
) -> None:
    path, total = tmp_path / "log.db", 2 * 50 * 4
    with child("follow", path, total, 0.04) as one, child("follow", path, total, 0.04) as two:
        assert lines(one, 1) == lines(two, 1) == ["ready"]
        with child("write", path, "a", 50) as first, child("write", path, "b", 50) as second:
            given = [first.communicate(timeout=DEADLINE), second.communicate(timeout=DEADLINE)]
            seen = [one.communicate(timeout=DEADLINE), two.communicate(timeout=DEADLINE)]
    expected = [str(cursor) for cursor in range(1, total + 1)]
    assert sorted(" ".join(out for out, _ in given).split(), key=int) == expected
    assert [out.split() for out, _ in seen] == [expected, expected]
    with open_log(path) as log:
        assert (log.verify().records, log.verify().batches) == (total, 2 * 50 * 2)


def test_a_subscriber_elsewhere_is_woken_without_polling(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log, child("follow", path, 3, NEVER) as follower:
        assert lines(follower, 1) == ["ready"]
        for cursor in ("1", "2", "3"):
            log.append("t", "k", {})
            assert lines(follower, 1) == [cursor]
        assert follower.wait(DEADLINE) == 0
    assert not nudge_directory(path).exists()


def test_polling_finds_what_no_nudge_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        unfit = tmp_path / ("too-long-for-a-socket" * 8)
        unfit.mkdir()
        monkeypatch.setenv("TMPDIR", str(unfit))
        with child("follow", path, 2, 0.02) as follower:
            assert lines(follower, 1) == ["ready"]
            log.append("t", "k", {})
            log.append("t", "k", {})
            assert lines(follower, 2) == ["1", "2"]


def test_the_socket_of_a_killed_subscriber_is_removed_by_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log, child("follow", path, 3, NEVER) as follower:
        assert lines(follower, 1) == ["ready"]
        assert len(os.listdir(nudge_directory(path))) == 1
        follower.kill()
        follower.wait(DEADLINE)
        log.append("t", "k", {})
        assert os.listdir(nudge_directory(path)) == []
    nudge_directory(path).rmdir()


def test_a_socket_directory_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    directory = tmp_path / "open" / "sockets"
    directory.parent.mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="not a private directory"):
        Inbox(directory)


def test_two_logs_of_one_file_in_one_process_wake_each_other(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def main() -> list[int]:
        with SqliteLog(path, poll_seconds=3600) as one, SqliteLog(path) as other:
            following = asyncio.ensure_future(take(one.subscribe("t"), 3))
            for number in range(3):
                await asyncio.sleep(0)
                (other if number % 2 else one).append("t", "k", {})
            return [record.cursor for record in await following]

    assert asyncio.run(main()) == [1, 2, 3]


def test_a_read_only_file_is_refused_with_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with open_log(path) as log:
        log.append("t", "k", {})
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    for parent in list(tmp_path.parents)[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    with child("refuse_read_only", path) as refused:
        out, _ = refused.communicate(timeout=DEADLINE)
    tmp_path.chmod(0o755)
    assert out.startswith(f"event log {path}: ")
    assert "read-only; make both writable" in out


def test_a_log_used_after_a_fork_is_refused(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        log.append("t", "k", {})
        reading, writing = os.pipe()
        forked = os.fork()
        if forked == 0:
            try:
                log.append("t", "k", {})
            except LogUsageError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answer:
            assert "opened before a fork; open it in each process" in answer.read()
        os.waitpid(forked, 0)
        assert log.append("t", "k", {}).cursor == 2


def test_a_file_locked_beyond_the_deadline_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog(path, busy_seconds=0.05) as log, SqliteLog(path) as other:
        log.append("t", "k", {})
        other._writer.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogUnavailableError, match="another process holds the write lock"):
            log.append("t", "k", {})
        other._writer.connection.execute("ROLLBACK")
        assert [log.append("t", "k", {}).cursor, other.append("t", "k", {}).cursor] == [2, 3]
