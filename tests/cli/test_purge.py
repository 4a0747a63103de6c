"""`tidings purge`, on a log file and through a running hub, and what `tidings log verify` then says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from tests.cli.test_hub import Shell, shell
from tidings.bridge.door.call import call
from tidings.cli.main import app
from tidings.hub.place import place_of
from tidings.log import open_log
from tidings.log.record import CHECKPOINTS
from tidings.shell.ids import now_ms

DAY = 86_400_000
DEADLINE = 30
OLD, NEW = 5, 2
GONE, HERE, SAVED = (f"session.{name}.transcript" for name in ("gone", "here", "saved"))

__all__ = ["shell"]


class Clock:
    """Days ago, as the test says."""

    def __init__(self) -> None:
        self.days = 40

    def __call__(self) -> int:
        return now_ms() - self.days * DAY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with old and new records in a plain topic, and three sessions."""
    path, clock = tmp_path / "agent.db", Clock()
    with open_log(path, clock=clock) as log:
        for topic in (
            "notes",
            "session.gone.transcript",
            "session.here.transcript",
            "session.saved.transcript",
        ):
            for _ in range(OLD):
                log.append(topic, "mailbox.queued", {})
        log.append(SAVED, "transcript.snapshot", {"transcript": {}, "session": {}})
        log.append("session.gone.approvals", "approval.mode", {})
        clock.days = 1
        for topic in ("notes", HERE, SAVED):
            for _ in range(NEW):
                log.append(topic, "mailbox.queued", {})
    return path


