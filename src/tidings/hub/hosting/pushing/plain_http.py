"""A small HTTP client for servers of this machine: one request at a time, and streams of events.

One connection for each; bodies with a length or in chunks, bounded in size and time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

SECONDS = 10.0
SILENCE_SECONDS = 90.0
"""How long a stream of events may be silent: servers send a sign of life every few seconds."""
LONGEST = 16 * 1024 * 1024


class HttpError(OSError):
    """The server answered with something that cannot be used."""


class Answer:
    """An answer whose head was read."""

    def __init__(self, status: int, headers: dict[str, str], reader: asyncio.StreamReader) -> None:
        self.status = status
        self._headers = headers
        self._reader = reader

    async def body(self) -> bytes:
        """All of it.

        Raises:
            HttpError: it is too long.
        """
        received = bytearray()
        async for part in self.parts():
            received += part
            if len(received) > LONGEST:
                raise HttpError(f"the answer has more than {LONGEST} bytes")
        return bytes(received)

    async def parts(self) -> AsyncIterator[bytes]:
        """It, piece by piece."""
        if self._headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await self._reader.readline()).partition(b";")[0].strip() or b"0", 16):
                if size > LONGEST:
                    raise HttpError("a piece of the answer is too long")
                yield (await self._reader.readexactly(size + 2))[:-2]
        elif (length := int(self._headers.get("content-length", "0"))) <= LONGEST:
            yield await self._reader.readexactly(length)


@asynccontextmanager
async def asking(url: str, verb: str, path: str, body: bytes = b"") -> AsyncIterator[Answer]:
    """The answer to a request, for the block.

    Raises:
        OSError: nobody listens, or it speaks something else.
        TimeoutError: no answer in time.
    """
    parts = urlsplit(url)
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        async with asyncio.timeout(SECONDS):
            writer.write(_head(verb, path, parts.netloc, len(body)) + body)
            await writer.drain()
            answer = await _answer(reader)
        yield answer
    finally:
        writer.close()


async def request(url: str, verb: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """The status and body of an answer.

    Raises:
        OSError: nobody listens, or it speaks something else.
        TimeoutError: no answer in time.
    """
    async with asking(url, verb, path, body) as answer, asyncio.timeout(SECONDS):
        return answer.status, b"" if answer.status == 204 else await answer.body()


async def events(url: str, path: str) -> AsyncIterator[bytes]:
    """The data of server-sent events, one after the other.

    Raises:
        OSError: it cannot be reached, or broke.
        TimeoutError: it was silent for too long.
    """
    async with asking(url, "GET", path) as answer:
        if answer.status != 200:
            raise HttpError(f"{path} was answered with {answer.status}")
        rest = b""
        parts = answer.parts()
        while True:
            async with asyncio.timeout(SILENCE_SECONDS):
                part = await anext(parts, None)
            if part is None:
                return
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield line[5:].strip()
            if len(rest) > LONGEST:
                raise HttpError("an event is too long")


def _head(verb: str, path: str, host: str, length: int) -> bytes:
    lines = (
        f"{verb} {path} HTTP/1.1",
        f"Host: {host}",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    return "\r\n".join((*lines, "", "")).encode()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        status = int(first.split()[1])
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError, ValueError) as error:
        raise HttpError("it does not speak HTTP") from error
    pairs = (line.partition(":") for line in lines if line)
    return Answer(status, {name.strip().lower(): value.strip() for name, _, value in pairs}, reader)
