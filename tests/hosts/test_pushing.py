"""Hosts that the hub speaks to by itself: what they are sent, when, and what happens when they go away."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.hosts.desks import Desk
from tests.hosts.events import WORKSPACE, payload
from tests.hub.desks import DEADLINE
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hosts.happening import Happening, Host
from tidings.hosts.table import TONGUES
from tidings.hub.hosting.pushing import pusher, surfaces
from tidings.hub.hosting.pushing.codex import AppServer
from tidings.hub.hosting.pushing.opencode import OpencodeServer
from tidings.hub.hosting.pushing.surfaces import Surface

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pusher, "GRACE_SECONDS", 0.0)


class FakeAppServer:
    """A Codex app-server with one thread; it keeps what it was asked, and says what it is told to."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Payload] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []
        self.status = "idle"
        self.refuses = ""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for writer in self.writers:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line[19:] for line in head.split("\r\n") if line.startswith("Sec-WebSocket-Key: "))
        accept = base64.b64encode(hashlib.sha1(f"{key}{GUID}".encode()).digest()).decode()
        writer.write(f"HTTP/1.1 101 Switching\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        writer.write(b"\x89\x02hi")
        while (message := await self._received(reader)) is not None:
            if "id" in message:
                self.say(self._answered(message))
            if message["method"] in ("thread/inject_items", "turn/start"):
                await self.asked.put(message)

    async def _received(self, reader: asyncio.StreamReader) -> Payload | None:
        while True:
            try:
                first, second = await reader.readexactly(2)
                size = second & 0x7F
                if size == 126:
                    (size,) = struct.unpack("!H", await reader.readexactly(2))
                mask = await reader.readexactly(4)
                data = await reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            if first & 0x0F == 1:
                plain = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
                message: Payload = json.loads(plain)
                return message

    def _answered(self, message: Payload) -> Payload:
        thread = {"id": "t1", "cwd": WORKSPACE, "status": {"type": self.status}}
        results: dict[object, Payload] = {
            "thread/loaded/list": {"data": ["t1", "child"]},
            "thread/read": {"thread": thread},
        }
        params = message.get("params")
        if isinstance(params, dict) and params.get("threadId") == "child":
            results["thread/read"] = {"thread": {**thread, "id": "child", "parentThreadId": "t1"}}
        if message["method"] == self.refuses:
            return {"id": message["id"], "error": {"code": -1, "message": "no"}}
        return {"id": message["id"], "result": results.get(message["method"], {})}

    def say(self, message: Payload) -> None:
        data = json.dumps(message).encode()
        half = len(data) // 2
        for kind, part in ((0x01, data[:half]), (0x80, data[half:])):
            size = bytes([len(part)]) if len(part) < 126 else b"\x7e" + struct.pack("!H", len(part))
            self.writers[-1].write(bytes([kind]) + size + part)

    def turn(self, busy: bool) -> None:
        self.say({"method": "turn/started" if busy else "turn/completed", "params": {"threadId": "t1"}})


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that rings no bell."""
    while not condition():  # noqa: ASYNC110 nothing to wait for from outside
        await asyncio.sleep(0.005)


async def registered(desk: Desk, name: str) -> None:
    """Wait until the hub knows a session."""
    await until(lambda: name in desk.hub.board.sessions)


def text_of(message: Payload) -> str:
    params = message["params"]
    assert isinstance(params, dict)
    return str(params["items"][0]["content"][0]["text"])


def test_a_working_codex_thread_is_told_at_once_in_the_developers_voice() -> None:
    async def script() -> None:
        desk, fake = Desk("codex"), FakeAppServer()
        fake.status = "active"
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            surface = AppServer(url)
            async with pusher.serving(desk.hub.hosting, {"codex": (surface, False)}):
                await registered(desk, "codex:t1")
                await desk.remind("The build is red.")
                message = await fake.asked.get()
                assert message["method"] == "thread/inject_items"
                assert text_of(message).endswith("The build is red.")
                params = message["params"]
                assert isinstance(params, dict)
                assert (params["threadId"], params["items"][0]["role"]) == ("t1", "developer")
                assert "codex:child" not in desk.hub.board.sessions

    asyncio.run(script())


def test_a_codex_thread_at_rest_is_woken_only_by_what_is_urgent_and_only_if_wanted() -> None:
    async def script() -> None:
        desk, fake = Desk("codex"), FakeAppServer()
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            async with pusher.serving(desk.hub.hosting, {"codex": (AppServer(url), True)}):
                await registered(desk, "codex:t1")
                await desk.remind("May wait.")
                await desk.remind("Production is down.", mode="interrupt_immediate")
                item, turn = await fake.asked.get(), await fake.asked.get()
                assert "Production is down." in text_of(item)
                assert "May wait." not in text_of(item)
                assert (turn["method"], turn["params"]) == ("turn/start", {"threadId": "t1", "input": []})
                fake.turn(busy=True)
                assert "May wait." in text_of(await fake.asked.get())
            async with pusher.serving(desk.hub.hosting, {"codex": (AppServer(url), False)}):
                await registered(desk, "codex:t1")
                await desk.remind("Production is down again.", mode="interrupt_immediate")
                fake.turn(busy=False)
                await asyncio.sleep(0.05)
                assert fake.asked.empty()

    asyncio.run(script())


def test_a_thread_whose_hooks_were_heard_is_only_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pusher, "GRACE_SECONDS", 0.05)

    async def script() -> None:
        desk, fake = Desk("codex"), FakeAppServer()
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            surface = AppServer(url)
            async with pusher.serving(desk.hub.hosting, {"codex": (surface, True)}):
                await registered(desk, "codex:t1")
                await desk.remind("May wait.")
                fake.turn(busy=True)
                assert "May wait." in await desk.text("UserPromptSubmit", "t1")
                await desk.remind("Later.")
                fake.turn(busy=False)
                await desk.hook("Stop", "t1", stop_hook_active=True)
                await desk.remind("Production is down.", mode="interrupt_immediate")
                assert "Production is down." in text_of(await fake.asked.get())
                assert "Later." in await desk.text("UserPromptSubmit", "t1")

    asyncio.run(script())


def test_a_text_that_did_not_arrive_is_written_down() -> None:
    async def script() -> None:
        desk, fake = Desk("codex"), FakeAppServer()
        fake.status, fake.refuses = "active", "thread/inject_items"
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            surface = AppServer(url)
            async with pusher.serving(desk.hub.hosting, {"codex": (surface, False)}):
                await registered(desk, "codex:t1")
                await desk.remind("The build is red.")
                await fake.asked.get()
                await until(lambda: desk.records("hub.host.warning"))
        [warning] = desk.records("hub.host.warning")
        assert str(warning["message"]).startswith(
            "news for codex:t1 did not reach it: the app-server refused"
        )

    asyncio.run(script())


def test_a_server_that_is_not_there_yet_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pusher, "FIRST_PAUSE", 0.01)

    async def script() -> None:
        desk, fake = Desk("codex"), FakeAppServer()
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            away = AppServer("ws://127.0.0.1:9")
            async with pusher.serving(desk.hub.hosting, {"codex": (away, False)}):
                await asyncio.sleep(0.05)
                away._url = url
                await registered(desk, "codex:t1")

    asyncio.run(script())


class FakeOpencode:
    """An opencode server: a stream of events, and the texts that it was sent."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[tuple[str, Payload]] = asyncio.Queue()
        self.stream: asyncio.StreamWriter | None = None
        self.there = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            if self.stream is not None:
                self.stream.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        verb, path, _ = head.split(" ", 2)
        length = next(
            int(line[16:]) for line in head.split("\r\n") if line.lower().startswith("content-length: ")
        )
        body = await reader.readexactly(length)
        if path == "/global/event":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            self.stream = writer
            self.there.set()
            return
        if verb == "POST":
            await self.sent.put((path, json.loads(body)))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            found = json.dumps({"id": path, **({"parentID": "s1"} if "child" in path else {})}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(found), found))
        writer.close()

    def status(self, session: str, kind: str) -> None:
        about = {"sessionID": session, "status": {"type": kind}}
        told = {"directory": WORKSPACE, "payload": {"type": "session.status", "properties": about}}
        data = b"data: " + json.dumps(told).encode() + b"\n\n"
        assert self.stream is not None
        for part in (data[:20], data[20:]):
            self.stream.write(b"%x\r\n%b\r\n" % (len(part), part))


