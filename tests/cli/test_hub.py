"""The commands of the hub, and `tidings remind` through it, in real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidings.bridge.door.call import call
from tidings.hub.place import place_of

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 40


class Shell:
    """Commands in an environment of their own."""

    command: tuple[str, ...] = (str(SCRIPT),)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environ = {**os.environ, "TIDINGS_HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder)}
        self.environ = {name: value for name, value in environ.items() if name != "TIDINGS_SOCKET"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env=self.environ,
            cwd=self.folder,
            check=False,
        )

    def json(self, *arguments: str) -> dict[str, object]:
        done = self.run(*arguments, "--json")
        assert (done.stderr, done.returncode) == ("", 0)
        answer: dict[str, object] = json.loads(done.stdout)
        return answer


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    yield started
    assert started.run("down").returncode == 0


def test_a_detached_hub_is_one_and_stops_when_told(shell: Shell) -> None:
    assert shell.run("status").returncode == 1
    first = shell.json("up", "--detach", "--port", "0")
    again = shell.json("up")
    assert again == first
    status = shell.json("status")
    assert (status["running"], status["pid"], status["url"]) == (True, first["pid"], first["url"])
    assert shell.run("down").stdout == "the hub has stopped\n"
    assert shell.run("down").stdout == "no hub runs\n"
    assert shell.run("status").returncode == 1


def test_a_hub_that_was_killed_starts_again_with_what_it_had(shell: Shell) -> None:
    first = shell.json("up", "--detach", "--port", "0")
    sent = shell.json("remind", "The build is red.", "--all", "--deliver-within", "3600")
    os.kill(int(str(first["pid"])), signal.SIGKILL)
    second = shell.json("up", "--detach", "--port", "0")
    assert second["pid"] != first["pid"]
    (row,) = shell.json("pending")["reminders"]  # type: ignore[misc]
    assert (row["reminderId"], row["to"], row["reminder"]["body"]) == (
        sent["reminderId"], {"all": True}, "The build is red.",
    )  # fmt: skip


def test_reminders_are_addressed_listed_revoked_and_cleared(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    about = {"sessionId": "s", "agent": "helper", "workspace": str(shell.folder), "tags": ["ci"]}
    call(place_of(shell.environ).socket, "hub/register", about)
    assert shell.run("sessions").stdout == f"s  helper  {shell.folder.resolve()}  ci  0\n"
    here = shell.json("remind", "one", "--tag", "t")
    assert here["sessions"] == ["s"]
    tagged = shell.json("remind", "two\x1b[31m", "--to-tag", "ci", "--dedupe-key", "k")
    named = shell.json("remind", "three", "--session", "later")
    place = shell.json("remind", "four", "--workspace", "sub")
    assert [each["sessions"] for each in (tagged, named, place)] == [["s"], ["later"], ["s"]]
    shown = shell.run("pending", "--session", "s").stdout
    assert [line.split()[0] for line in shown.splitlines()] == [
        here["reminderId"], tagged["reminderId"], place["reminderId"],
    ]  # fmt: skip
    assert "two\\x1b[31m" in shown
    assert "\x1b" not in shown
    assert shell.run("revoke", str(named["reminderId"])).stdout == f"taken back: {named['reminderId']}\n"
    assert shell.run("clear", "--tag", "t").stdout == "1 taken back\n"
    assert shell.json("clear", "--dedupe-key", "k") == {"removedCount": 1}
    assert shell.json("pending")["pendingCount"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("remind", "x", "--all", "--session", "s"),
            "give one of --session, --workspace, --to-tag and --all",
        ),
        (("remind", "x", "--all", "--socket", "p"), "--socket names one agent; "),
        (("remind", "x", "--all"), "start one with `tidings up`"),
        (("pending",), "start one with `tidings up`"),
        (("revoke", "x"), "start one with `tidings up`"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_way_out(
    shell: Shell, arguments: tuple[str, ...], told: str
) -> None:
    done = shell.run(*arguments)
    assert (done.returncode, told in done.stderr) == (2, True)


def test_a_long_list_is_shown_whole(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    socket = place_of(shell.environ).socket
    for number in range(50):
        call(socket, "hub/remind", {"body": f"{number} " + "x" * 30_000, "to": {"all": True}})
    assert len(shell.json("pending")["reminders"]) == 50  # type: ignore[arg-type]


def test_refusals_of_the_hub_keep_their_words_and_give_exit_code_2(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    unknown = shell.run("revoke", "x")
    assert (unknown.returncode, unknown.stderr) == (
        2,
        "tidings: reminder 'x' cannot be revoked: unknown_reminder_id; `tidings pending` lists what is on "
        "its way; --session names a session that has one of its own\n",
    )
    assert "HARN-RMD-001" in shell.run("clear").stderr
    wrong = shell.run("remind", "x", "--all", "--mode", "never")
    assert (wrong.returncode, "HARN-RMD-002" in wrong.stderr) == (2, True)
    late = shell.run("remind", "x", "--all", "--deliver-within", "-1")
    assert (late.returncode, "`deliverWithin`" in late.stderr) == (2, True)


def test_a_detached_hub_that_cannot_start_says_why(shell: Shell) -> None:
    home = shell.folder / "home"
    home.mkdir(mode=0o700)
    (home / "hub.token").write_text("short")
    done = shell.run("up", "--detach", "--port", "0")
    assert (done.returncode, "only you can read" in done.stderr) == (2, True)
