"""`tidings hook`, as hosts run it: a process of its own that never harms the agent."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from threading import Thread

import pytest

from tests.hosts.desks import news
from tests.hosts.events import WORKSPACE, payload
from tests.hub.desks import DEADLINE
from tests.hub.running import Client, running_in
from tidings.cli.hook import call
from tidings.core.reminder import Payload
from tidings.hosts.happening import HOSTS, Host
from tidings.hub.place import place_of, prepare

SCRIPT = Path(call.__file__)
BARE = (sys.executable, "-I", "-S", str(SCRIPT))
PATIENT = ("claude-code", "--seconds", "20")
WHOLE = (sys.executable, "-c", "from tidings.cli.start import run; run()", "hook")


def surroundings(folder: Path) -> dict[str, str]:
    runtime = folder / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(runtime),
        "TIDINGS_HOME": str(folder / "data"),
    }


def run_hook(
    command: tuple[str, ...], environ: Mapping[str, str], given: bytes, *options: str
) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [*command, *options],
        input=given,
        env=dict(environ),
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@asynccontextmanager
async def hub_in(environ: Mapping[str, str]) -> AsyncIterator[Client]:
    place = place_of(environ)
    prepare(place)
    async with asyncio.timeout(DEADLINE), running_in(place) as client:
        yield client


async def remind(client: Client, body: str, **more: object) -> None:
    about: Payload = {"body": body, "to": {"workspace": WORKSPACE}, **more}
    assert (await client.ask("POST", "/v1/reminders", about)).status == 200


@pytest.mark.parametrize("command", [BARE, WHOLE], ids=["by path", "tidings hook"])
def test_the_command_gives_the_hubs_answer(tmp_path: Path, command: tuple[str, ...]) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client:
            await remind(client, "The build is red.")
            given = json.dumps(payload("claude-code", "PostToolBatch"), indent=2).encode()
            code, out, err = await asyncio.to_thread(run_hook, command, environ, given, *PATIENT)
            assert (code, err) == (0, b"")
            assert "The build is red." in news(json.loads(out))

    asyncio.run(script())


def test_a_payload_of_megabytes_and_its_answer_pass(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ) as client:
            await remind(client, "The build is red.")
            long = [
                {"role": "user", "content": "<session_context>"},
                {"role": "model", "content": "ü\n" * 1_000_000},
            ]
            given = json.dumps(payload("gemini", "BeforeModel", llm_request={"messages": long})).encode()
            options = ("gemini", "--seconds", "20")
            code, out, err = await asyncio.to_thread(run_hook, BARE, environ, given, *options)
            assert (code, err) == (0, b"")
            messages = json.loads(out)["hookSpecificOutput"]["llm_request"]["messages"]
            assert messages[:-1] == long
            assert "The build is red." in messages[-1]["content"]

    asyncio.run(script())


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "given", [b"", b"{broken", b"[]", b"null", b"{} {}", b'{"session_id": "s1"}', b"\xff\xfe{}"]
)
def test_broken_payloads_get_the_neutral_answer(tmp_path: Path, host: Host, given: bytes) -> None:
    environ = surroundings(tmp_path)

    async def script() -> None:
        async with hub_in(environ):
            told = await asyncio.to_thread(run_hook, BARE, environ, given, host)
            assert told == (0, b"{}\n", b"")

    asyncio.run(script())


def test_without_a_hub_the_agent_goes_on(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)
    given = json.dumps(payload("claude-code", "Stop")).encode()
    assert run_hook(BARE, environ, given, "claude-code") == (0, b"{}\n", b"")
    place_of(environ)
    assert run_hook(BARE, environ, given, "claude-code") == (0, b"{}\n", b"")


@contextmanager
def listening(path: str, says: bytes | None) -> Iterator[None]:
    """Somebody at the hub's socket who gives this answer, or none and holds the line."""
    with socket(AF_UNIX) as door:
        door.bind(path)
        door.listen()
        held = []

        def serve() -> None:
            while True:
                try:
                    peer, _ = door.accept()
                except OSError:
                    return
                held.append(peer)
                peer.recv(65536)
                if says is not None:
                    peer.sendall(says)
                    peer.close()

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield
        finally:
            door.shutdown(2)
            thread.join(DEADLINE)
            for peer in held:
                peer.close()


