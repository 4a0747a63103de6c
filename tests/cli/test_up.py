"""`tidings up` in real processes: folders are attached, what happens is told, nothing holds up the hub."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.test_hub import Shell
from tidings.bridge.door.call import call
from tidings.cli.folder import ENVIRONMENT_MOST, environment, project_folder
from tidings.hub.place import place_of

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 60
LOOK = '[watch.commands.look]\ncommand = "test ! -e red"\nfirst = "always"\n'


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    yield started
    assert started.run("down").returncode == 0


@contextmanager
def foreground(
    shell: Shell, *arguments: str, stdout: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """`tidings up` in the folder of the shell; killed at the latest with the block."""
    with subprocess.Popen(
        [str(SCRIPT), "up", "--port", "0", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environ,
        cwd=shell.folder,
    ) as process:
        watchdog = signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(DEADLINE)
        try:
            yield process
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, watchdog)
            process.kill()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    """The first line with these words."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it ended without {words!r}")


def test_it_attaches_its_folder_and_tells_what_happens_line_by_line(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text(LOOK)
    socket = place_of(shell.environ).socket
    with foreground(shell) as process:
        assert "the hub is up; Ctrl-C stops it: http://127.0.0.1:" in read_until(process, "the hub is up")
        read_until(process, f"{shell.folder.resolve()} is attached; watching look")
        call(socket, "hub/register", {"sessionId": "s", "agent": "helper", "workspace": str(shell.folder)})
        read_until(process, "s is here: helper")
        (shell.folder / "red").touch()
        assert "news from tidings/look, for workspace" in read_until(process, "failed with exit code 1")
        leased = call(socket, "hub/lease", {"sessionId": "s"})["reminders"]
        ids = [row["reminderId"] for row in leased]  # type: ignore[attr-defined]
        call(socket, "hub/acknowledge", {"sessionId": "s", "reminderIds": ids})
        read_until(process, "s got it (tidings/look, for workspace")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, err) == (0, "")
    assert "Traceback" not in out


