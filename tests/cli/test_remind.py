"""`tidings remind` and the options of `tidings acp-proxy`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import typer

from tidings.acp.proxy import options as proxy_options
from tidings.acp.proxy.options import Options, read_options
from tidings.bridge.door.server import Door
from tidings.bridge.rpc import INVALID_PARAMS, SERVER_BUSY, Call, RpcError
from tidings.cli.acp_proxy import app
from tidings.core.reminder import Payload
from tidings.errors import CallerError

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 30


@contextmanager
def door(path: Path, seen: list[Payload], refuse: RpcError | None = None) -> Iterator[None]:
    """A door that accepts everything, or refuses it, in a thread of its own."""
    ready, over = Event(), Event()

    async def handle(call: Call) -> Payload | None:
        seen.append({"method": call.method, **call.params})
        if refuse is not None:
            raise refuse
        return {"reminderId": "r1", "dedupedCount": 2}

    async def serve() -> None:
        opened = Door(str(path), handle)
        await opened.open()
        ready.set()
        await asyncio.to_thread(over.wait, DEADLINE)
        await opened.close()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(DEADLINE)
        yield
    finally:
        over.set()
        thread.join(DEADLINE)


def remind(*arguments: object, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), "remind", *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env={**os.environ, **environ},
        check=False,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "door.sock"


def test_every_option_reaches_the_agent(path: Path) -> None:
    seen: list[Payload] = []
    with door(path, seen):
        done = remind(
            "red", "--socket", path, "--tag", "ci", "--tag", "x", "--dedupe-key", "build", "--ttl", 2,
            "--mode", "audit_only", "--role-hint", "user_block", "--propagate", "none", "--preserve",
            "--session", "s1", "--json",
        )  # fmt: skip
    assert (done.returncode, json.loads(done.stdout)) == (0, {"reminderId": "r1", "dedupedCount": 2})
    assert seen == [
        {
            "method": "session/inject_reminder",
            "sessionId": "s1",
            "body": "red",
            "tags": ["ci", "x"],
            "dedupeKey": "build",
            "ttlTurns": 2,
            "mode": "audit_only",
            "roleHint": "user_block",
            "propagate": "none",
            "preserveOnCompact": True,
        }
    ]


def test_what_is_not_given_is_not_sent_and_people_get_one_line(path: Path) -> None:
    seen: list[Payload] = []
    with door(path, seen):
        done = remind("red", TIDINGS_SOCKET=str(path))
    assert (done.returncode, done.stdout) == (0, "reminder r1, takes the place of 2\n")
    assert seen == [{"method": "session/inject_reminder", "body": "red"}]


def test_a_socket_that_is_gone_is_named_with_the_variable_that_named_it(path: Path) -> None:
    done = remind("red", TIDINGS_SOCKET=str(path))
    told = f"tidings: there is no socket at '{path}'"
    assert (done.returncode, done.stderr) == (2, f"{told} (the variable TIDINGS_SOCKET names it)\n")
    done = remind("red", "--socket", path, TIDINGS_SOCKET="/elsewhere")
    assert (done.returncode, done.stderr) == (2, f"{told}\n")


def test_the_body_comes_from_standard_input_or_a_file(path: Path, tmp_path: Path) -> None:
    seen: list[Payload] = []
    (tmp_path / "body").write_bytes("caf\u00e9 \xff".encode("latin-1"))
    with door(path, seen):
        assert remind("-", "--socket", path, given="piped\n").returncode == 0
        assert remind("--file", tmp_path / "body", "--socket", path).returncode == 0
    assert [one["body"] for one in seen] == ["piped\n", "caf\ufffd \ufffd"]


@pytest.mark.parametrize(
    ("refused", "code", "text"),
    [
        (
            RpcError(INVALID_PARAMS, "session/remind: HARN-RMD-005: bad", {"code": "HARN-RMD-005"}),
            2,
            "tidings: session/remind: HARN-RMD-005: bad\n",
        ),
        (
            RpcError(INVALID_PARAMS, "bad mode", {"code": "HARN-RMD-002"}),
            2,
            "tidings: HARN-RMD-002: bad mode\n",
        ),
        (
            RpcError(INVALID_PARAMS, "which session?", {"sessions": ["a", "b"]}),
            2,
            "tidings: which session?; choose one with --session (a, b)\n",
        ),
        (
            RpcError(INVALID_PARAMS, "which session?", {"sessions": []}),
            2,
            "tidings: which session?; choose one with --session (none is open yet)\n",
        ),
        (RpcError(SERVER_BUSY, "full\x1b[2J"), 1, "tidings: full\\x1b[2J\n"),
    ],
)
def test_a_refusal_is_one_line_with_its_code(path: Path, refused: RpcError, code: int, text: str) -> None:
    with door(path, [], refused):
        done = remind("x", "--socket", path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", text)


def test_without_a_door_it_says_what_to_do(path: Path, tmp_path: Path) -> None:
    alone = remind("x", XDG_RUNTIME_DIR=str(tmp_path), TIDINGS_SOCKET="")
    assert (alone.returncode, alone.stderr.count("\n")) == (2, 1)
    assert "tidings acp-proxy -- <command>" in alone.stderr
    named = remind("x", "--socket", path)
    assert (named.returncode, named.stderr) == (2, f"tidings: there is no socket at {str(path)!r}\n")


@pytest.mark.parametrize("arguments", [[], ["x", "--file", "y"], ["--file", "/no/such/file"]])
def test_a_body_that_cannot_be_had_is_a_wrong_question(arguments: list[str], path: Path) -> None:
    done = remind(*arguments, "--socket", path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_body_beyond_all_measure_is_not_sent(path: Path) -> None:
    done = remind("-", "--socket", path, given="x" * 300_000)
    assert (done.returncode, done.stderr) == (
        2,
        "tidings: the body has more than 262144 bytes; a reminder is a few sentences\n",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Options()),
        (["--", "agent", "--acp", "--"], Options(("agent", "--acp", "--"))),
        (["--socket", "/a", "--log=b.db", "--quiet", "--", "x"], Options(("x",), "/a", "b.db", quiet=True)),
        (["--no-socket", "--no-rfc"], Options(no_socket=True, no_rfc=True)),
    ],
)
def test_the_options_are_read_without_a_library(arguments: list[str], expected: Options) -> None:
    assert read_options(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--"], "an agent command must follow"),
        (["--colour"], "unknown option '--colour'"),
        (["--quiet=1"], "unknown option"),
        (["agent"], "goes behind `--`"),
        (["--socket"], "--socket needs a value"),
        (["--log="], "--log needs a value"),
        (["--socket", "/a", "--no-socket"], "exclude each other"),
    ],
)
def test_a_wrong_option_is_named(arguments: list[str], complaint: str) -> None:
    with pytest.raises(CallerError, match=complaint):
        read_options(arguments)


def test_the_help_knows_the_same_options_as_the_short_way() -> None:
    command: Any = typer.main.get_command(app)
    declared = {
        option for parameter in command.params for option in parameter.opts if option.startswith("--")
    }
    assert declared - {"--help"} == {*proxy_options.WITH_VALUE, *proxy_options.FLAGS}


def test_the_short_way_answers_wrong_options_like_the_long_one() -> None:
    done = subprocess.run(
        [str(SCRIPT), "acp-proxy", "--colour"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_help_is_still_the_whole_help() -> None:
    for arguments in (["acp-proxy", "--help"], ["acp-proxy", "-h"]):
        done = subprocess.run(
            [str(SCRIPT), *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False
        )
        assert done.returncode == 0
        assert "--no-socket" in done.stdout


@pytest.mark.parametrize("module", ["acp", "pydantic", "typer", "msgspec", "tidings.agent", "sqlite3"])
def test_starting_the_interposer_loads_nothing_heavy(module: str, tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['tidings', 'acp-proxy', '--quiet', '--', 'true']\n"
        "from tidings.cli.start import run\n"
        "try: run()\n"
        f"finally: assert {module!r} not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
