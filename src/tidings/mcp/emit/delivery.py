"""Who is told: an event goes to every listen stream and legacy client that wants it. No SDK.

A reminder that nobody takes waits in the outbox until a channel is up (decision 28). Everything that
waits is bounded, coalesces by key, and is counted and told when it is lost. One event loop owns a
delivery.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable

from tidings.mcp.emit.connection import Connection, withdraw
from tidings.mcp.emit.leftovers import Leftovers
from tidings.mcp.emit.tally import Stats, Tally
from tidings.mcp.events import Event
from tidings.mcp.queue import CAPACITY, Queue
from tidings.mcp.router import MOST_STREAMS, Router, Stream


class Delivery:
    """The open channels of one server, and what waits for the next."""

    def __init__(
        self,
        tally: Tally,
        *,
        capacity: int = CAPACITY,
        most_streams: int = MOST_STREAMS,
        keep_leftovers: bool = False,
    ) -> None:
        self.tally = tally
        self.capacity = capacity
        self.router = Router(capacity=capacity, most=most_streams, on_drop=self._stream_lost)
        self.leftovers = (
            Leftovers(capacity, on_drop=lambda event: tally.lost(event, "tool results"))
            if keep_leftovers
            else None
        )
        self._outbox: Queue[Event] = Queue(capacity)
        self._connections: dict[Hashable, Connection] = {}
        self._listening: Counter[str] = Counter()
        self._gone = asyncio.Event()
        self._closing = False

    def publish(self, event: Event) -> int:
        """Queue `event` wherever it is wanted; gives how many clients will be told."""
        told = self.router.publish(event)
        for connection in self._connections.values():
            if connection.wants(event):
                connection.put(event)
                told += 1
        if event.extension is not None:
            if not told:
                self._keep(event)
            if self.leftovers is not None:
                self.leftovers.add(event)
        return told

    def adopt(self, stream: Stream) -> None:
        """A listen stream was opened: it gets what waited for it."""
        for event in withdraw(self._outbox, stream.filter.wants):
            stream.put(event)
        if self._closing:
            stream.end()

    def connect(self, key: Hashable, connection: Connection) -> None:
        """A legacy client has finished its handshake: it gets what waited for it."""
        self._connections[key] = connection
        if connection.session is not None and self._listening[connection.session]:
            connection.up = True
        waited = withdraw(self._outbox, connection.wants)
        for event in waited:
            connection.put(event)
        if self.leftovers is not None and not connection.declared:
            self.leftovers.owe(key, waited)
        if self._closing:
            connection.end()

    def connection(self, key: Hashable) -> Connection | None:
        """The legacy client that was connected as `key`."""
        return self._connections.get(key)

    def disconnect(self, key: Hashable) -> None:
        """A legacy client is gone; what waited for it is lost, and told."""
        connection = self._connections.pop(key, None)
        if connection is not None:
            connection.lose()
        if self.leftovers is not None:
            self.leftovers.forget(key)
        self._gone.set()

    def stream_closed(self, stream: Stream) -> None:
        """A listen stream is over."""
        self.router.close(stream)
        self._gone.set()

    def listening(self, session: str, on: bool) -> None:
        """The GET stream of an HTTP session was opened or closed."""
        self._listening[session] += 1 if on else -1
        if self._listening[session] <= 0:
            del self._listening[session]
        for connection in self._connections.values():
            if connection.session == session:
                connection.up = session in self._listening

    def unseen(self, key: Hashable, session: str | None, *, declared: bool, most: int) -> list[Event]:
        """What to show in a tool result of `key`: not sent yet, or sent to one that shows nothing."""
        if self.leftovers is None:
            return []
        shown = [] if declared else self.leftovers.take(key, session, most)
        known = {id(event) for event in shown}
        later = frozenset() if declared else self.leftovers.to_come(key, session)
        older: list[Event] = []

        def wanted(event: Event) -> bool:
            if event.extension is None or event.session not in (None, session):
                return False
            if id(event) in known:
                return True
            if id(event) in later or len(shown) + len(older) >= most:
                return False
            older.append(event)
            return True

        connection = self._connections.get(key)
        if connection is not None:
            connection.withdraw(wanted)
        withdraw(self._outbox, wanted)
        self.tally.shown += len(older) + len(shown)
        return older + shown

    async def aclose(self) -> None:
        """End every stream and connection after what waits was sent; bring your own deadline."""
        self._closing = True
        self._gone = asyncio.Event()  # of this loop: a server may run in one after another
        try:
            self.router.end_all()
            for connection in self._connections.values():
                connection.end()
            while len(self.router) or any(one.busy for one in self._connections.values()):
                self._gone.clear()
                await self._gone.wait()
        finally:
            self._closing = False

    def drained(self) -> None:
        """A legacy client's pump has sent all it had, after the end."""
        self._gone.set()

    def stats(self) -> Stats:
        """A moment of this delivery."""
        return Stats(
            emitted=self.tally.emitted,
            sent=self.tally.sent,
            shown=self.tally.shown,
            dropped=self.tally.dropped,
            waiting=len(self._outbox) + sum(map(len, self._connections.values())),
            streams=len(self.router),
            connections=len(self._connections),
        )

    def _keep(self, event: Event) -> None:
        pushed = self._outbox.push(event, event.key)
        if pushed.dropped is not None:
            self.tally.lost(pushed.dropped, "the outbox")

    def _stream_lost(self, stream: Stream, event: Event) -> None:
        self.tally.lost(event, f"listen stream {stream.id!r}")
