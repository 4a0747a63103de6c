"""The console script as a real process: exit codes, signals, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.logs import write, write_log
from tidings.log import open_log

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 30


def tidings(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)


@contextmanager
def following(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A running `tidings log follow`; it is ended at the latest with the block."""
    command = [str(SCRIPT), "log", "follow", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(DEADLINE)
        try:
            yield process
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, watchdog)
            if process.poll() is None:
                process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_log(tmp_path / "agent.db")


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def test_exit_codes_tell_clean_found_and_wrong(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("import tidings as td\ntd.clear_reminders(t)\n")
    good.write_text("x = 1\n")
    assert [tidings("lint", path).returncode for path in (good, bad, tmp_path / "none")] == [0, 1, 2]


def test_an_error_is_one_line_on_standard_error(tmp_path: Path) -> None:
    done = tidings("log", "verify", tmp_path / "none.db")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_follow_shows_history_then_live_and_a_signal_ends_it_cleanly(
    path: Path, end: signal.Signals
) -> None:
    with following(path, "--json") as process:
        history = [json.loads(line)["cursor"] for line in lines(process, 3)]
        with open_log(path) as log:
            write(log, "fired", reminder_id="r2", session_id="s2")
        live = [json.loads(line)["kind"] for line in lines(process, 1)]
        process.send_signal(end)
        out, err = process.communicate(timeout=DEADLINE)
    assert (history, live) == ([1, 2, 3], ["transcript.reminder.fired"])
    assert (process.returncode, out, err) == (0, "", "")


def test_follow_ends_when_its_reader_goes_away(path: Path) -> None:
    with following(path) as process:
        lines(process, 3)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=DEADLINE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_follow_into_a_file_keeps_running_until_its_limit(path: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out", "w") as out:
        command = [SCRIPT, "log", "follow", path, "--limit", "3"]
        done = subprocess.run(command, stdout=out, timeout=DEADLINE)
    assert done.returncode == 0
    assert len((tmp_path / "out").read_text().splitlines()) == 3


def test_show_into_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    path = tmp_path / "big.db"
    with open_log(path) as log:
        log.append_batch([("transcript.reminder.lifecycle", "k", {"n": n}) for n in range(20_000)])
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [SCRIPT, "log", "show", path]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_text_that_the_terminal_cannot_write_is_escaped_not_fatal(path: Path) -> None:
    with open_log(path) as log:
        write(log, "fired", reminder_id="ü", session_id="s3")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [SCRIPT, "log", "show", path, "--session", "s3"]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"s3  reminder_id=\\xfc\n")
