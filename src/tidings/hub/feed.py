"""The live feed: the hub's records as server-sent events, from a cursor on. Raw ASGI.

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
from tidings.errors import SubscriberLaggedError
from tidings.hub.channel import Channel, Chunk
from tidings.hub.failure import HubFullError
from tidings.hub.operations import refused
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC
from tidings.hub.wire import HttpRefusal, error_response, read_query, refusal_response
from tidings.log import LogRecord

SUBSCRIBERS_MOST = 2_000
KEEPALIVE_SECONDS = 15.0
SEND_SECONDS = 30.0
DROPPED = "hub.feed.dropped"

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


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
            position, records = self._opened(Request(scope))
        except HttpRefusal as error:
            await refusal_response(error.status, error.code, str(error))(scope, receive, send)
            return
        except RpcError as error:
            await error_response(error)(scope, receive, send)
            return
        self._hub.subscribers += 1
        try:
            await self._serve(position, records, receive, send)
        finally:
            self._hub.subscribers -= 1

    def _opened(self, request: Request) -> tuple[int, AsyncGenerator[Chunk, None]]:
        if self._hub.subscribers >= SUBSCRIBERS_MOST:
            raise refused(HubFullError(f"{SUBSCRIBERS_MOST} readers follow the hub; try again later"))
        query = read_query(request)
        strange = sorted(set(query) - {"fromCursor", "kindPrefix"})
        if strange:
            raise RpcError(INVALID_PARAMS, f"unknown member {shown(strange[0])}", {"field": strange[0]})
        position = _cursor(request.headers.get("last-event-id") or str(query.get("fromCursor", "0")))
        return position, self._channel(TOPIC).read(position, str(query.get("kindPrefix", "")))

    def _channel(self, topic: str) -> Channel:
        """The channel of a topic; those that nobody reads are forgotten."""
        self._channels = {name: one for name, one in self._channels.items() if one.readers}
        return self._channels.setdefault(topic, Channel(self._hub.store.log, topic, frame))

    async def _serve(
        self, position: int, records: AsyncGenerator[Chunk, None], receive: Receive, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        stream = asyncio.create_task(self._stream(position, records, send))
        others = {
            asyncio.create_task(_left(receive)),
            asyncio.create_task(_beat(send)),
            asyncio.create_task(self._closing.wait()),
        }
        try:
            await asyncio.wait({stream, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stream, *others):
                task.cancel()
            await asyncio.gather(stream, *others, return_exceptions=True)
        if not stream.cancelled() and (error := stream.exception()) is not None:
            raise error
        with suppress(TimeoutError):  # whoever takes nothing is not waited for
            async with asyncio.timeout(self._send_seconds):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stream(self, position: int, records: AsyncGenerator[Chunk, None], send: Send) -> None:
        try:
            await _chunk(send, b": following\n\n")
            async with aclosing(records):
                async for chunk in records:
                    async with asyncio.timeout(self._send_seconds):
                        await _chunk(send, chunk.body)
                    position = chunk.position
        except SubscriberLaggedError as lagged:
            self._drop("lagged", lagged.resume_from)
            told = {"resumeFrom": lagged.resume_from, "missed": lagged.missed}
            await _chunk(send, b"event: lagged\ndata: " + msgspec.json.encode(told) + b"\n\n")
        except TimeoutError:
            self._drop("stalled", position)

    def _drop(self, reason: str, position: int) -> None:
        self._hub.store.commit([Record(DROPPED, {"reason": reason, "resume_from": position})])


def frame(record: LogRecord) -> bytes:
    """A record as one event."""
    return b"id: %d\ndata: %b\n\n" % (record.cursor, msgspec.json.encode(record.to_dict()))


def _cursor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        field = "fromCursor"
        raise RpcError(
            INVALID_PARAMS, f"`{field}` is {shown(text)}; give the id of the last event", {"field": field}
        )
    return int(text)


async def _chunk(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _beat(send: Send) -> None:
    while True:
        await asyncio.sleep(KEEPALIVE_SECONDS)
        await _chunk(send, b":\n\n")
