"""One client over a pair of pipes: the streams that the SDK's `Server.run(read, write)` wants, on asyncio.

The SDK's own stdio transport passes every message through two threads; this one does not, and lets a
notification be written as one line without building the SDK's models (`Pipe.send`). The SDK hands the
pipe of a message to handlers as `ctx.request`, which is how the emitter finds it. Called by `emit.serve`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from tidings.bridge import rpc
from tidings.bridge.rpc import LONGEST_LINE, Call, Id, Malformed, RpcError
from tidings.core.reminder import Payload
from tidings.mcp.streams import Entered, Incoming, Received

logger = logging.getLogger(__name__)

NO_MESSAGE = RpcError(
    rpc.INVALID_REQUEST,
    "not a JSON-RPC 2.0 message: `jsonrpc`, `method`, and an `id` that is text or whole",
)

CHUNK = 1 << 16

MOST_SILENCED = 1_000
"""How many ids of ended requests are remembered, so that nothing more is written for them."""


class _Sink(asyncio.Protocol):
    """Follows whether the other side reads, and whether it is still there."""

    def __init__(self) -> None:
        self.open = True
        self._free = asyncio.Event()
        self._free.set()

    def pause_writing(self) -> None:
        self._free.clear()

    def resume_writing(self) -> None:
        self._free.set()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.open = False
        self._free.set()

    async def free(self) -> None:
        await self._free.wait()


class Pipe:
    """What one client is told, and hears from us. `reader` and `writer` are for `Server.run`."""

    def __init__(
        self,
        lines: asyncio.StreamReader,
        source: asyncio.BaseTransport,
        transport: asyncio.WriteTransport,
        sink: _Sink,
    ) -> None:
        self.reader = Reader(self, lines)
        self.writer = Writer(self)
        self._source = source
        self._transport = transport
        self._sink = sink
        self._silenced: dict[Id, None] = {}
        self._owed: set[Id] = set()
        self._paid = asyncio.Event()

    async def send(self, method: str, params: Payload) -> None:
        """Write a notification; waits while the client does not read.

        Raises:
            anyio.BrokenResourceError: nobody is there any more.
        """
        await self.write(rpc.call_line(method, params))

    async def write(self, line: bytes) -> None:
        """Write one line; waits while the client does not read.

        Raises:
            anyio.BrokenResourceError: nobody is there any more.
        """
        sink = self._sink
        if not sink.open or self._transport.is_closing():
            raise anyio.BrokenResourceError
        self._transport.write(line)
        await sink.free()
        if not sink.open:
            raise anyio.BrokenResourceError

    def silence(self, id: Id) -> None:
        """Write no answer to the request `id`: its end was told in another way."""
        self._silenced[id] = None
        if len(self._silenced) > MOST_SILENCED:
            del self._silenced[next(iter(self._silenced))]

    def owe(self, id: Id) -> None:
        """The answer to the request `id` is about to be written: `settled` waits for it."""
        self._owed.add(id)

    def takes_answer(self, id: Id) -> bool:
        """Note that the request `id` is answered; gives whether the answer is to be written."""
        self._owed.discard(id)
        self._paid.set()
        return id not in self._silenced or self._silenced.pop(id) is not None

    async def settled(self) -> None:
        """Wait until no answer is owed; bring your own deadline."""
        while self._owed:
            self._paid.clear()
            await self._paid.wait()

    async def flush(self) -> None:
        """Wait until everything was taken by the other side; bring your own deadline."""
        await self._sink.free()

    def end_input(self) -> None:
        """Read no more: the server behaves as if the client had left."""
        self._source.close()

    def close(self) -> None:
        """Let go of the pipes; what was not taken is lost."""
        self._source.close()
        if self._sink.open and not self._transport.is_closing():
            self._transport.abort()


class Reader(Received):
    """The client's messages, one a line; what is none is refused and skipped."""

    def __init__(self, pipe: Pipe, lines: asyncio.StreamReader) -> None:
        self._pipe = pipe
        self._lines = lines
        self._closed = False

    async def receive(self) -> Incoming:
        """The next message.

        Raises:
            anyio.EndOfStream: the client has left.
        """
        while True:
            line = await self._line()
            if not line:
                raise anyio.EndOfStream
            if line.isspace():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError as error:
                await self._refuse(line)
                return error
            return SessionMessage(message, ServerMessageMetadata(request_context=self._pipe))

    async def _line(self) -> bytes:
        if self._closed:
            raise anyio.ClosedResourceError
        try:
            return await self._lines.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial
        except asyncio.LimitOverrunError as overrun:
            return await self._skip(overrun.consumed)

    async def _skip(self, read: int) -> bytes:
        """Leave out a line that is too long; gives an empty one."""
        while True:
            await self._lines.readexactly(read)
            try:
                await self._lines.readuntil(b"\n")
                break
            except asyncio.LimitOverrunError as overrun:
                read = overrun.consumed
            except asyncio.IncompleteReadError:
                return b""
        logger.warning("skipped a line with more than %d bytes", LONGEST_LINE)
        return b"\n"

    async def _refuse(self, line: bytes) -> None:
        """Answer what has an id. Without one the schema and the SDK agree on no answer: it is logged."""
        found = rpc.read(line)
        error = found.error if isinstance(found, Malformed) else NO_MESSAGE
        if isinstance(found, (Call, Malformed)) and found.id is not None:
            await self._pipe.write(rpc.error_line(found.id, error))
        else:
            logger.warning("skipped a line that is no message: %s", error)

    async def aclose(self) -> None:
        """No more is read."""
        self._closed = True


