"""How `tidings watch` ends: with what it runs, on every signal, also in a terminal. Real processes.

The watched command holds a FIFO open for writing; its end is read there, so that nobody has to look for it.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.watchers.test_cli import DEADLINE, HELLO, START, line

HELD = "held"
HOLDING = ("--", "sh", "-c", f"exec 3>{HELD}; echo up >&3; exec sleep 600")
"""A command that does not end by itself, and says when it runs."""


@contextmanager
def running(folder: Path, *words: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The command, killed at the end of the block and at the deadline."""
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*START, *words], cwd=folder, **{**piped, **more}) as process:
        watchdog = threading.Timer(DEADLINE, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def in_time(work: Callable[[], object]) -> object:
    """What `work` gives; it may wait for a process, but not beyond the deadline."""
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(DEADLINE)
    assert found, "it still waits"
    return found[0]


def end_of_command(folder: Path, stop: Callable[[], object]) -> bytes:
    """What the command said until it was gone, after `stop` was called while it ran."""
    with (folder / HELD).open("rb", buffering=0) as reader:
        said = reader.readline()
        stop()
        return said + reader.read()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name)
@pytest.mark.parametrize("form", [("--json",), (), ("--http", "0")], ids=["json", "stdio", "http"])
def test_a_signal_ends_the_watched_command_too(
    tmp_path: Path, form: tuple[str, ...], sign: signal.Signals
) -> None:
    os.mkfifo(tmp_path / HELD)
    with running(tmp_path, "command", *form, *HOLDING) as process:
        assert in_time(lambda: end_of_command(tmp_path, lambda: process.send_signal(sign))) == b"up\n"
        assert process.wait(DEADLINE) == (128 + sign if form == ("--json",) else 0)


def test_in_a_terminal_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / HELD)
    ours, theirs = pty.openpty()
    try:
        with running(tmp_path, "command", *HOLDING, stdin=theirs, stdout=theirs) as process:
            stop = lambda: process.send_signal(signal.SIGINT)  # noqa: E731
            assert in_time(lambda: end_of_command(tmp_path, stop)) == b"up\n"
            assert process.wait(DEADLINE) == 0
    finally:
        os.close(ours)
        os.close(theirs)


def test_files_in_place_of_pipes_are_read_to_their_end_and_answered(tmp_path: Path) -> None:
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_text(json.dumps(HELLO) + "\n")
    (tmp_path / "tree").mkdir()
    with (
        asked.open("rb") as source,
        answered.open("wb") as sink,
        running(tmp_path / "tree", "files", stdin=source, stdout=sink) as process,
    ):
        assert process.wait(DEADLINE) == 0
    [answer] = [json.loads(each) for each in answered.read_text().splitlines()]
    assert (answer["id"], answer["result"]["capabilities"]["reminders"]["emit"]) == (1, True)


def test_a_hangup_that_it_was_told_to_ignore_does_not_end_it(tmp_path: Path) -> None:
    nohup = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with subprocess.Popen(
        [*nohup, *START, "files"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert in_time(lambda: line(process.stderr)["code"]) == "watching"
            process.send_signal(signal.SIGHUP)
            assert process.stdin is not None
            process.stdin.write(json.dumps(HELLO).encode() + b"\n")
            process.stdin.flush()
            assert in_time(lambda: line(process.stdout)["id"]) == 1
            process.terminate()
            assert process.wait(DEADLINE) == 0
        finally:
            process.kill()
