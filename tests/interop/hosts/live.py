"""Agents that stay when their work is done: what a test says to them, and when they are idle again.

Claude Code reads prompts from stdin, Codex serves a WebSocket, opencode HTTP. Each is a process of the
stage's; `prompt` returns when the model has been asked and has answered to the end.
"""

from __future__ import annotations

import asyncio
import http.client
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol

import msgspec

from tests.interop.client import DEADLINE, LONGEST_LINE
from tests.interop.hosts.clis import binary
from tests.interop.hosts.stage import Stage
from tidings.hub.hosting.pushing.websocket import WebSocket, opened


class Live(Protocol):
    """An agent that can be asked again and again."""

    async def prompt(self, text: str) -> None:
        """Say something, and wait until the agent is idle."""
        ...


class ClaudeLive:
    """Claude Code, line by line."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def prompt(self, text: str) -> None:
        """Say something, and wait for the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = {"type": "user", "message": {"role": "user", "content": text}}
        self._process.stdin.write(msgspec.json.encode(said) + b"\n")
        async with asyncio.timeout(DEADLINE):
            async for line in self._process.stdout:
                if line.startswith(b"{") and msgspec.json.decode(line)["type"] == "result":
                    return
        raise AssertionError("Claude Code left before it was done")


class CodexLive:
    """Codex's app-server, with one thread."""

    def __init__(self, peer: WebSocket) -> None:
        self._peer = peer
        self._thread = ""
        self._last = 0

    async def open(self, folder: str, *, trusting: bool) -> None:
        """Say hello, trust the hooks of the folder as its user may, and begin the thread."""
        about = {"name": "interop", "version": "1"}
        await self._ask("initialize", {"clientInfo": about, "capabilities": {"experimentalApi": True}})
        await self._peer.send(msgspec.json.encode({"method": "initialized"}))
        if trusting:
            (listed,) = (await self._ask("hooks/list", {"cwds": [folder]}))["data"]
            trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed["hooks"]}
            state = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": trusted}
            await self._ask("config/value/write", state)
        self._thread = (await self._ask("thread/start", {"cwd": folder}))["thread"]["id"]

    async def prompt(self, text: str) -> None:
        """Say something, and wait for the turn's end."""
        await self._ask("turn/start", {"threadId": self._thread, "input": [{"type": "text", "text": text}]})
        await self._until(lambda message: message.get("method") == "turn/completed")

    async def _ask(self, method: str, params: object) -> Any:
        self._last += 1
        number = self._last
        await self._peer.send(msgspec.json.encode({"id": number, "method": method, "params": params}))
        answer = await self._until(lambda message: message.get("id") == number and "method" not in message)
        assert "result" in answer, answer
        return answer["result"]

    async def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(DEADLINE):
            while (received := await self._peer.receive()) is not None:
                message: dict[str, Any] = msgspec.json.decode(received)
                if wanted(message):
                    return message
        raise AssertionError("the app-server left")


class OpencodeLive:
    """opencode's server, with one session."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._session = ""

    async def open(self) -> None:
        """Make the session."""
        self._session = (await self._post("/session", {}))["id"]

    async def prompt(self, text: str) -> None:
        """Say something, and wait for the answer's end."""
        await self._post(f"/session/{self._session}/message", {"parts": [{"type": "text", "text": text}]})

    async def _post(self, path: str, body: object) -> Any:
        return await asyncio.to_thread(self._send, path, msgspec.json.encode(body))

    def _send(self, path: str, body: bytes) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=DEADLINE)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status < 300, read
            return msgspec.json.decode(read) if read else None
        finally:
            connection.close()


@asynccontextmanager
async def _claude(stage: Stage) -> AsyncIterator[Live]:
    lines = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    flags = stage.cli.command("")[3:]
    async with stage.process(
        binary("@anthropic-ai/claude-code", "claude"), "-p", *lines, *flags, stdin=PIPE, limit=LONGEST_LINE
    ) as process:
        yield ClaudeLive(process)


@asynccontextmanager
async def _codex(stage: Stage) -> AsyncIterator[Live]:
    url = _app_server(stage)
    async with stage.process(binary("@openai/codex", "codex"), "app-server", "--listen", url) as process:
        await _listening(process)
        peer = await opened(url)
        try:
            agent = CodexLive(peer)
            await agent.open(str(stage.room.work), trusting=stage.trusting)
            yield agent
        finally:
            await peer.close()


@asynccontextmanager
async def _opencode(stage: Stage) -> AsyncIterator[Live]:
    command = (binary("opencode-ai", "opencode"), "serve", "--hostname", "127.0.0.1")
    async with stage.process(*command, "--port", str(stage.port)) as process:
        await _listening(process)
        agent = OpencodeLive(stage.port)
        await agent.open()
        yield agent


async def _listening(process: Process) -> None:
    """Wait until a server says where it listens."""
    assert process.stdout is not None
    said = b""
    async with asyncio.timeout(DEADLINE):
        async for line in process.stdout:
            said += line
            if re.search(rb"(?:ws|http)://127\.0\.0\.1:\d+", line):
                return
    raise AssertionError(f"the server left before it listened: {said!r}")


class Way(NamedTuple):
    """How an agent is kept alive, what lets it be woken, and where it serves others, if it does."""

    open: Callable[[Stage], AbstractAsyncContextManager[Live]]
    wake: Callable[[Stage], tuple[str, ...]] = lambda _: ("--wake",)
    server: Callable[[Stage], str] | None = None


def _app_server(stage: Stage) -> str:
    return f"ws://127.0.0.1:{stage.port}"


def _http_server(stage: Stage) -> str:
    return f"http://127.0.0.1:{stage.port}"


LIVE: dict[str, Way] = {
    "claude-code": Way(_claude),
    "codex": Way(_codex, lambda stage: ("--wake", "--server", _app_server(stage)), _app_server),
    "opencode": Way(_opencode, server=_http_server),
}
"""Those that can be kept alive without a terminal."""