class Writer(Entered):
    """What the SDK writes, one message a line."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write `item`; waits while the client does not read.

        Raises:
            anyio.BrokenResourceError: nobody is there any more.
            anyio.ClosedResourceError: this stream was closed.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        message = item.message
        if isinstance(message, (JSONRPCResponse, JSONRPCError)) and not self._pipe.takes_answer(message.id):
            return
        await self._pipe.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async def aclose(self) -> None:
        """No more is written."""
        self._closed = True


def are_pipes(*descriptors: int) -> bool:
    """Whether all can be made non-blocking without harm: pipes and sockets, no terminal and no file."""
    return all(_is_pipe(os.fstat(one).st_mode) for one in descriptors)


def _is_pipe(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@asynccontextmanager
async def piped(source: int, sink: int, deadline: float) -> AsyncIterator[tuple[int, int]]:
    """What `open_pipe` may have in place of these two; of a terminal or a file threads make pipes.

    Whoever else has a terminal open must not find it non-blocking, and a file cannot be waited for. At the
    end what was written gets `deadline` seconds to arrive.
    """
    if are_pipes(source, sink):
        try:
            yield os.dup(source), os.dup(sink)
        finally:
            os.set_blocking(source, True)
            os.set_blocking(sink, True)
        return
    input_end, feed = os.pipe()
    drain, output_end = os.pipe()
    _copied(os.dup(source), feed)
    writing = _copied(drain, os.dup(sink))
    yield input_end, output_end
    await asyncio.to_thread(writing.join, deadline)


def _copied(source: int, sink: int) -> threading.Thread:
    """A thread that copies one to the other up to its end, and then closes both."""
    thread = threading.Thread(target=_copy, args=(source, sink), name="tidings-stdio", daemon=True)
    thread.start()
    return thread


def _copy(source: int, sink: int) -> None:
    with os.fdopen(source, "rb", 0), os.fdopen(sink, "wb", 0), suppress(OSError):  # one side is gone
        while data := os.read(source, CHUNK):
            while data:
                data = data[os.write(sink, data) :]


async def open_pipe(source: int, sink: int) -> Pipe:
    """A pipe over two descriptors, which it owns from now on."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LONGEST_LINE)
    source_transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(source, "rb", 0)
    )
    transport, protocol = await loop.connect_write_pipe(_Sink, os.fdopen(sink, "wb", 0))
    transport.set_write_buffer_limits(high=0)  # one message per writer waits, however slow the client
    return Pipe(lines, source_transport, transport, protocol)
