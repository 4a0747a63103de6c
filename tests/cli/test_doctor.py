"""`tidings doctor` finds what is broken and says how to mend it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_hub import Shell
from tests.cli.test_up import on_a_terminal
from tidings.bridge.door.call import call
from tidings.cli.doctor import daemon, look, machine, table
from tidings.cli.doctor.finding import Finding, Here
from tidings.cli.doctor.table import CHECKS, findings
from tidings.hub.place import place_of


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    yield started
    assert started.run("down").returncode == 0


def problems(shell: Shell) -> tuple[int, list[tuple[str, str, str]]]:
    """The exit code, and each problem: its check, its words, and its fix."""
    done = shell.run("doctor", "--json")
    answer = json.loads(done.stdout)
    assert (answer["ok"], done.stderr) == (done.returncode == 0, "")
    found = [one for one in answer["findings"] if one["level"] == "problem"]
    return done.returncode, [(one["check"], one["message"], one["fix"]) for one in found]


def test_a_machine_without_a_hub_has_that_one_problem(shell: Shell) -> None:
    code, found = problems(shell)
    assert (code, found[0]) == (1, ("hub", "no hub runs", "tidings up"))
    assert {check for check, _, _ in found} == {"hub"}
    assert not (shell.folder / "home").exists()


def test_a_running_hub_with_a_session_here_is_well(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text("[watch.files]\n")
    shell.json("up", "--detach", "--port", "0")
    about = {"sessionId": "s", "agent": "helper", "workspace": str(shell.folder / "src")}
    call(place_of(shell.environ).socket, "hub/register", about)
    assert problems(shell) == (0, [])
    done = shell.run("doctor")
    here = shell.folder.resolve()
    assert f"ok       sessions      1 reached in {here}: helper\n" in done.stdout
    assert f"ok       tidings.toml  {here / 'tidings.toml'}: files\n" in done.stdout
    seen = {line[9:21].strip() for line in done.stdout.splitlines()}
    assert CHECKS.keys() - {"agents"} <= seen <= CHECKS.keys()


def test_what_is_wrong_with_the_folder_is_named_with_its_fix(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    (shell.folder / "tidings.toml").write_text("[watch.filez]\n[watch.tests]\nevery = 0\n")
    path, here = shell.folder.resolve() / "tidings.toml", shell.folder.resolve()
    mend = f"edit {path}, then run `tidings up` there"
    known = "known are commands, files, reviews, tests"
    assert problems(shell) == (
        1,
        [
            (
                "tidings.toml",
                f"line 1: `watch.filez`: this key is not known; did you mean `files`? {known}",
                mend,
            ),
            (
                "tidings.toml",
                "line 3: `watch.tests.every` is 0; give seconds: a number above 0, at most a week",
                mend,
            ),
            ("watchers", f"{here} is not attached to the hub", f"cd {here}; tidings up"),
        ],
    )


def test_a_watcher_that_does_not_work_is_a_problem(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text("[watch.reviews]\nsecret_env = ['NOT_SET']\n")
    shell.json("up", "--detach", "--port", "0")
    words = "reviews is waiting: the variable 'NOT_SET' is not set; it must hold the secret"
    assert problems(shell)[1] == [
        ("watchers", words, "mend what it says; it is tried again by itself, and at `tidings up`")
    ]


def test_a_token_that_others_can_read_or_that_was_changed_is_found(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    path = shell.folder / "home" / "hub.token"
    path.chmod(0o644)
    token, http = problems(shell)[1]
    assert token[0] == "token"
    assert token[2] == f"rm {path}, then start the hub again: tidings down; tidings up"
    assert http[0] == "http"
    path.chmod(0o600)
    path.write_text("x" * 43)
    assert problems(shell)[1] == [
        (
            "http",
            f"the hub does not know the token in {path}",
            "the file was changed while the hub ran: tidings down; tidings up",
        )
    ]


def test_a_data_folder_that_others_may_write_is_found(shell: Shell) -> None:
    (shell.folder / "home").mkdir()
    (shell.folder / "home").chmod(0o777)
    ((check, _, fix), *_) = problems(shell)[1]
    assert (check, fix) == ("data folder", f"chmod go-w {shell.folder / 'home'}")


def test_a_hub_that_does_not_answer_is_told_from_none(shell: Shell) -> None:
    state = shell.json("up", "--detach", "--port", "0")
    os.kill(int(str(state["pid"])), signal.SIGSTOP)
    try:
        found = problems(shell)[1]
    finally:
        os.kill(int(str(state["pid"])), signal.SIGCONT)
    ((check, message, _),) = found
    assert (check, "holds" in message, "does not answer" in message) == ("hub", True, True)


def test_a_damaged_log_is_found(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    shell.run("down")
    with closing(sqlite3.connect(shell.folder / "home" / "hub.db")) as connection:
        connection.execute("UPDATE records SET payload = '{\"x\": 1}'")
        connection.commit()
    checks = {check: message for check, message, _ in problems(shell)[1]}
    assert "does not verify" in checks["log"]


def test_a_log_that_is_too_long_is_left_to_its_own_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path)
    shell.json("up", "--detach", "--port", "0")
    shell.run("down")
    monkeypatch.setattr(daemon, "VERIFIED_MOST", 0)
    here = look(place_of(shell.environ), tmp_path)
    (found,) = daemon.log(here)
    assert found.fix == f"tidings log verify {here.place.database}"


def here_of(folder: Path) -> Here:
    environ = {"TIDINGS_HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder)}
    return Here(place=place_of(environ), folder=folder, running=False)


def test_another_version_is_told_with_the_way_to_the_same(tmp_path: Path) -> None:
    here = here_of(tmp_path)
    here.status = {"version": "9.9.9", "pid": 1}
    (found,) = daemon.version(here)
    assert (found.level, found.fix) == ("problem", "start the hub anew: tidings down; tidings up")
    assert found.message.startswith("the hub is 9.9.9, this command is ")


def test_a_port_that_is_taken_is_found_while_no_hub_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(daemon, "DEFAULT_PORT", taken.getsockname()[1])
        _, found = daemon.hub(here_of(tmp_path))
    assert (found.level, found.fix) == ("problem", "tidings up --port 0")


@pytest.mark.parametrize(("free", "level"), [(1024**2, "problem"), (500 * 1024**2, "note"), (10**12, "ok")])
def test_little_room_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Room(free))  # type: ignore[attr-defined]
    (found,) = machine.disk(here_of(tmp_path))
    assert found.level == level


class Room:
    def __init__(self, free: int) -> None:
        self.free = free


def test_an_extra_that_this_folder_needs_is_a_problem_and_others_are_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tidings.toml").write_text("[watch.files]\n")
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name in ("watchfiles", "mcp") else name)
    watch, mcp, _ = machine.extras(here_of(tmp_path))
    assert (watch.level, watch.fix) == ("problem", "pip install 'tidings[watch]'")
    assert (mcp.level, mcp.fix) == ("note", "pip install 'tidings[mcp]'")


def failing(_: Here) -> list[Finding]:
    raise RuntimeError("boom\x1b[2J")


def test_a_check_that_fails_is_a_finding_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = {"broken": f"{__name__}:failing", "python": CHECKS["python"]}
    monkeypatch.setattr(table, "CHECKS", checks)
    broken, python = findings(here_of(tmp_path))
    assert (broken.check, broken.level) == ("broken", "problem")
    assert broken.message == "this could not be checked: RuntimeError: boom\\x1b[2J"
    assert (python.check, python.level) == ("python", "ok")


def test_on_a_terminal_it_is_a_table(shell: Shell) -> None:
    shell.environ |= {"COLUMNS": "200", "TERM": "xterm", "NO_COLOR": "1"}
    shell.run("up", "--detach", "--port", "0")
    shown = on_a_terminal(shell, "doctor")
    assert "python" in shown
    assert "no session is reached" in shown


def test_nothing_is_changed_by_looking(shell: Shell) -> None:
    shell.run("doctor")
    assert [path for path in shell.folder.rglob("*") if path.is_file()] == []
