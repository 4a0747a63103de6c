"""A server on pipes: its lines become what the SDK reads, past the tap; what the SDK says becomes lines.

Notifications are read without the SDK's models, which is what makes a flood cheap. Lines are bounded.
Called by `connection.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from tidings.bridge.rpc import LONGEST_LINE
from tidings.mcp.budget import LARGEST_FRAME
from tidings.mcp.config import Server
from tidings.mcp.host import process
from tidings.mcp.host.lines import Lines, Notification, UnreadableError, answered_by, read
from tidings.mcp.host.process import ServerProcess
from tidings.mcp.host.tap import Tap
from tidings.mcp.streams import Entered, Incoming

TOO_LARGE = ErrorData(code=INTERNAL_ERROR, message=f"the answer is larger than {LARGEST_FRAME} bytes")

_logger = logging.getLogger("tidings.mcp")


class ProcessInput(Entered):
    """Where the SDK writes."""

    def __init__(self, running: ServerProcess, tap: Tap) -> None:
        self._running = running
        self._tap = tap
        self._turn = asyncio.Lock()

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message as a line; only a request waits for a server that is slow to read.

        Raises:
            anyio.BrokenResourceError: the server reads no more.
        """
        self._tap.said(item.message)
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            self._running.put(line)
            if isinstance(item.message, JSONRPCRequest):
                async with self._turn:
                    await self._running.flush()
        except ConnectionError as error:
            self._tap.lose(str(error))
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """The process outlives the SDK's session; `stop` closes its input."""


@asynccontextmanager
async def stdio_wire(
    server: Server, tap: Tap, grace: float
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Incoming], ProcessInput]]:
    """Start the server and give the SDK's two streams.

    Raises:
        StartError: it cannot be started.
    """
    running = await process.start(server)
    into, out = anyio.create_memory_object_stream[Incoming](0)
    reading = asyncio.create_task(_pump(running, into, tap), name=f"tidings.mcp.{server.name}")
    try:
        yield out, ProcessInput(running, tap)
    finally:
        reading.cancel()
        out.close()
        try:
            await running.stop(grace)
        finally:
            await asyncio.wait({reading})


async def _pump(running: ServerProcess, into: MemoryObjectSendStream[Incoming], tap: Tap) -> None:
    """Read until the end; then the SDK's requests end too, and the tap knows why."""
    try:
        await _read_all(running, into, tap)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        tap.lose("the connection was closed")
    except Exception:
        _logger.exception("reading from an MCP server failed")
        tap.lose("reading from it failed")


async def _read_all(running: ServerProcess, into: MemoryObjectSendStream[Incoming], tap: Tap) -> None:
    lines = Lines(LONGEST_LINE)
    async with into:
        while data := await running.read():
            skipped = lines.skipped
            for line in lines.feed(data):
                passed = _sorted(line, tap)
                if passed is not None:
                    await into.send(passed)
            for _ in range(lines.skipped - skipped):
                tap.drop("too_large")
            await asyncio.sleep(0)  # a flood leaves room for everybody else
        tap.over = True
        tap.lose(await running.obituary())


def _sorted(line: bytes, tap: Tap) -> SessionMessage | None:
    """What the SDK is to see of a line, if anything."""
    if len(line) > LARGEST_FRAME and not tap.reads(answered := answered_by(line)):
        unanswered = tap.pass_over(answered)
        return None if unanswered is None else SessionMessage(_refusal(unanswered))
    try:
        message = read(line)
        if isinstance(message, Notification):
            tap.heard(message.method, message.params(), len(line))
            return None
        passed = jsonrpc_message_adapter.validate_python(message.message, by_name=False)
    except (UnreadableError, ValidationError):
        tap.drop("unreadable")
        return None
    if isinstance(passed, JSONRPCRequest) and not tap.may_ask(passed.id):
        return None
    if isinstance(passed, (JSONRPCResponse, JSONRPCError)):
        tap.answered(passed.id)
    return SessionMessage(passed)


def _refusal(id: RequestId) -> JSONRPCError:
    """What the SDK hears in place of an answer that is not read."""
    return JSONRPCError(jsonrpc="2.0", id=id, error=TOO_LARGE)
