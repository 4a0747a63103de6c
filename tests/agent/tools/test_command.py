"""Commands in real processes: output, environment, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.agent.tools.calling import ALLOW_ALL, DEADLINE, Desk, call, within_deadline
from tidings.agent.port import Outcome
from tidings.agent.tools import process
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.environment import command_environment
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.tool import ToolContext
from tidings.agent.tools.workspace import workspace_tools
from tidings.core.redaction import looks_secret


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in list(os.environ):
        if looks_secret(name, os.environ[name]):
            monkeypatch.delenv(name)
    return Desk(tmp_path)


def ended(text: str, code: int | None = 0, *, timed_out: bool = False) -> Outcome:
    data: dict[str, object] = {"exit_code": code, "timed_out": timed_out, "withheld": []}
    return Outcome(text=text, ok=code == 0, data=data)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until_dead(pid: int) -> bool:
    end = time.monotonic() + DEADLINE
    while is_alive(pid) and time.monotonic() < end:
        os.sched_yield()
    return not is_alive(pid)


def test_a_command_runs_in_the_folder_and_gives_both_outputs(desk: Desk, tmp_path: Path) -> None:
    assert desk("run_command", command="pwd; echo error >&2; echo out") == ended(
        f"[exit code 0]\n{tmp_path}\nerror\nout\n"
    )


def test_a_command_that_fails_gives_its_exit_code(desk: Desk) -> None:
    assert desk("run_command", command="exit 3") == ended("[exit code 3]\n(no output)", 3)
    assert desk("run_command", command="kill -KILL $$") == ended(
        "[ended by signal 9 (Killed)]\n(no output)", -9
    )


def test_nothing_can_be_typed_into_a_command(desk: Desk) -> None:
    assert desk("run_command", command="cat; echo end") == ended("[exit code 0]\nend\n")


def test_output_that_is_not_utf8_is_survived(desk: Desk) -> None:
    assert desk("run_command", command=r"printf 'caf\351 \303'") == ended("[exit code 0]\ncaf\ufffd \ufffd")


def test_a_huge_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    given = Desk(tmp_path, max_output=2000)("run_command", command="seq 1 300000")
    assert given.text.startswith("[exit code 0]\n1\n2\n3\n")
    assert given.text.endswith("\n299999\n300000\n")
    assert given.text.count("left out here") == 1
    assert (given.truncated, given.original_size) == (True, sum(len(f"{n}\n") for n in range(1, 300_001)))
    assert len(given.text) <= 2000


def test_a_hanging_command_and_its_children_are_killed_and_its_output_survives(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TERM_GRACE", 0.05)
    (tmp_path / "hang.sh").write_text(
        "trap '' TERM; (trap '' TERM; echo $BASHPID > child; sleep 3600) & echo started; wait"
    )
    given = desk("run_command", command="bash hang.sh", timeout=2)
    assert given.text == "[killed after 2 seconds; this is the output until then]\nstarted\n"
    assert (given.ok, given.data["timed_out"]) == (False, True)
    assert wait_until_dead(int((tmp_path / "child").read_text()))


def test_what_a_command_leaves_in_the_background_ends_with_it(desk: Desk, tmp_path: Path) -> None:
    assert desk("run_command", command="sleep 3600 & echo $! > child") == ended(
        "[exit code 0]\n(no output)"
    )
    assert wait_until_dead(int((tmp_path / "child").read_text()))


@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid")
def test_the_last_words_of_a_child_that_escaped_are_still_heard(desk: Desk) -> None:
    after_the_end = "while kill -0 $0 2>&-; do :; done; echo last words"
    command = f"mkfifo up; setsid -f sh -c 'echo > up; {after_the_end}' $$; read < up"
    assert desk("run_command", command=command) == ended("[exit code 0]\nlast words\n")


def test_cancelling_kills_the_command_and_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")

    async def main() -> tuple[Receipt, ...]:
        context = ToolContext()
        dispatcher = Dispatcher(workspace_tools(tmp_path), approval=ALLOW_ALL)
        command = "sleep 3600 & echo $! > child; echo go > ready; wait"
        task = asyncio.ensure_future(dispatcher.dispatch([call("run_command", command=command)], context))
        await asyncio.to_thread((tmp_path / "ready").read_text)
        context.cancel.set()
        return await task

    (receipt,) = within_deadline(main())
    assert receipt.status == "cancelled"
    assert wait_until_dead(int((tmp_path / "child").read_text()))


def test_a_timeout_outside_its_bounds_is_refused(desk: Desk) -> None:
    assert desk.receipt("run_command", command="true", timeout=0).status == "invalid"
    assert desk.receipt("run_command", command="true", timeout=601).status == "invalid"


def test_a_command_that_cannot_be_started_says_so(desk: Desk) -> None:
    assert desk("run_command", command="a\0b") == Outcome(
        text="command has a zero byte; remove it", ok=False
    )
    long = desk("run_command", command="#" * 3_000_000)
    assert long.text.startswith("the command could not be started: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("aws_secret_access_key", "x"),
        ("DB_PASSWORD", "x"),
        ("PGPASSWORD", "x"),
        ("SSH_AUTH_SOCK", "/tmp/x"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/x"),
        ("SENTRY_DSN", "x"),
        ("DATABASE_URL", "postgres://me:pw@host/db"),
        ("SOMETHING", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_what_looks_like_a_secret_is_withheld(name: str, value: str) -> None:
    environment, withheld = command_environment({name: value, "PATH": "/bin"})
    assert (name in environment, withheld, environment["PATH"]) == (False, (name,), "/bin")


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "PWD", "LANG", "KEYBOARD", "MONKEYS", "AUTHOR", "COMPASS"]
)
def test_ordinary_variables_are_kept(name: str) -> None:
    assert command_environment({name: "https://host/path"})[1] == ()


def test_a_command_cannot_see_a_secret_and_the_outcome_names_what_was_withheld(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hidden-value")
    given = desk("run_command", command="env")
    assert "hidden-value" not in given.text
    assert given.data["withheld"] == ["SERVICE_TOKEN"]