@pytest.mark.parametrize(
    "says",
    [
        None,
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b'{"jsonrpc":"2.0","id":"hook","error":{"code":-32603,"message":"log"}}\n',
        b'{"jsonrpc":"2.0","id":"hook","result":{}}\n',
    ],
)
def test_a_hub_that_hangs_or_talks_nonsense_does_no_harm(tmp_path: Path, says: bytes | None) -> None:
    environ = surroundings(tmp_path)
    given = json.dumps(payload("claude-code", "Stop")).encode()
    with listening(place_of(environ).socket, says):
        told = run_hook(BARE, environ, given, "claude-code", "--seconds", "0.3")
    assert told == (0, b"{}\n", b"")


@pytest.mark.parametrize(
    "options",
    [("emacs",), ("claude-code", "--home"), ("claude-code", "--seconds", "soon"), ("codex", "-x", "1")],
)
def test_wrong_arguments_never_end_in_the_code_that_blocks(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, out, err = run_hook(BARE, surroundings(tmp_path), b"{}", *options)
    assert (code, out) == (1, b"")
    assert err.startswith(b"tidings hook: give one of claude-code, codex")


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"TIDINGS_HOME": ""},
        {"TIDINGS_HOME": "relative/home"},
        {"XDG_RUNTIME_DIR": ""},
        {"TIDINGS_HOME": "", "XDG_DATA_HOME": "/somewhere/else"},
    ],
)
def test_the_command_looks_where_the_hub_is(
    tmp_path: Path, changed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {**surroundings(tmp_path), "TMPDIR": str(tmp_path), **changed}
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = place_of(environ).socket
    assert call.socket_path(None, environ) == expected


def test_a_hub_that_was_started_with_another_folder_for_sockets_is_found(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)
    given = json.dumps(payload("claude-code", "Stop")).encode()
    answer = b'{"jsonrpc":"2.0","id":"hook","result":{"answer":{"found":true}}}\n'
    place = place_of(environ)
    place.home.mkdir(parents=True, exist_ok=True)
    place.state_file.write_text(json.dumps({"socket": place.socket}))
    elsewhere = {**environ, "XDG_RUNTIME_DIR": str(tmp_path / "cron")}
    with listening(place.socket, answer):
        assert run_hook(BARE, elsewhere, given, "claude-code") == (0, b'{"found":true}\n', b"")


@pytest.mark.parametrize(
    "told", ["", "[]", "{}", '{"socket": 1}', '{"socket": "/nowhere"}', '{"socket": "/proc/1/root"}']
)
def test_what_a_hub_says_of_itself_is_used_only_if_it_is_a_socket_of_this_user(
    tmp_path: Path, told: str
) -> None:
    environ = surroundings(tmp_path)
    place = place_of(environ)
    place.home.mkdir(parents=True, exist_ok=True)
    place.state_file.write_text(told)
    assert call.socket_path(None, environ) == place.socket


def test_a_folder_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    environ = surroundings(tmp_path)
    place_of(environ)
    (tmp_path / "run" / "tidings").chmod(0o755)
    with pytest.raises(call.Unusable):
        call.socket_path(None, environ)


def test_the_command_loads_neither_tidings_nor_anything_heavy() -> None:
    code, _, err = run_hook((*BARE[:-1], "-X", "importtime", BARE[-1]), {}, b"", "emacs")
    loaded = {line.rpartition("|")[2].strip() for line in err.decode().splitlines()}
    assert (code, "_socket" in loaded) == (1, True)
    heavy = {"tidings", "json", "re", "enum", "typing", "socket", "asyncio", "msgspec", "typer", "signal"}
    assert heavy & loaded == set()
