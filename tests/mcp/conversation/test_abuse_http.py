"""Servers behind a url that stall, answer junk, without end, or packed; in this process, byte by byte.

The clock stands still: whatever comes to an end here does so by its own bound, not by the deadline.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conversation.asked import play, words
from tests.mcp.conversation.test_abuse import Scene, connected
from tidings.mcp.config import Era, Server
from tidings.mcp.conversation.errand import Result
from tidings.mcp.conversation.names import EXTENSION, USER_MESSAGE
from tidings.mcp.conversation.wire import Item

EMPTY = b"HTTP/1.1 %d -\r\nContent-Length: 0\r\n\r\n"
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
TOO_LARGE = "the answer is larger than 1048576 bytes"


def head(kind: bytes, *more: bytes) -> bytes:
    return b"\r\n".join((b"HTTP/1.1 200 OK", b"Content-Type: " + kind, *more, b"", b""))


def whole(body: bytes, *more: bytes, kind: bytes = b"application/json") -> bytes:
    return head(kind, b"Content-Length: %d" % len(body), *more) + body


def answer(id: object, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **result}}).encode()


def huge(id: object) -> bytes:
    return answer(id, {"items": [[]] * 2_500_000})


async def heard(habit: str, id: object, writer: asyncio.StreamWriter) -> None:
    """Answer a message in a bad way."""
    match habit:
        case "junk":
            writer.write(whole(b"not json"))
        case "page":
            writer.write(whole(b"<p>", kind=b"text/html"))
        case "error":
            writer.write(b"HTTP/1.1 500 -\r\nContent-Length: 3\r\n\r\nno!")
        case "huge":
            writer.write(whole(huge(id)))
        case "event":
            writer.write(whole(b"data: " + huge(id) + b"\n\n", kind=b"text/event-stream"))
        case "packed":
            writer.write(whole(gzip.compress(huge(id)), b"Content-Encoding: gzip"))
        case "endless" | "endless events":
            kind, piece = {
                "endless": (b"application/json", b"x" * 65_536),
                "endless events": (b"text/event-stream", b"data: " + b"x" * 65_530 + b"\n"),
            }[habit]
            writer.write(head(kind, b"Connection: close"))
            while not writer.is_closing():
                writer.write(piece)
                await writer.drain()
        case "stall":
            await asyncio.Event().wait()
        case _:
            writer.write(whole(answer(id, {"context": "found"})))


class Bad:
    """An HTTP server of its own making; it tells the greeting from messages, and knows one habit."""

    def __init__(self, habit: str, era: Era) -> None:
        self.habit = habit
        self._modern = era == "modern"
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[str] = []

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                await self._once(reader, writer)
        writer.close()

    async def _once(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        self.asked += [line for line in lines if line.startswith("accept-encoding")]
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length")), 0)
        body = await reader.readexactly(length)
        message = json.loads(body) if lines[0].startswith("post") else {}
        if message.get("method") == USER_MESSAGE:
            await heard(self.habit, message["id"], writer)
        elif "id" in message:
            writer.write(whole(self._greeting(message)))
        else:
            writer.write(EMPTY % (202 if message else 405))
        await writer.drain()

    def _greeting(self, message: dict[str, Any]) -> bytes:
        can = {"capabilities": {"extensions": {EXTENSION: {"onUserMessage": True}}}}
        if self._modern and message["method"] == "server/discover":
            more = {"supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private"}
            return answer(message["id"], {**can, **more})
        if not self._modern and message["method"] == "initialize":
            told = {"serverInfo": {"name": "bad", "version": "1"}, "protocolVersion": "2025-11-25"}
            return answer(message["id"], {**can, **told})
        error = {"code": -32601, "message": "unknown method"}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks)


@asynccontextmanager
async def asked(folder: Path, habit: str, era: Era) -> AsyncIterator[tuple[Scene, Bad]]:
    """A stage on which one bad server has consent."""
    bad = Bad(habit, era)
    listening = await asyncio.start_server(bad.connected, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    try:
        async with connected(folder, [Server(name="bad", url=url, era=era)]) as stage:
            yield stage, bad
    finally:
        listening.close()
        await bad.close()


@ERAS
@pytest.mark.parametrize(
    ("habit", "reason"),
    [
        ("junk", "Failed to parse JSON response"),
        ("page", "Unexpected content type: text/html"),
        ("error", "Server returned an error response"),
        ("huge", TOO_LARGE),
        ("event", "Server-sent event exceeded the 1048576 byte limit"),
        ("endless", TOO_LARGE),
        ("endless events", "Server-sent event exceeded the 1048576 byte limit"),
    ],
)
def test_a_bad_answer_over_http_costs_that_answer_and_the_next_one_is_used(
    tmp_path: Path, habit: str, reason: str, era: Era
) -> None:
    async def scene() -> None:
        async with asked(tmp_path, habit, era) as (stage, bad):
            [result] = await stage.asker.ask(words())
            assert (result.kind, result.items) == ("failed", ())
            assert reason in result.reason
            bad.habit = "answer"
            assert await stage.asker.ask(words(message="m2")) == [
                Result(server="bad", kind="answered", items=(Item("found"),))
            ]

    play(scene)


@ERAS
def test_a_packed_answer_is_asked_not_to_be_sent_and_never_unpacked(tmp_path: Path, era: Era) -> None:
    async def scene() -> None:
        async with asked(tmp_path, "packed", era) as (stage, bad):
            [result] = await stage.asker.ask(words())
            assert (result.kind, result.items) == ("failed", ())
            assert set(bad.asked) == {"accept-encoding: identity"}
            link = stage.peers[0].inner._link
            await stage.until(lambda: link.connection is None)
            assert "the answer is compressed (gzip)" in link.status().reason

    play(scene)


@ERAS
def test_a_server_that_stalls_over_http_is_late_and_no_more(tmp_path: Path, era: Era) -> None:
    async def scene() -> None:
        async with asked(tmp_path, "stall", era) as (stage, bad):
            [result] = await stage.asked_until(lambda: stage.peers[0].sent == 1)
            assert (result.kind, stage.clock.slept) == ("late", [0.5])
            await stage.until(lambda: not stage.asker._fading)
            bad.habit = "answer"
            [result] = await stage.asker.ask(words(message="m2"))
            assert (result.kind, result.items) == ("answered", (Item("found"),))

    play(scene)
