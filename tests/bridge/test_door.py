"""The door: a private socket, bounded, polite to bad input; and the two ways to find and use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tidings.bridge.door import call as door_call
from tidings.bridge.door import place
from tidings.bridge.door.failure import DoorError
from tidings.bridge.door.place import VARIABLE, find, own_path, runtime_folder, workspace_mark
from tidings.bridge.door.server import Door
from tidings.bridge.methods import METHODS
from tidings.bridge.rpc import INVALID_PARAMS, Call, RpcError
from tidings.core.reminder import Payload

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(call: Call) -> Payload | None:
    if call.method == "refuse":
        raise RpcError(INVALID_PARAMS, "no", {"code": "HARN-RMD-002"})
    return {"method": call.method, **call.params}


@asynccontextmanager
async def opened(path: Path, **limits: Any) -> AsyncIterator[Door]:
    door = Door(str(path), echo, **limits)
    await door.open()
    try:
        yield door
    finally:
        await door.close()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(20):
            await scene()

    asyncio.run(timed())


async def said(client: Client, line: bytes) -> dict[str, Any]:
    reader, writer = client
    writer.write(line + b"\n")
    return json.loads(await reader.readline())  # type: ignore[no-any-return]


def request(method: str, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "door.sock"


def test_only_the_owner_may_connect_and_nothing_is_left_behind(path: Path) -> None:
    async def scene() -> None:
        async with opened(path):
            assert os.stat(path).st_mode & 0o777 == 0o600

    former = os.umask(0)
    try:
        play(scene)
    finally:
        os.umask(former)
    assert not path.exists()


@pytest.mark.parametrize("method", METHODS)
def test_calls_are_answered_in_order_on_one_connection(path: Path, method: str) -> None:
    async def scene() -> None:
        async with opened(path):
            client = await asyncio.open_unix_connection(path)
            for number in range(3):
                reply = await said(client, request(method, n=number))
                assert reply == {"jsonrpc": "2.0", "id": 1, "result": {"method": method, "n": number}}
            client[1].close()

    play(scene)


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"not json", -32700, None),
        (b"[" * 5000, -32700, None),
        (b"\xff\xff", -32700, None),
        (b"[]", -32600, None),
        (b'{"id":4,"method":5}', -32600, 4),
        (b'{"id":4,"method":"x","params":[1]}', -32602, 4),
        (b'{"id":4}', -32600, None),
        (b'{"id":4,"method":"refuse"}', -32602, 4),
    ],
)
def test_bad_input_gets_an_error_and_the_connection_lives_on(
    path: Path, line: bytes, code: int, id: object
) -> None:
    async def scene() -> None:
        async with opened(path):
            client = await asyncio.open_unix_connection(path)
            refused = await said(client, line)
            assert (refused["error"]["code"], refused["id"]) == (code, id)
            assert (await said(client, request("x")))["result"] == {"method": "x"}
            client[1].close()

    play(scene)


def test_blank_lines_notifications_and_answers_get_no_reply(path: Path) -> None:
    async def scene() -> None:
        async with opened(path):
            client = await asyncio.open_unix_connection(path)
            quiet = [b"", b"  ", b'{"method":"x"}', b'{"method":"refuse"}', b'{"id":1,"result":{}}']
            client[1].write(b"\n".join(quiet) + b"\n")
            assert (await said(client, request("x")))["result"] == {"method": "x"}
            client[1].close()

    play(scene)


def test_a_line_that_is_too_long_is_refused_and_others_are_not_harmed(path: Path) -> None:
    async def scene() -> None:
        async with opened(path, longest=1000):
            other = await asyncio.open_unix_connection(path)
            client = await asyncio.open_unix_connection(path)
            refused = await said(client, b"x" * 3000)
            assert refused["error"] == {
                "code": -32600,
                "message": "a message may have 1000 bytes; the connection is closed",
            }
            assert await client[0].read() == b""
            assert "result" in await said(other, request("x"))
            for one in (client, other):
                one[1].close()

    play(scene)


def test_one_connection_too_many_is_told_so(path: Path) -> None:
    async def scene() -> None:
        async with opened(path, connections=2):
            clients = [await asyncio.open_unix_connection(path) for _ in range(2)]
            for client in clients:
                await said(client, request("x"))
            reader, writer = await asyncio.open_unix_connection(path)
            assert json.loads(await reader.readline())["error"]["code"] == -32000
            assert await reader.read() == b""
            for one in (*clients, (reader, writer)):
                one[1].close()

    play(scene)


def test_a_silent_connection_is_closed_after_its_time(path: Path) -> None:
    async def scene() -> None:
        async with opened(path, idle_seconds=0.01):
            reader, writer = await asyncio.open_unix_connection(path)
            assert await reader.read() == b""
            writer.close()

    play(scene)


def test_closing_ends_open_connections(path: Path) -> None:
    async def scene() -> None:
        async with opened(path):
            client = await asyncio.open_unix_connection(path)
            await said(client, request("x"))
        assert await client[0].read() == b""
        client[1].close()

    play(scene)


def test_a_socket_that_nobody_listens_at_makes_way(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))

    async def scene() -> None:
        async with opened(path):
            client = await asyncio.open_unix_connection(path)
            assert "result" in await said(client, request("x"))
            client[1].close()

    play(scene)


def test_a_door_in_use_and_a_file_are_not_taken(path: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        async with opened(path):
            with pytest.raises(DoorError, match="somebody listens"):
                await Door(str(path), echo).open()
            assert os.path.exists(path)  # noqa: ASYNC240

    play(scene)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DoorError, match="is not a socket"):
        asyncio.run(Door(str(tmp_path / "file"), echo).open())
    assert (tmp_path / "file").read_text() == "mine"


def test_a_socket_whose_owner_is_too_busy_to_answer_is_not_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_KNOCK_SECONDS", 0.05)
    with contextlib.ExitStack() as stack:
        busy = stack.enter_context(socket.socket(socket.AF_UNIX))
        busy.bind(str(path))
        busy.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            waiting.connect_ex(str(path))
        with pytest.raises(DoorError, match="somebody listens"):
            asyncio.run(Door(str(path), echo).open())
        assert path.is_socket()


def test_a_socket_left_behind_that_cannot_be_removed_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    monkeypatch.setattr(os, "unlink", forbidden)
    with pytest.raises(DoorError, match="cannot be removed: Operation not permitted; give another path"):
        asyncio.run(Door(str(path), echo).open())


@pytest.mark.parametrize("path", [Path("/nowhere/at/all.sock"), Path("/tmp/" + "x" * 200)])
def test_a_path_that_cannot_be_used_is_named(path: Path) -> None:
    with pytest.raises(DoorError, match="no socket can be opened at"):
        asyncio.run(Door(str(path), echo).open())


def call_in_thread(path: Path, method: str, **params: object) -> Awaitable[Payload]:
    return asyncio.to_thread(door_call.call, str(path), method, params, 10)


def test_one_call_gives_the_result_or_the_refusal(path: Path) -> None:
    async def scene() -> None:
        async with opened(path):
            assert await call_in_thread(path, "x", a=1) == {"method": "x", "a": 1}
            with pytest.raises(RpcError) as refused:
                await call_in_thread(path, "refuse")
            assert (refused.value.code, refused.value.data) == (INVALID_PARAMS, {"code": "HARN-RMD-002"})

    play(scene)


def test_a_door_that_does_not_open_says_why(path: Path) -> None:
    with pytest.raises(DoorError, match="there is no socket"):
        door_call.call(str(path), "x", {})
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    with pytest.raises(DoorError, match="nobody listens"):
        door_call.call(str(path), "x", {})


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"", "closed the connection"),
        (b"garbage\n", "no answer"),
        (b'{"id":1,"result":null}\n', "without a result"),
    ],
)
def test_a_peer_that_answers_nonsense_is_named(path: Path, answer: bytes, complaint: str) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()

    async def scene() -> None:
        server = await asyncio.start_unix_server(nonsense, path)
        async with server:
            with pytest.raises(DoorError, match=complaint):
                await call_in_thread(path, "x")

    play(scene)


def test_a_peer_that_stays_silent_is_given_up(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with pytest.raises(DoorError, match="no answer within"):
            door_call.call(str(path), "x", {}, 0.01)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def test_the_folder_for_sockets_is_private(environ: dict[str, str], tmp_path: Path) -> None:
    folder = Path(runtime_folder(environ))
    assert (folder, folder.stat().st_mode & 0o777) == (tmp_path / "tidings", 0o700)
    folder.chmod(0o755)
    with pytest.raises(DoorError, match="only you can enter"):
        runtime_folder(environ)


def test_without_a_runtime_folder_the_temporary_one_is_used(tmp_path: Path) -> None:
    assert runtime_folder({"TMPDIR": str(tmp_path)}) == str(tmp_path / f"tidings-{os.getuid()}")


def test_a_folder_that_is_a_link_is_not_trusted(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "tidings").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DoorError, match="must be a folder"):
        runtime_folder(environ)


def test_sockets_of_processes_that_are_gone_are_swept_away(environ: dict[str, str]) -> None:
    folder = Path(runtime_folder(environ))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=20)
    for name in (f"acp-0-{ended.pid}.sock", f"acp-0-{os.getppid()}.sock", "other.txt", "acp-x.sock"):
        (folder / name).touch()
    own = own_path("acp", environ)
    assert own == str(folder / f"acp-{workspace_mark(os.getcwd())}-{os.getpid()}.sock")
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [f"acp-0-{os.getppid()}.sock", "acp-x.sock", "other.txt"]
    )


def listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def test_the_door_is_found_by_variable_then_workspace_then_alone(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(runtime_folder(environ))
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    monkeypatch.chdir(project / "src")
    assert find({**environ, VARIABLE: "/given"}) == "/given"
    with pytest.raises(DoorError, match="no socket answers"):
        find(environ)
    (folder / "acp-stale-1.sock").touch()
    elsewhere = folder / "acp-00000000-1.sock"
    here = folder / f"acp-{workspace_mark(str(project))}-2.sock"
    nearer = folder / f"acp-{workspace_mark(str(project / 'src'))}-3.sock"
    again = folder / f"acp-{workspace_mark(str(project / 'src'))}-4.sock"
    with listening(elsewhere):
        assert find(environ) == str(elsewhere)
        with listening(here):
            assert find(environ) == str(here)
            with listening(nearer):
                assert find(environ) == str(nearer)
                with listening(again), pytest.raises(DoorError, match="2 sockets answer") as several:
                    find(environ)
                assert str(nearer) in str(several.value)
                assert str(elsewhere) not in str(several.value)