def test_quiet_and_json_tell_only_where_it_is(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text(LOOK)
    with foreground(shell, "--json") as process:
        assert process.stdout is not None
        state = json.loads(process.stdout.readline())
        assert [row["name"] for row in state["workspace"]["watchers"]] == ["look"]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_second_folder_is_attached_to_the_running_hub_and_the_command_leaves(shell: Shell) -> None:
    first = shell.json("up", "--detach", "--port", "0", "--no-attach")
    assert first["workspace"] is None
    (shell.folder / "app" / "src").mkdir(parents=True)
    (shell.folder / "app" / "tidings.toml").write_text("[watch.files]\n")
    inner = Shell(shell.folder)
    inner.folder = shell.folder / "app" / "src"
    done = inner.run("up")
    app = (shell.folder / "app").resolve()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("the hub runs already: http://127.0.0.1:")
    assert done.stdout.splitlines()[1:] == [f"{app} is attached; watching files"]
    (row,) = shell.json("workspaces")["workspaces"]  # type: ignore[misc]
    assert (row["path"], row["config"]) == (str(app), str(app / "tidings.toml"))
    assert shell.run("workspaces").stdout.split()[:3] in (
        [str(app), "files", "watching"], [str(app), "files", "starting"],
    )  # fmt: skip
    assert inner.run("detach").stdout == f"{app} is detached\n"
    again = inner.run("detach")
    assert (again.returncode, again.stdout) == (1, f"{app} was not attached\n")
    assert shell.run("workspaces").stdout == ""


def test_a_folder_without_a_file_is_attached_and_told_how_to_get_one(shell: Shell) -> None:
    done = shell.run("up", "--detach", "--port", "0")
    assert done.returncode == 0
    words = "is attached; it has no tidings.toml (write one: tidings init)"
    assert done.stdout.splitlines()[1] == f"{shell.folder.resolve()} {words}"


def test_problems_of_the_file_are_told_and_give_exit_code_1(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text("[watch.filez]\n")
    done = shell.run("up", "--detach", "--port", "0")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].endswith("its tidings.toml is not used, watching nothing")
    assert done.stderr == (
        "tidings: tidings.toml: line 1: `watch.filez`: this key is not known; did you mean `files`? "
        "known are commands, files, reviews, tests\n"
    )


def test_after_a_kill_the_folders_are_watched_again(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text("[watch.files]\n")
    first = shell.json("up", "--detach", "--port", "0")
    os.kill(int(str(first["pid"])), signal.SIGKILL)
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    (row,) = shell.json("workspaces")["workspaces"]  # type: ignore[misc]
    assert ([one["name"] for one in row["watchers"]], row["problems"]) == (["files"], [])
    assert shell.run("down").returncode == 0
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    assert shell.json("workspaces") == {"workspaces": []}


def test_a_pipe_that_nobody_reads_holds_up_nothing(shell: Shell) -> None:
    socket = place_of(shell.environ).socket
    with foreground(shell) as process:
        read_until(process, "is attached")
        for number in range(400):
            body = f"{number} " + "x" * 300
            call(socket, "hub/remind", {"body": body, "to": {"all": True}})
        assert len(call(socket, "hub/pending", {"limit": 1})["reminders"]) == 1  # type: ignore[arg-type]
        assert shell.run("down").stdout == "the hub has stopped\n"
        assert process.wait(timeout=DEADLINE) == 0


def test_the_link_that_signs_in_is_shown_on_a_terminal_and_nowhere_else(shell: Shell) -> None:
    ours, theirs = pty.openpty()
    with foreground(shell, stdout=theirs) as process:
        os.close(theirs)
        shown = on_screen(ours, "is attached")
        token = (shell.folder / "home" / "hub.token").read_text()
        assert f"/#token={token}" in shown
        process.send_signal(signal.SIGTERM)
        on_screen(ours, None)
        assert process.wait(timeout=DEADLINE) == 0
    os.close(ours)
    done = shell.run("up", "--detach", "--port", "0")
    assert token not in done.stdout
    piped = shell.run("panel", "--print")
    assert piped.stdout.startswith("http://127.0.0.1:")
    assert token not in piped.stdout + piped.stderr + shell.run("panel", "--json").stdout
    assert f"/#token={token}" in on_a_terminal(shell, "panel", "--print")


def on_a_terminal(shell: Shell, *arguments: str) -> str:
    """What a command prints when its output is a terminal."""
    ours, theirs = pty.openpty()
    command = [str(SCRIPT), *arguments]
    with subprocess.Popen(command, stdout=theirs, env=shell.environ, cwd=shell.folder) as process:
        os.close(theirs)
        shown = on_screen(ours, None)
        assert process.wait(timeout=DEADLINE) == 0
    os.close(ours)
    return shown


def on_screen(terminal: int, words: str | None) -> str:
    """What the terminal shows until these words, or until it is closed."""
    shown = b""
    until = time.monotonic() + DEADLINE
    with suppress(OSError):  # Linux says EIO when the other side of a terminal closes
        while words is None or words.encode() not in shown:
            ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"no {words!r} on {shown!r}"
            shown += os.read(terminal, 4096)
    return shown.decode()


def test_the_panel_needs_a_hub_and_a_browser(shell: Shell) -> None:
    none = shell.run("panel")
    assert (none.returncode, none.stderr) == (2, "tidings: no hub runs; start one with `tidings up`\n")
    shell.run("up", "--detach", "--port", "0", "--no-attach")
    opened = shell.folder / "opened"
    browser = shell.folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    shell.environ["BROWSER"] = f"{browser} %s"
    done = shell.run("panel")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("opened http://127.0.0.1:")
    page = shell.folder / "home" / "panel.html"
    token = (shell.folder / "home" / "hub.token").read_text()
    assert opened.read_text().strip() == page.as_uri()
    assert (page.stat().st_mode & 0o777, f"/#token={token}" in page.read_text()) == (0o600, True)


def test_log_follow_reads_the_hub_and_goes_on_after_a_kill(shell: Shell) -> None:
    first = shell.json("up", "--detach", "--port", "0", "--no-attach")
    command = [str(SCRIPT), "log", "follow", "--json", "--kind", "hub.reminder.accepted"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=shell.environ) as process:
        signal.signal(signal.SIGALRM, lambda *_: process.kill())
        signal.alarm(DEADLINE)
        try:
            bodies = []
            for words in ("one", "two"):
                shell.json("remind", words, "--all")
                assert process.stdout is not None
                bodies.append(json.loads(process.stdout.readline())["payload"]["reminder"]["body"])
                if words == "one":
                    os.kill(int(str(first["pid"])), signal.SIGKILL)
                    shell.json("up", "--detach", "--port", "0", "--no-attach")
        finally:
            signal.alarm(0)
            process.terminate()
    assert bodies == ["one", "two"]


def test_the_other_log_commands_read_the_hub_too(shell: Shell) -> None:
    wrong = shell.run("log", "follow")
    words = "no hub has run yet; start one with `tidings up`, or give the path of a log"
    assert (wrong.returncode, wrong.stderr) == (2, f"tidings: {words}\n")
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    socket = place_of(shell.environ).socket
    call(socket, "hub/register", {"sessionId": "s"})
    record = {
        "cursor": 1,
        "kind": "transcript.message",
        "atMs": 1_000,
        "payload": {"message": {"role": "x"}},
    }
    tell = {"sessionId": "s", "epoch": "e", "stream": "transcript", "records": [record]}
    call(socket, "hub/tell", tell)
    assert shell.run("log", "show", "--session", "s").stdout == (
        '     1  1970-01-01 00:00:01.000Z  transcript.message                    -  message={"role": "x"}\n'
    )
    assert "hub.session.registered" in shell.run("log", "show").stdout
    assert shell.run("log", "verify").stdout.startswith("ok: ")
    assert "told.s" in shell.run("log", "topics").stdout


def test_an_environment_is_sent_as_far_as_it_is_text_and_fits() -> None:
    given = {"A": "b", "ODD": "\udcff", "LONG": "x" * ENVIRONMENT_MOST, "PATH": "/bin"}
    assert environment(given) == {"A": "b", "PATH": "/bin"}


def test_the_folder_of_a_project_is_the_nearest_with_a_file_inside_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_folder(inner) == inner.resolve()
    (tmp_path / "tidings.toml").touch()
    (tmp_path / "repository" / ".git").mkdir()
    assert project_folder(inner) == inner.resolve()
    (tmp_path / "repository" / "tidings.toml").touch()
    assert project_folder(inner) == (tmp_path / "repository").resolve()


@pytest.mark.parametrize("command", ["up", "doctor", "init", "detach"])
def test_a_folder_that_is_gone_is_one_line(shell: Shell, command: str) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{SCRIPT}" {command}'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=shell.folder,
        env=shell.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "tidings: this folder is gone; go to one that exists, and try again\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_down_can_be_read_by_a_script(shell: Shell) -> None:
    assert shell.json("down") == {"stopped": False}
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    assert shell.json("down") == {"stopped": True}
