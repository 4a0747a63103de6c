"""A JSON-RPC peer on a byte stream: its calls one by one; our replies, notifications, questions in order.

Malformed lines are answered and skipped, replies find their question, complaints without an id are logged.
Everything leaves through one outbox, so that what was said first arrives first; a peer that does not read
is given up when too much waits. Called by the ACP agent's transport and by the plain bridge.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Any, Self, TypeAlias

from tidings.bridge import rpc
from tidings.bridge.rpc import Call, Id, Malformed, Reply, RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload

UNREAD = 64 * 1024 * 1024
"""Bytes that may wait for a peer that does not read; one more and the connection is over."""
OPEN = 1_000
"""Requests of the peer that may be unanswered at once; it is told when there are more."""
FLUSH = 5.0
"""Seconds that the last lines get to leave."""

Read: TypeAlias = Callable[[], Awaitable[bytes]]
Write: TypeAlias = Callable[[bytes], Awaitable[None]]

_logger = logging.getLogger(__name__)


class PeerGoneError(RpcError):
    """The peer closed the connection, or does not read any more."""

    def __init__(self, message: str) -> None:
        super().__init__(rpc.INTERNAL_ERROR, message)


class Lines:
    """The lines of a byte stream. One that is too long is cut, so that reading it fails."""

    def __init__(self, read: Read, longest: int = rpc.LONGEST_LINE) -> None:
        self._read = read
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._ready: deque[bytes] = deque()
        self._ended = False

    async def next(self) -> bytes | None:
        """The next line that is not blank; None at the end."""
        while not self._ready:
            if self._ended:
                return None
            self._take(await self._read())
        return self._ready.popleft()

    def _take(self, chunk: bytes) -> None:
        self._ended = not chunk
        *whole, rest = chunk.split(b"\n") if chunk else (b"", b"")
        for piece in whole:
            self._keep(piece)
            line = b"".join(self._parts)
            self._parts, self._size = [], 0
            if line.strip():
                self._ready.append(line)
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        room = self._longest + 1 - self._size
        if piece and room > 0:
            self._parts.append(piece[:room])
            self._size += len(self._parts[-1])


class Peer:
    """The other side of a connection; use it in an `async with` block."""

    def __init__(self, read: Read, write: Write, *, unread: int = UNREAD) -> None:
        self._lines = Lines(self._read_or_broken)
        self._source = read
        self._write = write
        self._unread = unread
        self._outbox: deque[bytes] = deque()
        self._waiting = 0
        self._news = asyncio.Event()
        self._empty = asyncio.Event()
        self._answered = asyncio.Event()
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open: dict[Id, Call] = {}
        self._asked: dict[str, asyncio.Future[object]] = {}
        self._numbers = count(1)

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._send_all(), name="tidings-peer")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_up(PeerGoneError("the connection was closed"))
        with suppress(TimeoutError):  # what a peer does not read within the deadline is lost with it
            async with asyncio.timeout(FLUSH):
                await self._flushed()
        self._writer.cancel()
        await asyncio.wait({self._writer})

    async def receive(self) -> Call | None:
        """The next call of the peer; None when it is gone."""
        while (line := await self._lines.next()) is not None:
            match rpc.read(line):
                case Call() as call if self._admitted(call):
                    await asyncio.sleep(0)  # what was asked before begins first
                    return call
                case Reply() as reply:
                    self._replied(reply)
                case Malformed(error, number):
                    self._post(rpc.error_line(number, error))
        self._give_up(PeerGoneError("the peer closed the connection"))
        return None

    def _admitted(self, call: Call) -> bool:
        """Whether the call may be worked on. A second use of an open id is refused without that id."""
        if not call.wants_reply or call.id is None:
            return True
        if call.id in self._open:
            text = f"id {shown(call.id)} belongs to a request that is not answered yet; use another"
            self._post(rpc.error_line(None, RpcError(rpc.INVALID_REQUEST, text, {"id": call.id})))
            return False
        if len(self._open) >= OPEN:
            text = f"{OPEN} requests wait for their answer already; send it again later"
            self._post(rpc.error_line(call.id, RpcError(rpc.SERVER_BUSY, text)))
            return False
        self._open[call.id] = call
        return True

    def opened(self, number: Id) -> Call | None:
        """The unanswered request of this id."""
        return self._open.get(number)

    def answer(self, number: Id, result: object) -> None:
        """Answer a request."""
        self._closed(number)
        self._post(rpc.result_line(number, result))

    def refuse(self, number: Id, error: RpcError) -> None:
        """Answer a request with an error."""
        self._closed(number)
        self._post(rpc.error_line(number, error))

    def reply(self, call: Call, work: Callable[[], object]) -> None:
        """Answer `call` with what `work` gives, or with the `RpcError` that it raises."""
        try:
            result = work()
        except RpcError as error:
            self.refuse(call.id, error)
            return
        if call.wants_reply:
            self.answer(call.id, result)

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Tell the peer something that it does not answer."""
        self._post(rpc.call_line(method, params))

    async def ask(self, method: str, params: Mapping[str, object]) -> object:
        """Ask the peer; whoever cancels the wait drops the answer.

        Raises:
            RpcError: the peer's error; `PeerGoneError` when it went away.
        """
        number = f"tidings-{next(self._numbers)}"
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._post(rpc.call_line(method, params, number))
            return await answer
        finally:
            del self._asked[number]

    async def settled(self, seconds: float) -> None:
        """Wait until every request of the peer is answered, but not longer than `seconds`."""
        with suppress(TimeoutError):  # the caller said how long an answer is worth waiting for
            async with asyncio.timeout(seconds):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()

    def _closed(self, number: Id) -> None:
        self._open.pop(number, None)
        self._answered.set()

    def _replied(self, reply: Reply) -> None:
        asked = self._asked.get(reply.id) if isinstance(reply.id, str) else None
        if asked is None or asked.done():
            _logger.info("a reply to nothing that was asked: id %r, error %s", reply.id, shown(reply.error))
        elif reply.error is None:
            asked.set_result(reply.result)
        else:
            asked.set_exception(_error_of(reply.error))

    def _post(self, line: bytes) -> None:
        if self._broken.done():
            return
        self._waiting += len(line)
        if self._waiting > self._unread:
            _logger.error("the peer does not read: %d bytes wait; giving it up", self._waiting)
            self._break()
            return
        self._outbox.append(line)
        self._empty.clear()
        self._news.set()

    async def _send_all(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            batch = b"".join(self._outbox)
            self._outbox.clear()
            try:
                await self._write(batch)
            except OSError as error:
                _logger.info("the peer reads no more: %s", error)
                self._break()
                return
            self._waiting -= len(batch)
            if not self._outbox:
                self._empty.set()

    async def _flushed(self) -> None:
        if self._waiting and not self._broken.done():
            await self._empty.wait()

    def _break(self) -> None:
        if not self._broken.done():
            self._broken.set_result(None)
        self._empty.set()
        self._give_up(PeerGoneError("the peer does not read any more"))

    def _give_up(self, error: PeerGoneError) -> None:
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(error)

    async def _read_or_broken(self) -> bytes:
        reading = asyncio.ensure_future(self._source())
        try:
            either: set[asyncio.Future[Any]] = {reading, self._broken}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else b""
        except OSError as error:
            _logger.info("the peer is gone: %s", error)
            return b""
        finally:
            reading.cancel()


def _error_of(error: Payload) -> RpcError:
    code, data = error.get("code"), error.get("data")
    told = dict(data) if isinstance(data, Mapping) else None
    return RpcError(code if isinstance(code, int) else rpc.INTERNAL_ERROR, str(error.get("message")), told)
