"""A small WebSocket client: text messages over one connection on this machine (RFC 6455). No extensions.

As much as an app-server needs: a handshake, masked frames, fragments, pings, a bound on messages.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from urllib.parse import urlsplit

LONGEST = 64 * 1024 * 1024
SECONDS = 10.0
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10


class SocketError(OSError):
    """The other side does not speak WebSocket, or said something that cannot be used."""


class WebSocket:
    """An open connection; `opened` makes one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, text: bytes) -> None:
        """Send one text message."""
        await self._frame(_TEXT, text)

    async def receive(self) -> bytes | None:
        """The next message; None when the other side has closed.

        Raises:
            SocketError: it is too long.
        """
        parts: list[bytes] = []
        while True:
            kind, last, data = await self._read_frame()
            if kind == _CLOSE:
                return None
            if kind == _PING:
                await self._frame(_PONG, data)
            if kind >= _CLOSE:
                continue
            parts.append(data)
            if sum(map(len, parts)) > LONGEST:
                raise SocketError(f"a message has more than {LONGEST} bytes")
            if last:
                return b"".join(parts)

    async def close(self) -> None:
        """Say goodbye and leave."""
        try:
            async with asyncio.timeout(1):
                await self._frame(_CLOSE, b"")
        except (OSError, TimeoutError):
            pass  # it is gone already: nobody is left to be told
        finally:
            self._writer.close()

    async def _frame(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
        mask = os.urandom(4)
        whole = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
        self._writer.write(head + mask + masked)
        async with asyncio.timeout(SECONDS):
            await self._writer.drain()

    async def _read_frame(self) -> tuple[int, bool, bytes]:
        first, second = await self._reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", await self._reader.readexactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", await self._reader.readexactly(8))
        if size > LONGEST or second & 0x80:
            raise SocketError("a frame is too long, or masked by a server")
        return first & 0x0F, bool(first & 0x80), await self._reader.readexactly(size)


async def opened(url: str) -> WebSocket:
    """A connection to a server of this machine.

    Raises:
        OSError: nobody listens there, or it speaks something else.
        TimeoutError: it did not answer in time.
    """
    parts = urlsplit(url)
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            await _shake_hands(reader, writer, parts.netloc, parts.path or "/")
        except BaseException:
            writer.close()
            raise
    return WebSocket(reader, writer)


async def _shake_hands(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, path: str
) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
    )
    writer.write("\r\n".join((*lines, "", "")).encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise SocketError("it does not speak WebSocket") from error
    accepted = base64.b64encode(hashlib.sha1(f"{key}{_GUID}".encode()).digest())
    if b" 101 " not in head.partition(b"\r\n")[0] or accepted not in head:
        raise SocketError("it refused a WebSocket")
