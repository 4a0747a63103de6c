"""What a new user does wrong, or finds wrong: each time a sentence says what it is and what to do."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_doctor import problems
from tests.cli.test_hub import Shell
from tidings.hub.place import place_of

PLAIN = "-dac_override,-dac_read_search"


class Plain(Shell):
    """Commands that obey the permissions of files, also when the tests run as root."""

    if os.geteuid() == 0:
        command = ("setpriv", f"--bounding-set={PLAIN}", f"--inh-caps={PLAIN}", *Shell.command)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    yield started
    assert started.run("down").returncode == 0


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Plain]:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("NO SETPRIV: as root every file can be read")
    (tmp_path / "home").mkdir(mode=0o700)
    yield Plain(tmp_path)
    (tmp_path / "home").chmod(0o700)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("pending", "tidings: nothing is on its way\n"),
        ("sessions", "tidings: no session is registered\n"),
        ("workspaces", "tidings: no folder is attached; run `tidings up` in one\n"),
    ],
)
def test_an_empty_list_says_that_it_is_empty(shell: Shell, command: str, told: str) -> None:
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    done = shell.run(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)


def test_without_a_hub_and_with_one_that_was_killed_the_words_say_what_to_start(shell: Shell) -> None:
    path = place_of(shell.environ).socket
    none = shell.run("pending").stderr
    assert none == f"tidings: no hub runs (there is no socket {path!r}); start one with `tidings up`\n"
    assert "start the hub with `tidings up`" in shell.run("remind", "hi").stderr
    state = shell.json("up", "--detach", "--port", "0")
    os.kill(int(str(state["pid"])), signal.SIGKILL)
    gone = shell.run("pending").stderr
    assert gone.startswith(f"tidings: no hub runs (nobody answers at {path!r} any more); start one with ")


def test_a_hub_is_found_from_where_the_folder_for_sockets_is_another(shell: Shell, tmp_path: Path) -> None:
    state = shell.json("up", "--detach", "--port", "0")
    there = Shell(tmp_path)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    there.environ["XDG_RUNTIME_DIR"] = str(tmp_path / "elsewhere")
    assert there.json("status")["pid"] == state["pid"]
    assert there.json("up") == state
    assert there.run("remind", "hi").returncode == 0
    os.kill(int(str(state["pid"])), signal.SIGKILL)
    assert str(tmp_path / "elsewhere") in there.run("pending").stderr


def test_a_port_that_somebody_has_is_named_once_and_with_the_way_out(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = shell.run("up", "--detach", "--port", str(port))
    assert (done.returncode, done.stderr) == (
        2,
        f"tidings: the hub did not start: 127.0.0.1:{port} cannot be used: Address already in use; give "
        "another with --port, 0 for any that is free\n",
    )


def test_a_port_that_the_running_hub_does_not_have_is_told(shell: Shell) -> None:
    state = shell.json("up", "--detach", "--port", "0")
    done = shell.run("up", "--port", "1")
    assert (done.returncode, done.stderr) == (
        0,
        f"tidings: --port 1 is not used: the hub runs at {state['url']}; stop it first: tidings down\n",
    )
    assert shell.run("up", "--port", str(state["url"]).rpartition(":")[2]).stderr == ""


def test_a_session_that_nobody_knows_is_told_with_where_to_look(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    done = shell.run("clear", "--tag", "t", "--session", "nobody")
    assert (done.returncode, done.stderr) == (
        2, "tidings: session 'nobody' is not registered; `tidings sessions` lists those that are\n",
    )  # fmt: skip


def test_doctor_finds_what_is_wrong_with_the_config_of_the_hub(shell: Shell) -> None:
    path = shell.folder / "home" / "config.toml"
    path.parent.mkdir(mode=0o700)
    fix = f"edit {path}, then start the hub anew: tidings down; tidings up"
    for text, told in (
        ("retention = [\n", f"{str(path)!r} cannot be read: "),
        ('[retention]\nmax_age = "soon"\n', f"{str(path)!r}: `retention.max_age` is 'soon'; "),
    ):
        path.write_text(text)
        ((check, message, how), *_) = problems(shell)[1]
        assert (check, message.startswith(told), how) == ("config.toml", True, fix)
    path.write_text("[retension]\nmax_age = 5\n")
    said = shell.run("doctor").stdout
    assert f"note     config.toml   {path}: `retension` is read by nobody; known is [retention]" in said
    path.write_text('[retention]\nmax_age = "7d"\n')
    assert f"ok       config.toml   {path}\n" in shell.run("doctor").stdout


def test_doctor_tells_a_wrong_tidings_toml_once(shell: Shell) -> None:
    (shell.folder / "tidings.toml").write_text("[watch.fils]\n")
    assert shell.run("up", "--detach", "--port", "0").returncode == 1
    assert [check for check, _, _ in problems(shell)[1]] == ["tidings.toml"]


def test_a_data_folder_that_cannot_be_read_is_named_by_every_command(plain: Plain) -> None:
    home = plain.folder / "home"
    (home / "hub.lock").touch()
    home.chmod(0)
    for command in (("status",), ("up", "--detach"), ("down",), ("panel", "--print")):
        done = plain.run(*command)
        assert (done.returncode, done.stderr) == (
            2,
            f"tidings: {str(home / 'hub.lock')!r} cannot be used: Permission denied; run `chmod u+rwX` on "
            f"it and on {str(home)!r}, or set TIDINGS_HOME\n",
        )
    assert "hub.db' cannot be read: Permission denied" in plain.run("log", "show").stderr
    checks = {check: fix for check, _, fix in problems(plain)[1]}
    assert checks["data folder"] == f"chmod u+rwx {home}"
    assert not any("it is a bug" in fix for fix in checks.values())


def test_a_token_that_cannot_be_read_keeps_the_hub_from_starting_and_is_named(plain: Plain) -> None:
    token = plain.folder / "home" / "hub.token"
    token.touch(mode=0o600)
    token.chmod(0)
    done = plain.run("up", "--detach", "--port", "0")
    told = f"tidings: the hub did not start: {str(token)!r} cannot be used: Permission denied; run `chmod"
    assert (done.returncode, done.stderr.startswith(told)) == (2, True)
