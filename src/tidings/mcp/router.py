"""The listen router: events in, tagged notifications on every stream that asked. Transport-free.

A stream begins with its acknowledgement and carries its request's id on every frame; it ends when the
client cancels (silence from then on) or when the server closes it (a result, or as seed 002's draft wants).
`Stream.next` is all that waits here; the SDK's request handler, stdio or HTTP, drives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from tidings.bridge.rpc import Id
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.events import Event, Filter
from tidings.mcp.names import ACKNOWLEDGED, CANCELLED, RELEASED, SUBSCRIPTION_META, Profile
from tidings.mcp.queue import CAPACITY, Queue

MOST_STREAMS = 10_000
"""How many streams one server serves at a time; the client of one more is told."""


class Frame(msgspec.Struct, frozen=True):
    """One notification, ready to be sent."""

    method: str
    params: Payload


class TooManyStreamsError(CallerError):
    """The server serves as many listen streams as it may."""


class Stream:
    """One open `subscriptions/listen` request."""

    def __init__(
        self,
        id: Id,
        filter: Filter,
        profile: Profile = RELEASED,
        *,
        capacity: int = CAPACITY,
        peer: object = None,
    ) -> None:
        self.id = id
        self.peer = peer
        self.filter = filter
        self.profile = profile
        self.ended = False
        self._queue: Queue[Event] = Queue(capacity)
        self._news = asyncio.Event()

    @property
    def tag(self) -> Id:
        """The subscription's id on the wire: verbatim, or as text in the draft profile."""
        if self.profile.ids_as_text and not isinstance(self.id, str):
            return str(self.id)
        return self.id

    @property
    def dropped(self) -> int:
        """How many events had to leave because the client reads too slowly."""
        return self._queue.dropped

    def acknowledgement(self) -> Frame:
        """The first frame: what the stream will carry."""
        return Frame(ACKNOWLEDGED, {"notifications": self.filter.to_wire(), "_meta": self._meta()})

    def put(self, event: Event) -> Event | None:
        """Queue `event` if the stream asked for it; gives the event that had to leave, if one had."""
        if self.ended or not self.filter.wants(event):
            return None
        pushed = self._queue.push(event, event.key)
        self._news.set()
        return pushed.dropped

    async def next(self) -> Frame | None:
        """The next frame, when there is one; None when the stream has ended and all was sent."""
        while True:
            event = self._queue.pop()
            if event is not None:
                return Frame(event.method, self._tagged(event))
            if self.ended:
                return None
            self._news.clear()
            await self._news.wait()

    def end(self) -> None:
        """Close the stream: what waits is still sent, then `next` gives None."""
        self.ended = True
        self._news.set()

    def farewell(self) -> list[Frame]:
        """What the server sends when it closes the stream, before or instead of the result."""
        if not self.profile.cancelled_at_end:
            return []
        return [Frame(CANCELLED, {"requestId": self.id, "reason": "the server closed the subscription"})]

    def result(self) -> Payload:
        """The result of a listen request that the server ended."""
        return {"resultType": "complete", "_meta": self._meta()}

    def _tagged(self, event: Event) -> Payload:
        meta = event.params.get("_meta")
        inner = meta if isinstance(meta, dict) else {}
        return {**event.params, "_meta": {**inner, **self.filter.meta(event), **self._meta()}}

    def _meta(self) -> Payload:
        return {SUBSCRIPTION_META: self.tag}


class Router:
    """The open streams of one server. `on_drop(stream, event)` hears of everything that is lost."""

    def __init__(
        self,
        *,
        capacity: int = CAPACITY,
        most: int = MOST_STREAMS,
        on_drop: Callable[[Stream, Event], None] | None = None,
    ) -> None:
        self._streams: dict[object, Stream] = {}
        self._capacity = capacity
        self._most = most
        self._on_drop = on_drop

    def __len__(self) -> int:
        return len(self._streams)

    def open(self, id: Id, filter: Filter, *, profile: Profile = RELEASED, peer: object = None) -> Stream:
        """A new stream; `peer` tells apart clients that use the same request ids.

        Raises:
            TooManyStreamsError: no more fit.
            CallerError: this peer has an open stream with this id.
        """
        if len(self._streams) >= self._most:
            raise TooManyStreamsError(f"{self._most} listen streams are open already; close one first")
        place = _place(id, peer)
        if place in self._streams:
            raise CallerError(f"request id {id!r} is in use by an open subscription")
        stream = Stream(id, filter, profile, capacity=self._capacity, peer=peer)
        self._streams[place] = stream
        return stream

    def publish(self, event: Event) -> int:
        """Queue `event` on every stream that asked for it; gives how many did."""
        told = 0
        for stream in list(self._streams.values()):
            if stream.ended or not stream.filter.wants(event):
                continue
            told += 1
            lost = stream.put(event)
            if lost is not None and self._on_drop is not None:
                self._on_drop(stream, lost)
        return told

    def close(self, stream: Stream) -> None:
        """Forget a stream: its client cancelled or went away, or it was ended and is done."""
        place = _place(stream.id, stream.peer)
        if self._streams.get(place) is stream:
            del self._streams[place]
        stream.end()

    def cancelled(self, request_id: Id, peer: object = None) -> bool:
        """A client cancels by request id; one that is unknown or late is ignored."""
        stream = self._streams.get(_place(request_id, peer))
        if stream is not None:
            self.close(stream)
        return stream is not None

    def end_all(self) -> None:
        """The server shuts down: every stream ends after what waits was sent."""
        for stream in self._streams.values():
            stream.end()


def _place(id: Id, peer: object) -> tuple[object, type, Id]:
    """Where a stream is kept: the ids 1 and "1" are two."""
    return (peer, type(id), id)
