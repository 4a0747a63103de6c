"""Between a wire and the SDK: hears every message first, in both directions.

Notifications end here; the SDK would drop the ones it does not know and start a task for each of the rest.
Which subscription is open, which calls report progress and how much the server has asked is read off what
passes. `TappedRead` and `TappedWrite` put a tap on the streams of an SDK transport.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from tidings.core.reminder import Payload
from tidings.mcp.budget import LARGEST_FRAME
from tidings.mcp.conversation.names import USER_MESSAGE
from tidings.mcp.host.intake import carries
from tidings.mcp.names import (
    ACKNOWLEDGED,
    CANCELLED,
    LISTEN,
    PROGRESS,
    SESSION_META,
    SUBSCRIPTION_META,
)
from tidings.mcp.streams import Entered, Incoming, Received

MOST_ASKED = 64
"""How many requests of a server are answered at a time."""

BRIEF = frozenset((USER_MESSAGE,))
"""Requests whose answer is not read if it is larger than a frame: reading it would hold up the turn."""

MOST_AWAITED = 1_024
"""How many running requests of ours are known."""

MOST_TOKENS = 256
"""How many progress tokens are known, of running calls and of the last abandoned ones."""

Hear: TypeAlias = Callable[[str, Mapping[str, object], int], None]
Drop: TypeAlias = Callable[[str], None]
OnProgress: TypeAlias = Callable[[Mapping[str, object]], None]


class Tap:
    """What passes between one server and the SDK, in one connection."""

    def __init__(self, hear: Hear, drop: Drop, handle: str = "") -> None:
        self._hear = hear
        self._drop = drop
        self.handle = handle
        self.listening: RequestId | None = None
        self.acknowledged = asyncio.Event()
        self.ended = asyncio.Event()
        self.lost = asyncio.Event()
        self.over = False
        self.why = ""
        self._asked: set[RequestId] = set()
        self._tokens: OrderedDict[str, OnProgress | None] = OrderedDict()
        self._awaited: OrderedDict[str, tuple[RequestId, str]] = OrderedDict()

    def lose(self, why: str) -> None:
        """The wire is gone; the first reason counts."""
        if not self.lost.is_set():
            self.over = True
            self.why = why
            self.lost.set()

    def drop(self, reason: str) -> None:
        """Something that came cannot be used."""
        self._drop(reason)

    def heard(self, method: str, params: Mapping[str, object], size: int) -> None:
        """A notification came."""
        meta = params.get("_meta")
        tagged: Mapping[str, object] = meta if isinstance(meta, Mapping) else {}
        if method == CANCELLED:
            self._cancelled(params)
        elif not self._for_us(tagged):
            if carries(method, params):
                self._drop("other_stream")
        elif method == ACKNOWLEDGED:
            self._acknowledge(tagged)
        elif method != PROGRESS or self._progressed(params):
            self._hear(method, params, size)

    def may_ask(self, id: RequestId) -> bool:
        """Whether one more request of the server is passed on; it is answered by the SDK."""
        if len(self._asked) >= MOST_ASKED:
            self._drop("requests")
            return False
        self._asked.add(id)
        return True

    def said(self, message: JSONRPCMessage) -> None:
        """A message of ours goes out."""
        if isinstance(message, JSONRPCRequest):
            self._await(message)
        elif isinstance(message, JSONRPCNotification):
            if message.method == CANCELLED:
                self._awaited.pop(str((message.params or {}).get("requestId")), None)
        elif message.id is not None:
            self._asked.discard(message.id)

    def answered(self, id: RequestId | None) -> None:
        """A request of ours was answered."""
        self._awaited.pop(str(id), None)

    def reads(self, answered: str | None) -> bool:
        """Whether a message that is larger than a frame is read: only an answer that may be so large."""
        _, method = self._awaited.get(answered or "", (None, ""))
        return bool(method) and method not in BRIEF

    def pass_over(self, answered: str | None) -> RequestId | None:
        """Leave a message that is too large unread; gives the request of ours that it answers, if any."""
        self._drop("too_large")
        asked, _ = self._awaited.pop(answered or "", (None, ""))
        return asked

    def expect(self, token: str, on_progress: OnProgress) -> None:
        """A call with this token reports its progress."""
        self._tokens[token] = on_progress
        if len(self._tokens) > MOST_TOKENS:
            self._tokens.popitem(last=False)

    def forget(self, token: str, *, abandoned: bool) -> None:
        """The call is over; of one that was abandoned the end may still be told."""
        if abandoned:
            self._tokens[token] = None
        else:
            self._tokens.pop(token, None)

    def _await(self, request: JSONRPCRequest) -> None:
        if request.method == LISTEN:
            self.listening = request.id
            self.acknowledged.clear()
            self.ended.clear()
        self._awaited[str(request.id)] = (request.id, request.method)
        if len(self._awaited) > MOST_AWAITED:
            self._awaited.popitem(last=False)

    def _for_us(self, meta: Mapping[str, object]) -> bool:
        """Whether a frame is tagged for our subscription and session, or not at all (decision 27)."""
        tag, session = meta.get(SUBSCRIPTION_META), meta.get(SESSION_META)
        mine = tag is None or (self.listening is not None and str(tag) == str(self.listening))
        return mine and session in (None, self.handle)

    def _acknowledge(self, meta: Mapping[str, object]) -> None:
        if meta.get(SUBSCRIPTION_META) is not None:
            self.acknowledged.set()

    def _cancelled(self, params: Mapping[str, object]) -> None:
        """A server may only cancel our subscription: so the draft ends it on stdio."""
        named = params.get("requestId")
        if self.listening is not None and named is not None and str(named) == str(self.listening):
            self.ended.set()

    def _progressed(self, params: Mapping[str, object]) -> bool:
        """Tell the call; gives whether the token is one of ours."""
        token = params.get("progressToken")
        if not isinstance(token, str) or token not in self._tokens:
            return False
        on_progress = self._tokens[token]
        if on_progress is not None:
            on_progress(params)
        return True


class Source(Protocol):
    """What the SDK reads from."""

    async def receive(self) -> Incoming:
        """The next message."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


class Sink(Protocol):
    """What the SDK writes to."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        ...

    async def aclose(self) -> None:
        """Close it."""
        ...


class TappedRead(Received):
    """The read stream of an SDK transport, without what the tap keeps."""

    def __init__(self, inner: Source, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    async def receive(self) -> Incoming:
        """The next message for the SDK."""
        while True:
            try:
                item: Incoming = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._tap.lose("the connection ended")
                raise
            if isinstance(item, Exception):
                self._tap.drop("unreadable")
            elif self._passes(item.message):
                return item

    def _passes(self, message: JSONRPCMessage) -> bool:
        if isinstance(message, JSONRPCNotification):
            params: Payload = message.params or {}
            self._tap.heard(message.method, params, _size(params))
            return False
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._tap.answered(message.id)
        return not isinstance(message, JSONRPCRequest) or self._tap.may_ask(message.id)

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()


class TappedWrite(Entered):
    """The write stream of an SDK transport; the tap sees what goes out."""

    def __init__(self, inner: Sink, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        self._tap.said(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()


def _size(params: Payload) -> int:
    """How many bytes the params have as JSON; more than any host reads if they have no such form."""
    try:
        return len(msgspec.json.encode(params))
    except (UnicodeEncodeError, TypeError, RecursionError):
        return LARGEST_FRAME + 1