def tidings(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.stdout, result.stderr


def kept(path: Path) -> dict[str, tuple[int, int]]:
    """Through where each topic is purged, and its last record."""
    with open_log(path) as log:
        log.verify()
        return {name: (log.purged_through(name), log.latest(name)) for name in ("notes", GONE, HERE, SAVED)}


BEFORE = {"notes": (0, 7), GONE: (0, 5), HERE: (0, 7), SAVED: (0, 8)}


def test_old_records_go_and_what_sessions_need_stays_with_the_way_out(path: Path) -> None:
    code, out, err = tidings("purge", "--older-than", "30d", "--log", path)
    assert (code, out) == (
        0,
        "5  notes                     5\n5  session.saved.transcript  5\n10 records gone\n",
    )
    assert [line.partition(" stay: ")[0] for line in err.splitlines()] == [
        "tidings: 1 old records of session.gone.approvals",
        f"tidings: 5 old records of {GONE}",
        f"tidings: 5 old records of {HERE}",
        f"tidings: 1 old records of {SAVED}",
    ]
    assert "call session.checkpoint()" in err
    assert kept(path) == {**BEFORE, "notes": (5, 7), SAVED: (5, 8)}


def test_a_dry_run_shows_the_same_and_changes_nothing(path: Path) -> None:
    code, out, _ = tidings("purge", "--older-than", "30d", "--log", path, "--dry-run")
    assert (code, out.splitlines()[-1]) == (0, "10 records would go")
    assert kept(path) == BEFORE


def test_json_holds_everything(path: Path) -> None:
    code, out, err = tidings("purge", "--older-than", "30d", "--log", path, "--topic", "notes", "--json")
    assert (code, err) == (0, "")
    rows = [{"topic": "notes", "count": 5, "purgedThrough": 5}]
    assert json.loads(out) == {"dryRun": False, "purged": rows, "kept": []}


def test_a_session_meant_by_name_is_forgotten_when_nothing_of_it_is_younger(path: Path) -> None:
    assert tidings("purge", "--older-than", "30d", "--log", path, "--session", "gone")[:2] == (
        0, "5  session.gone.transcript  5\n1  session.gone.approvals   1\n6 records gone\n",
    )  # fmt: skip
    code, out, err = tidings("purge", "--older-than", "30d", "--log", path, "--session", "here")
    assert (code, out) == (0, "0 records would go\n")
    assert "5 old records of session.here.transcript stay: call session.checkpoint()" in err
    assert kept(path) == {**BEFORE, GONE: (5, 5)}


def test_nothing_that_old_is_said_and_is_no_error(path: Path) -> None:
    assert tidings("purge", "--older-than", "9w", "--log", path) == (0, "0 records would go\n", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--older-than", "soon"), "--older-than is 'soon'; give a whole number and one of s, m, h, d, w"),
        (("--older-than", "1d", "--topic", "none"), "--topic is 'none'; the log has no such one"),
        (("--older-than", "1d", "--session", "none"), "--session is 'none'; the log has no such one"),
        (("--older-than", "1d", "--session", "a", "--topic", "b"), "give one of them"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_way_out(
    path: Path, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = tidings("purge", "--log", path, *arguments)
    assert (code, out, told in err) == (2, "", True)
    assert kept(path) == BEFORE


def test_verify_tells_from_where_a_purged_topic_is_checked(path: Path) -> None:
    tidings("purge", "--older-than", "30d", "--log", path, "--topic", "notes")
    code, out, _ = tidings("log", "verify", path)
    with open_log(path) as log:
        (found,) = log.verify().checkpoints
    first, second = out.splitlines()
    assert (code, first) == (0, "ok: 6 topics, 24 records, 24 batches")
    assert second.startswith("purged: notes up to 5, last on 20")
    assert second.endswith(f"Z; its chain is checked from {found.link[:16]} on")
    said = json.loads(tidings("log", "verify", path, "--json")[1])["checkpoints"]
    assert said == [msgspec.to_builtins(found)]


@pytest.mark.parametrize(("answer", "code", "gone"), [("n\n", 1, 0), ("y\n", 0, 5)])
def test_on_a_terminal_the_user_is_asked(path: Path, answer: str, code: int, gone: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from tidings.cli.main import run; run()", "purge"]
    options = ["--older-than", "30d", "--log", str(path), "--topic", "notes"]
    with (
        closing(os.fdopen(ours, "r+b", buffering=0)) as keyboard,
        subprocess.Popen([*command, *options], stdin=theirs, stdout=subprocess.PIPE, text=True) as process,
    ):
        os.close(theirs)
        keyboard.write(answer.encode())
        out, _ = process.communicate(timeout=DEADLINE)
    assert "5 records would go\nLet them go? [y/N]: " in out
    assert (process.returncode, kept(path)["notes"][0]) == (code, gone)


def test_the_running_hub_purges_itself_and_goes_on(shell: Shell) -> None:
    shell.json("up", "--detach", "--port", "0")
    socket = place_of(shell.environ).socket
    call(socket, "hub/register", {"sessionId": "s"})
    records = [{"cursor": n, "kind": "k", "atMs": n, "payload": {}} for n in range(1, 4)]
    about = {"sessionId": "s", "epoch": "e", "stream": "transcript"}
    call(socket, "hub/tell", {**about, "records": records})
    shell.json("remind", "Still there.", "--session", "s", "--deliver-within", "3600")
    assert shell.run("purge", "--older-than", "1h").stdout == "0 records would go\n"
    planned = shell.json("purge", "--older-than", "0s", "--dry-run")
    assert [row["topic"] for row in planned["purged"]] == ["hub", "told.s"]  # type: ignore[union-attr]
    done = shell.json("purge", "--older-than", "0s", "--session", "s")
    assert done == {"dryRun": False, "purged": [{"topic": "told.s", "count": 3, "purgedThrough": 3}]}
    assert "records gone" in shell.run("purge", "--older-than", "0s", "--yes").stdout
    assert call(socket, "hub/tell", {**about, "records": []}) == {"sessionId": "s", "told": 3}
    assert shell.run("down").returncode == 0
    shell.json("up", "--detach", "--port", "0")
    (row,) = shell.json("pending")["reminders"]  # type: ignore[misc]
    assert (row["reminder"]["body"], row["to"]) == ("Still there.", {"session": "s"})
    with open_log(place_of(shell.environ).database) as log:
        found = log.verify()
        assert {one.topic for one in found.checkpoints} >= {"hub", "told.s"}
        assert CHECKPOINTS in log.topics()


def test_a_hub_with_a_wrong_policy_does_not_start_and_says_why(shell: Shell) -> None:
    home = shell.folder / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[retention]\nmax_age = "long"\n')
    done = shell.run("up", "--detach", "--port", "0")
    assert (done.returncode, "`retention.max_age` is 'long'; give" in done.stderr) == (
        2,
        True,
    )
