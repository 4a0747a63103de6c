"""The live feed: the hub's records, or what a session told, as server-sent events. Raw ASGI.

Each event's id is its record's cursor, so that a browser that reconnects goes on where it was. Nothing is
queued for a slow reader: it reads at its own speed (`channel.py`). One whose next records were purged is
told where to resume; one that takes nothing for too long is let go; a record says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.producers import shown
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.errors import SubscriberLaggedError
from tidings.hub.channel import Channel, Chunk
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.operations import refused
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC
from tidings.hub.told import SNAPSHOT, told_row, told_topic
from tidings.hub.wire import HttpRefusal, error_response, read_query, refusal_response
from tidings.log import LogRecord

SUBSCRIBERS_MOST = 2_000
KEEPALIVE_SECONDS = 15.0
SEND_SECONDS = 30.0
DROPPED = "hub.feed.dropped"

_QUERY = {"fromCursor", "kindPrefix", "sessionId"}

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


class Stream(msgspec.Struct, frozen=True):
    """What one reader follows: from where, and of which session if of one."""

    chunks: AsyncGenerator[Chunk, None]
    position: int
    session_id: str | None


class Outlet:
    """Where the bytes of one stream go, and how far its reader got.

    One watch for the whole stream notices a reader that takes nothing: a timer for every send would cost
    as much as the sending.
    """

    def __init__(self, send: Send, position: int) -> None:
        self._send = send
        self.position = position
        self._sent = 0
        self._busy = False

    async def put(self, body: bytes) -> None:
        """Send some bytes."""
        self._busy = True
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        self._busy = False
        self._sent += 1

    async def stalled(self, seconds: float) -> None:
        """Return once the reader has taken nothing for at least so long."""
        seen = -1
        while not self._busy or self._sent != seen:
            seen = self._sent
            await asyncio.sleep(seconds)


class Feed:
    """An ASGI application that streams records until the reader leaves or the feed is closed."""

    def __init__(self, hub: Hub, *, send_seconds: float = SEND_SECONDS) -> None:
        self._hub = hub
        self._channels: dict[str, Channel] = {}
        self._send_seconds = send_seconds
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End every stream."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one reader."""
        try:
            stream = self._opened(Request(scope))
        except HttpRefusal as error:
            await refusal_response(error.status, error.code, str(error))(scope, receive, send)
            return
        except RpcError as error:
            await error_response(error)(scope, receive, send)
            return
        self._hub.subscribers += 1
        try:
            await self._serve(stream, receive, send)
        finally:
            self._hub.subscribers -= 1

    def _opened(self, request: Request) -> Stream:
        if self._hub.subscribers >= SUBSCRIBERS_MOST:
            raise refused(HubFullError(f"{SUBSCRIBERS_MOST} readers follow the hub; try again later"))
        query = read_query(request)
        strange = sorted(set(query) - _QUERY)
        if strange:
            raise RpcError(INVALID_PARAMS, f"unknown member {shown(strange[0])}", {"field": strange[0]})
        asked = request.headers.get("last-event-id") or query.get("fromCursor")
        session_id = None if "sessionId" not in query else self._session(str(query["sessionId"]))
        channel = self._channel(session_id)
        position = channel.first() if asked is None else _cursor(str(asked))
        chunks = channel.read(position, str(query.get("kindPrefix", "")))
        return Stream(chunks, position, session_id)

    def _channel(self, session_id: str | None) -> Channel:
        """The channel of the hub, or of what a session told; those that nobody reads are forgotten."""
        self._channels = {name: one for name, one in self._channels.items() if one.readers}
        topic, encode = (TOPIC, frame) if session_id is None else (told_topic(session_id), told_frame)
        return self._channels.setdefault(topic, Channel(self._hub.store.log, topic, encode))

    def _session(self, session_id: str) -> str:
        if not self._hub.knows(session_id):
            raise refused(UnknownSessionError(session_id))
        return session_id

    async def _serve(self, stream: Stream, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        outlet = Outlet(send, stream.position)
        work = asyncio.create_task(self._stream(stream, outlet))
        stalling = asyncio.create_task(outlet.stalled(self._send_seconds))
        others = {
            stalling,
            asyncio.create_task(_left(receive)),
            asyncio.create_task(_beat(outlet)),
            asyncio.create_task(self._closing.wait()),
        }
        try:
            done, _ = await asyncio.wait({work, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, *others):
                task.cancel()
            await asyncio.gather(work, *others, return_exceptions=True)
        if stalling in done:
            self._drop("stalled", outlet.position, stream.session_id)
        elif not work.cancelled() and (error := work.exception()) is not None:
            raise error
        with suppress(TimeoutError):  # whoever takes nothing is not waited for
            async with asyncio.timeout(self._send_seconds):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, stream: Stream, outlet: Outlet) -> None:
        try:
            await outlet.put(b": following\n\n")
            async with aclosing(stream.chunks) as chunks:
                async for chunk in chunks:
                    await outlet.put(chunk.body)
                    outlet.position = chunk.position
        except SubscriberLaggedError as lagged:
            self._drop("lagged", lagged.resume_from, stream.session_id)
            told = {"resumeFrom": lagged.resume_from, "missed": lagged.missed}
            await outlet.put(b"event: lagged\ndata: " + msgspec.json.encode(told) + b"\n\n")

    def _drop(self, reason: str, position: int, session_id: str | None) -> None:
        told: Payload = {"reason": reason, "resume_from": position}
        if session_id is not None:
            told["session_id"] = session_id
        self._hub.store.commit([Record(DROPPED, told)])


def frame(record: LogRecord) -> bytes:
    """A record as one event."""
    return b"id: %d\ndata: %b\n\n" % (record.cursor, msgspec.json.encode(record.to_dict()))


def told_frame(record: LogRecord) -> bytes:
    """A record that a session told, as one event; nothing for a snapshot among them."""
    if record.kind == SNAPSHOT:
        return b""
    return b"id: %d\ndata: %b\n\n" % (record.cursor, msgspec.json.encode(told_row(record)))


def _cursor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        field = "fromCursor"
        raise RpcError(
            INVALID_PARAMS, f"`{field}` is {shown(text)}; give the id of the last event", {"field": field}
        )
    return int(text)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _beat(outlet: Outlet) -> None:
    while True:
        await asyncio.sleep(KEEPALIVE_SECONDS)
        await outlet.put(b":\n\n")
