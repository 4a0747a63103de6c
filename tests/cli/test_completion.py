"""Completion in a real bash, and what it is made of."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.test_hub import Shell
from tidings.bridge.door.call import call
from tidings.cli.completing import candidates, last_part, split
from tidings.cli.completion import SCRIPTS
from tidings.cli.main import COMMANDS
from tidings.hub.place import place_of

BIN = Path(sys.executable).parent
DEADLINE = 60

ASK = """
source /dev/stdin <<< "$(tidings completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<< "$1"
_tidings
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    started.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    yield started
    assert started.run("down").returncode == 0


def completed(shell: Shell, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", line],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=shell.environ,
        cwd=shell.folder,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices(shell: Shell) -> None:
    assert completed(shell, "tidings re") == [name for name in COMMANDS if name.startswith("re")]
    assert completed(shell, "tidings log fo") == ["follow"]
    assert completed(shell, "tidings log follow --se") == ["--session"]
    assert completed(shell, "tidings lint --format s") == ["sarif"]
    assert completed(shell, "tidings lint --format=s") == ["sarif"]
    assert completed(shell, "tidings nonsense x") == []


def test_ids_come_from_the_running_hub_and_without_one_there_are_none(shell: Shell) -> None:
    assert completed(shell, "tidings pending --session ") == []
    shell.json("up", "--detach", "--port", "0", "--no-attach")
    socket = place_of(shell.environ).socket
    for name in ("alpha-1", "alpha-2", "team:beta"):
        call(socket, "hub/register", {"sessionId": name, "agent": "helper"})
    sent = shell.json("remind", "The build is red.", "--all")
    assert completed(shell, "tidings pending --session alp") == ["alpha-1", "alpha-2"]
    assert completed(shell, "tidings remind hello --session=alpha-2") == ["alpha-2"]
    assert completed(shell, "tidings log follow --session team:") == ["beta"]
    assert completed(shell, "tidings replay ") == ["alpha-1", "alpha-2", "team:beta"]
    assert completed(shell, "tidings revoke ") == [sent["reminderId"]]
    assert completed(shell, "tidings clear --id ") == [sent["reminderId"]]


def test_tab_completes_in_an_interactive_bash(shell: Shell) -> None:
    ours, theirs = pty.openpty()
    environ = {**shell.environ, "PS1": "ready> ", "TERM": "dumb", "INPUTRC": "/dev/null"}
    command = ["bash", "--norc", "--noprofile", "-i"]
    with (
        closing(os.fdopen(ours, "rb+", buffering=0)) as terminal,
        subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=shell.folder,
            start_new_session=True,
        ) as process,
    ):  # fmt: skip
        os.close(theirs)
        read_until(terminal.fileno(), "ready> ")
        terminal.write(b'eval "$(tidings completion bash)"\n')
        read_until(terminal.fileno(), "ready> ")
        terminal.write(b"tidings lo\t")
        assert "tidings log " in read_until(terminal.fileno(), "tidings log ")
        terminal.write(b"fol\t")
        read_until(terminal.fileno(), "follow ")
        process.kill()


def read_until(terminal: int, words: str) -> str:
    """What the terminal shows until these words."""
    shown = b""
    until = time.monotonic() + DEADLINE
    while words.encode() not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"no {words!r} in {shown!r}"
        shown += os.read(terminal, 4096)
    return shown.decode()


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_printed_and_asks_the_same_question(shell: Shell, name: str) -> None:
    done = shell.run("completion", name)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", SCRIPTS[name])  # type: ignore[index]
    assert f"__complete {name} " in done.stdout


def test_an_unknown_shell_is_refused_with_those_there_are(shell: Shell) -> None:
    done = shell.run("completion", "tcsh")
    assert done.returncode == 2
    assert all(f"'{name}'" in done.stderr for name in SCRIPTS)


def test_other_shells_hand_over_words(shell: Shell) -> None:
    assert shell.run("__complete", "fish", "tidings", "lint", "--form").stdout == (
        "--format\tHow to write the findings.\n"
    )
    assert shell.run("__complete", "zsh", "tidings", "lint", "--format=s").stdout == "--format=sarif\n"
    assert shell.run("__complete").stdout.split() == list(COMMANDS)


def test_a_line_is_split_as_a_shell_does_also_while_a_quote_is_open() -> None:
    assert split("tidings remind 'a b' --se") == ["tidings", "remind", "a b", "--se"]
    assert split("tidings remind ") == ["tidings", "remind", ""]
    assert split('tidings remind "half a') == ["tidings", "remind", "half a"]
    assert split("tidings remind x\\") == ["tidings", "remind", "x"]
    assert [last_part(word) for word in ("a:b", "--x=y:z", "plain", "")] == ["b", "z", "plain", ""]


def test_options_of_every_command_can_be_completed() -> None:
    for name in COMMANDS:
        assert ("--help", "Show how it is used.") in candidates([name], "--")
