"""A small HTTP server for webhooks: one request per connection, every part of it bounded.

Takes POST with a length, refuses the rest with a status that says why. No TLS: it listens on loopback,
behind a tunnel or proxy. What a request means is the handler's part.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import msgspec

from tidings.watchers.reviews.verifying import Refusal

DEADLINE = 10.0
"""Seconds for one request."""
LINGER = 2.0
"""Seconds that a sender gets to read why it was turned away."""
MOST_CONNECTIONS = 64
LARGEST_HEAD = 32 * 1024
LARGEST_BODY = 1_000_000

_REASONS = {
    200: "OK", 202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 411: "Length Required",
    413: "Content Too Large", 415: "Unsupported Media Type", 431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}  # fmt: skip


class Request(msgspec.Struct, frozen=True):
    """A request; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class Answer(msgspec.Struct, frozen=True):
    """A status and a word that says what became of it."""

    status: int
    word: str


Handler: TypeAlias = Callable[[Request], Answer]
"""Answers a request at once; raises `Refusal` to turn it away."""
OnRefusal: TypeAlias = Callable[[Refusal], None]


@asynccontextmanager
async def serving(
    handler: Handler,
    refused: OnRefusal,
    *,
    host: str,
    port: int,
    path: str,
    largest: int = LARGEST_BODY,
    deadline: float = DEADLINE,
) -> AsyncIterator[int]:
    """Serve for the block; gives the port.

    Raises:
        OSError: the address cannot be bound.
    """
    desk = _Desk(handler, refused, path, largest, deadline)
    server = await asyncio.start_server(desk.connected, host, port, limit=LARGEST_HEAD)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await desk.close()


class _Desk:
    def __init__(
        self, handler: Handler, refused: OnRefusal, path: str, largest: int, deadline: float
    ) -> None:
        self._handler = handler
        self._refused = refused
        self._path = path
        self._largest = largest
        self._deadline = deadline
        self._open: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in self._open:
            task.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=self._deadline)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            answer = await self._answered(reader, writer, len(self._open))
            writer.write(_response(answer))
            async with asyncio.timeout(self._deadline):
                await writer.drain()
            await _linger(reader, writer)
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _answered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, open_now: int
    ) -> Answer:
        try:
            if open_now > MOST_CONNECTIONS:
                raise Refusal(503, "webhook_busy", f"{MOST_CONNECTIONS} requests are open already")
            async with asyncio.timeout(self._deadline):
                request = await self._read(reader, writer)
            return self._handler(request)
        except TimeoutError:
            return self._turned_away(Refusal(408, "webhook_slow", "the request took too long to arrive"))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return self._turned_away(
                Refusal(431, "webhook_malformed", "the request broke off or its head is too large")
            )
        except Refusal as refusal:
            return self._turned_away(refusal)

    def _turned_away(self, refusal: Refusal) -> Answer:
        self._refused(refusal)
        return Answer(refusal.status, refusal.code)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request:
        head = read_head(await reader.readuntil(b"\r\n\r\n"))
        if head.path.partition("?")[0] != self._path:
            raise Refusal(404, "webhook_elsewhere", f"webhooks are taken at {self._path}")
        if head.method != "POST":
            raise Refusal(405, "webhook_method", "webhooks are sent with POST")
        length = read_length(head.headers, self._largest)
        if head.headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return msgspec.structs.replace(head, body=await reader.readexactly(length))


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let the sender read the answer before the connection goes: what it still sends is thrown away."""
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            for _ in range(LARGEST_BODY // LARGEST_HEAD):
                if not await reader.read(LARGEST_HEAD):
                    return


def read_head(data: bytes) -> Request:
    """The request line and headers.

    Raises:
        Refusal: they are malformed.
    """
    lines = data.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Refusal(400, "webhook_malformed", "the request line is not HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if line and (not colon or not name or name != name.strip() or name.lower() in headers):
            raise Refusal(400, "webhook_malformed", "a header is malformed or stands there twice")
        if line:
            headers[name.lower()] = value.strip()
    return Request(parts[0], parts[1], headers)


def read_length(headers: Mapping[str, str], largest: int) -> int:
    """How long the body is.

    Raises:
        Refusal: it does not say, or is too long.
    """
    given = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (given.isascii() and given.isdigit()):
        raise Refusal(411, "webhook_malformed", "the request needs a Content-Length")
    if len(given) > 12 or int(given) > largest:
        raise Refusal(413, "webhook_too_large", f"a body may have {largest} bytes")
    return int(given)


def _response(answer: Answer) -> bytes:
    body = msgspec.json.encode({"status": answer.word})
    head = (
        f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
