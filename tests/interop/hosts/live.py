"""Agents that stay when their work is done: what a test says to them, and when they are idle again.

Claude Code reads prompts from stdin, opencode serves HTTP. Each is a process of the stage's; `prompt`
returns when the model has been asked and has answered to the end.
"""

from __future__ import annotations

import asyncio
import http.client
import re
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import msgspec

from tests.interop.client import DEADLINE, LONGEST_LINE
from tests.interop.hosts.clis import binary
from tests.interop.hosts.stage import Stage


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
async def _opencode(stage: Stage) -> AsyncIterator[Live]:
    command = (binary("opencode-ai", "opencode"), "serve", "--port", "0", "--hostname", "127.0.0.1")
    async with stage.process(*command) as process:
        agent = OpencodeLive(await _port(process))
        await agent.open()
        yield agent


async def _port(process: Process) -> int:
    """The port that a server says it listens on."""
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE):
        async for line in process.stdout:
            if found := re.search(rb"http://127\.0\.0\.1:(\d+)", line):
                return int(found[1])
    raise AssertionError("the server left before it listened")


LIVE: dict[str, Callable[[Stage], AbstractAsyncContextManager[Live]]] = {
    "claude-code": _claude,
    "opencode": _opencode,
}
"""How each agent is kept alive, where that can be done without a terminal."""