def test_opencode_sessions_are_told_over_http_without_a_plugin() -> None:
    async def script() -> None:
        desk, fake = Desk("opencode"), FakeOpencode()
        async with asyncio.timeout(DEADLINE), fake.listening() as url:
            surface = OpencodeServer(url)
            async with pusher.serving(desk.hub.hosting, {"opencode": (surface, True)}):
                await fake.there.wait()
                fake.status("child", "busy")
                fake.status("s1", "busy")
                await registered(desk, "opencode:s1")
                assert "opencode:child" not in desk.hub.board.sessions
                await desk.remind("The build is red.")
                path, body = await fake.sent.get()
                assert (path, body["noReply"]) == ("/session/s1/prompt_async", True)
                parts = body["parts"]
                assert isinstance(parts, list)
                assert (parts[0]["type"], parts[0]["synthetic"]) == ("text", True)
                assert parts[0]["text"].endswith("The build is red.")
                fake.status("s1", "idle")
                moment = TONGUES["opencode"].read(payload("opencode", "chat.params"))
                assert isinstance(moment, Happening)
                situation = desk.hub.hosting.situation
                await until(lambda: not situation("opencode:s1", moment).pulse.asking)
                await desk.remind("Production is down.", mode="interrupt_immediate")
                _, woken = await fake.sent.get()
                assert "noReply" not in woken

    asyncio.run(script())


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("codex", "http://127.0.0.1:4500"),
        ("codex", "ws://example.com:4500"),
        ("codex", "ws://127.0.0.1"),
        ("codex", "ws://127.0.0.1:port"),
        ("opencode", "ws://127.0.0.1:4096"),
        ("opencode", "http://user:secret@127.0.0.1:4096"),
    ],
)
def test_only_servers_of_this_machine_are_spoken_to(host: Host, url: str) -> None:
    with pytest.raises(CallerError, match="give one of this machine, such as"):
        surfaces.checked(host, url)
    with pytest.raises(CallerError, match="has no server of its own"):
        surfaces.checked("gemini", url)


def test_surfaces_are_kept_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "hosts.json"
    assert surfaces.read(path) == {}
    known: dict[Host, Surface] = {"codex": Surface(url="ws://127.0.0.1:4500", wake=True)}
    surfaces.write(path, known)
    assert surfaces.read(path) == known
    surfaces.write(path, {})
    assert not path.exists()
    path.write_text("{broken")
    with pytest.raises(CallerError, match="cannot be read"):
        surfaces.read(path)
