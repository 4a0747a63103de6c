"""Real processes for tests: an editor's side of `tidings acp-proxy`, with a deadline on every wait."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

Message = dict[str, Any]
SCRIPT = Path(sys.executable).with_name("tidings")
FAKE = Path(__file__).with_name("agent_fake.py")
DEADLINE = 30


def fake(*words: str) -> list[str]:
    """The command of the fake agent."""
    return [sys.executable, str(FAKE), *words]


class Editor:
    """The editor's end of the pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[Message] = []
        self._ids = 0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def notify(self, method: str, params: Message) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def send(self, method: str, params: Message) -> int:
        """Ask; gives the id."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self.write(json.dumps(message).encode() + b"\n")
        return self._ids

    async def line(self) -> bytes:
        assert self.process.stdout is not None
        return await self.process.stdout.readline()

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        """Read until a message is the one; the others are kept in `seen`."""
        while data := await self.line():
            message: Message = json.loads(data)
            self.seen.append(message)
            if wanted(message):
                return message
        raise EOFError("the stream ended first")

    async def ask(self, method: str, params: Message) -> Message:
        """Ask and wait for the answer."""
        return await self.answer(self.send(method, params))

    async def answer(self, asked: int) -> Message:
        return await self.until(lambda message: message.get("id") == asked and "method" not in message)

    async def open(self, client: Message | None = None) -> str:
        """Shake hands and open a session; gives its id."""
        await self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": client or {}})
        opened = await self.ask("session/new", {"cwd": "/", "mcpServers": []})
        return str(opened["result"]["sessionId"])

    def start_prompt(self, session_id: str, text: str) -> int:
        blocks = [{"type": "text", "text": text}]
        return self.send("session/prompt", {"sessionId": session_id, "prompt": blocks})

    async def prompt(self, session_id: str, text: str = "hello") -> Message:
        return await self.answer(self.start_prompt(session_id, text))

    async def end(self) -> tuple[int, str]:
        """Close our side; gives exit code and standard error."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.over()

    async def over(self) -> tuple[int, str]:
        assert self.process.stderr is not None
        errors = await self.process.stderr.read()
        return await self.process.wait(), errors.decode()


@asynccontextmanager
async def proxy(
    command: Sequence[str], *options: str, runtime: Path, cwd: Path | None = None, limit: int = 2**25
) -> AsyncIterator[Editor]:
    """A running `tidings acp-proxy`; it is ended at the latest with the block."""
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    environ.pop("TIDINGS_SOCKET", None)
    process = await asyncio.create_subprocess_exec(
        str(SCRIPT),
        "acp-proxy",
        *options,
        *(["--", *command] if command else []),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environ,
        cwd=cwd,
        limit=limit,
    )
    try:
        yield Editor(process)
    finally:
        if process.returncode is None:
            process.kill()
        async with asyncio.timeout(DEADLINE):
            await process.communicate()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene within the deadline."""

    async def timed() -> None:
        async with asyncio.timeout(DEADLINE):
            await scene()

    asyncio.run(timed())
