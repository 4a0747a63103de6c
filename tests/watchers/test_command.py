"""The command watcher with real processes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

from tests.watchers.waiting import following, until
from tidings.agent.tools.truncate import Clip
from tidings.errors import CallerError
from tidings.watchers.command import CommandWatcher
from tidings.watchers.own import OwnWrites
from tidings.watchers.process import Run, run_command, whole_lines

CHECK = ("sh", "-c", "grep -q good state.txt || { echo 'error: it is bad'; exit 3; }")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_turns_are_told_both_ways_under_one_key(tmp_path: Path) -> None:
    state = tmp_path / "state.txt"
    state.write_text("good")
    own = OwnWrites(tmp_path)

    async def play() -> list[tuple[str, str]]:
        watcher = CommandWatcher(CHECK, tmp_path, name="check", own=own, first="always")
        async with following(watcher) as followed:
            told = [await followed.next()]
            state.write_text("broken")
            told.append(await followed.next())
            state.write_text("good again")
            own.note("state.txt")
            told.append(await followed.next())
        return [(one.dedupe_key, one.body.partition("' ")[2] or one.body) for one in told]

    assert asyncio.run(play()) == [
        ("check:status", "passed."),
        (
            "check:status",
            "failed with exit code 3 after the last edit. It passed before.\n- error: it is bad",
        ),
        ("check:status", "passed after your last edit. It failed before."),
    ]


def test_a_stale_run_is_killed_with_its_children(tmp_path: Path) -> None:
    script = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pids.tmp', 'a').write(f'{os.getpid()} {child.pid}\\n')\n"
        "if 'end' in open('state.txt').read(): child.kill(); sys.exit(4)\n"
        "time.sleep(600)\n"
    )
    (tmp_path / "state.txt").write_text("wait")
    pids = tmp_path / "pids.tmp"

    async def play() -> tuple[str, list[int]]:
        watcher = CommandWatcher((sys.executable, "-c", script), tmp_path, name="slow")
        async with following(watcher) as followed:
            await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
            stale = [int(pid) for pid in pids.read_text().split()]
            (tmp_path / "state.txt").write_text("end")
            told = await followed.next()
            await until(lambda: not any(map(alive, stale)))
            return told.body, stale

    body, stale = asyncio.run(play())
    assert "failed with exit code 4" in body
    assert len(stale) == 2


def test_leaving_kills_the_run_that_is_going(tmp_path: Path) -> None:
    pid = tmp_path / "pid.tmp"
    command = ("sh", "-c", "echo $$ > pid.tmp; exec sleep 600")

    async def play() -> int:
        async with following(CommandWatcher(command, tmp_path, name="slow")):
            await until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        return int(pid.read_text())

    assert not alive(asyncio.run(play()))


def test_a_command_that_never_ends_fails_at_its_deadline(tmp_path: Path) -> None:
    async def play() -> str:
        watcher = CommandWatcher(("sleep", "600"), tmp_path, deadline=0.2)
        async with following(watcher) as followed:
            return (await followed.next()).body

    assert asyncio.run(play()) == "sleep 600 did not end within 0.2 seconds and was stopped."


def test_a_gigabyte_of_output_is_drained_and_only_its_ends_are_kept(tmp_path: Path) -> None:
    script = (
        "import os\nos.write(1, b'first line\\n')\nblock = (b'x' * 99 + b'\\n') * 10_000\n"
        "for _ in range(1_000): os.write(1, block)\nos.write(1, b'error: last line\\n')\nos._exit(1)\n"
    )

    async def play() -> Run:
        async with asyncio.timeout(300):
            return await run_command((sys.executable, "-c", script), cwd=tmp_path)

    before = getrusage(RUSAGE_SELF).ru_maxrss
    run = asyncio.run(play())
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # in kilobytes
    assert (run.end, run.exit_code, run.truncated) == ("failed", 1, True)
    assert run.text.startswith("first line\n")
    assert run.text.endswith("error: last line\n")
    assert len(run.text) <= 96 * 1024


def test_secrets_in_the_output_are_gone_before_anything_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "plain-and-simple")
    script = "echo error: token plain-and-simple; echo error: PASSWORD=hunter2; exit 1"

    async def play() -> str:
        async with following(CommandWatcher(("sh", "-c", script), tmp_path, name="leak")) as followed:
            return (await followed.next()).body

    body = asyncio.run(play())
    assert body.splitlines()[1:] == [
        "- error: token [redacted known value]",
        "- error: PASSWORD=[redacted value]",
    ]


def test_a_secret_on_the_command_line_is_neither_in_the_name_nor_in_the_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "plain-and-simple")
    watcher = CommandWatcher(("false", "plain-and-simple", "--password=hunter2"), tmp_path)

    async def play() -> str:
        async with following(watcher) as followed:
            return (await followed.next()).body

    assert watcher.name == "false"
    assert asyncio.run(play()) == (
        "false '[redacted known value]' '--password=[redacted value]' failed with exit code 1."
    )


def test_by_the_clock_it_runs_without_any_change(tmp_path: Path) -> None:
    command = ("sh", "-c", "test -e stop && exit 1; echo x >> runs; test $(wc -l < runs) -lt 3")

    async def play() -> str:
        watcher = CommandWatcher(command, tmp_path, interval=0.05, name="clock")
        async with following(watcher) as followed:
            return (await followed.next()).body

    assert "failed with exit code 1. It passed before." in asyncio.run(play())


def test_only_files_of_the_pattern_cause_a_run(tmp_path: Path) -> None:
    command = ("sh", "-c", "echo x >> runs.tmp; test ! -e stop.rs")

    async def play() -> tuple[str, int]:
        watcher = CommandWatcher(command, tmp_path, patterns=("*.rs",), name="check")
        async with following(watcher) as followed:
            await until(lambda: (tmp_path / "runs.tmp").exists())
            (tmp_path / "notes.md").write_text("x")
            (tmp_path / "stop.rs").write_text("x")
            body = (await followed.next()).body
        return body.partition("' ")[2], len((tmp_path / "runs.tmp").read_text().split())

    assert asyncio.run(play()) == ("failed with exit code 1 after the last edit. It passed before.", 2)


def test_a_program_that_is_not_there_is_told_and_tried_again(tmp_path: Path) -> None:
    program = tmp_path / "tool"

    async def play() -> list[str]:
        async with following(CommandWatcher((str(program),), tmp_path)) as followed:
            first = (await followed.next()).body
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            return [first, (await followed.next()).body]

    assert asyncio.run(play()) == [
        "tool cannot be started: No such file or directory.",
        "tool passed after the last edit. It failed before.",
    ]


@pytest.mark.parametrize(
    ("argv", "options", "problem"),
    [
        ((), {}, "the command is empty"),
        (("true",), {"interval": 0.0}, "`interval` must be more than 0 seconds; got 0.0"),
        (("true",), {"deadline": -1.0}, "`deadline` must be more than 0 seconds; got -1.0"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    tmp_path: Path, argv: tuple[str, ...], options: dict[str, float], problem: str
) -> None:
    with pytest.raises(CallerError, match=problem):
        CommandWatcher(argv, tmp_path, **options)


def test_half_a_line_with_half_a_secret_is_not_kept(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    script = f"print('first'); print('s' * 90 + '{token}' * 20); print('last')"

    async def play() -> str:
        async with asyncio.timeout(60):
            run = await run_command((sys.executable, "-c", script), cwd=tmp_path, limit=300)
        return run.text

    lines = asyncio.run(play()).splitlines()
    assert (lines[0], lines[2:]) == ("first", ["last"])
    assert lines[1].startswith("[… ")


def test_a_line_that_was_cut_in_two_is_left_out() -> None:
    clip = Clip(200)
    clip.feed("first\n" + "s" * 300 + "\nmiddle\n" + "t" * 300 + "\nlast\n")
    assert whole_lines(clip.result()) == "first\n[… 463 of 620 characters left out here …]\nlast\n"
