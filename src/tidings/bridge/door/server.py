"""The door: a Unix socket through which programs of the same user send JSON-RPC lines.

Each connection is served line by line, in order. Only the owner may connect; connections, lines and waits
are bounded, and bad input gets an error while the connection lives on. What a call does is the business
of `handle`, a coroutine. The other side is `call`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from tidings.bridge.door.place import door_error, is_abandoned

if TYPE_CHECKING:
    from tidings.bridge.rpc import Call
    from tidings.core.reminder import Payload

Handle: TypeAlias = "Callable[[Call], Awaitable[Payload | None]]"
"""Gives the result of a call, None when it wants no reply; raises `RpcError` to refuse it."""

CONNECTIONS = 64
LONGEST_LINE = 1024 * 1024
REPLY_SECONDS = 60.0
IDLE_SECONDS = 3600.0


class Door:
    """A listening socket at `path`. Open it inside a running loop, and close it."""

    def __init__(
        self,
        path: str,
        handle: Handle,
        *,
        connections: int = CONNECTIONS,
        longest: int = LONGEST_LINE,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.path = path
        self._handle = handle
        self._connections = connections
        self._longest = longest
        self._idle = idle_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def open(self) -> None:
        """Listen.

        Raises:
            DoorError: somebody listens there already, or the path cannot be used.
        """
        bound = bind(self.path)
        self._inode = os.stat(self.path).st_ino
        self._server = await asyncio.start_unix_server(self._arrived, sock=bound, limit=self._longest)

    async def close(self) -> None:
        """Stop listening, end every connection, and remove the socket."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            if os.stat(self.path).st_ino == self._inode:
                os.unlink(self.path)
        except FileNotFoundError:
            return

    def _arrived(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._converse(reader, writer)
        except (ConnectionError, TimeoutError):
            return
        finally:
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from tidings.bridge import rpc  # only a caller pays for loading it

        if len(self._tasks) > self._connections:
            busy = rpc.RpcError(rpc.SERVER_BUSY, f"{self._connections} programs are connected; try again")
            await _send(writer, rpc.error_line(None, busy))
            return
        while True:
            try:
                async with asyncio.timeout(self._idle):
                    line = await reader.readline()
            except ValueError:
                text = f"a message may have {self._longest} bytes; the connection is closed"
                await _send(writer, rpc.error_line(None, rpc.RpcError(rpc.INVALID_REQUEST, text)))
                return
            if not line:
                return
            if line.strip():
                await _send(writer, await self._answer(line))

    async def _answer(self, line: bytes) -> bytes:
        from tidings.bridge import rpc  # only a caller pays for loading it

        call = rpc.read(line)
        if isinstance(call, rpc.Malformed):
            return rpc.error_line(call.id, call.error)
        if isinstance(call, rpc.Reply):
            return b""
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                result = await self._handle(call)
        except rpc.RpcError as error:
            return rpc.error_line(call.id, error) if call.wants_reply else b""
        except TimeoutError:
            late = rpc.RpcError(rpc.INTERNAL_ERROR, f"{call.method} took longer than {REPLY_SECONDS:g} s")
            return rpc.error_line(call.id, late) if call.wants_reply else b""
        return rpc.result_line(call.id, result) if call.wants_reply else b""


async def _send(writer: asyncio.StreamWriter, line: bytes) -> None:
    if not line:
        return
    writer.write(line)
    async with asyncio.timeout(REPLY_SECONDS):
        await writer.drain()


def bind(path: str) -> socket.socket:
    """A socket at `path` that only its owner can reach; one that nobody listens at makes way.

    Raises:
        DoorError: somebody listens there already, or the path cannot be used.
    """
    _make_way(path)
    bound = socket.socket(socket.AF_UNIX)
    former = os.umask(0o177)
    try:
        bound.bind(path)
    except OSError as error:
        bound.close()
        raise door_error()(f"no socket can be opened at {path!r}: {error.strerror or error}") from error
    finally:
        os.umask(former)
    bound.setblocking(False)
    return bound


def _make_way(path: str) -> None:
    try:
        found = os.lstat(path)
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise door_error()(f"{path!r} is not a socket; give another path, or remove it")
    if not is_abandoned(path):
        raise door_error()(f"somebody listens at {path!r} already; give another path")
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        text = f"the socket left at {path!r} cannot be removed: {error.strerror}; give another path"
        raise door_error()(text) from error
