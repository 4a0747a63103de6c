"""One client of the handshake era: what waits for it, and whether it can be told right now. No SDK.

On stdio a connection is up from its first moment; over HTTP only while the client's GET stream is open,
and what comes meanwhile waits here (`Queue`: bounded, newest per key). `next` is all that waits; the
middleware's pump drives it for as long as the connection lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidings.mcp.events import Event
from tidings.mcp.names import RESOURCE_UPDATED
from tidings.mcp.queue import CAPACITY, Queue
from tidings.mcp.router import Frame

MOST_HANDLES = 1_000
"""How many conversation handles of one connection are remembered; the oldest is forgotten first."""

MOST_SUBSCRIBED = 10_000
"""How many resources one connection may subscribe to."""


def withdraw(queue: Queue[Event], wanted: Callable[[Event], bool]) -> list[Event]:
    """Take the `wanted` events out of `queue`; the others stay, in order. Each is asked about once."""
    taken: list[Event] = []
    for event in queue.take():
        if wanted(event):
            taken.append(event)
        else:
            queue.push(event, event.key)
    return taken


class Connection:
    """A legacy client. `declared`: it said that it takes reminders. `session`: its HTTP session, if any."""

    def __init__(
        self,
        *,
        session: str | None = None,
        declared: bool = False,
        up: bool = True,
        capacity: int = CAPACITY,
        on_drop: Callable[[Event], None],
    ) -> None:
        self.session = session
        self.declared = declared
        self.ended = False
        self.sending = False
        self.subscribed: dict[str, None] = {}
        self._handles: dict[str, None] = {} if session is None else {session: None}
        self._queue: Queue[Event] = Queue(capacity)
        self._on_drop = on_drop
        self._up = up
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """Whether something is being sent, or could be."""
        return self.sending or (self._up and len(self._queue) > 0)

    @property
    def up(self) -> bool:
        """Whether the client can be told right now."""
        return self._up

    @up.setter
    def up(self, up: bool) -> None:
        self._up = up
        self._news.set()

    def uses(self, handle: str) -> None:
        """The client named one of its conversations: what is addressed to it comes here."""
        self._handles[handle] = None
        if len(self._handles) > MOST_HANDLES:
            del self._handles[next(iter(self._handles))]

    def subscribe(self, uri: str) -> None:
        """The client wants to hear of changes to `uri`; of too many the oldest is forgotten."""
        self.subscribed[uri] = None
        if len(self.subscribed) > MOST_SUBSCRIBED:
            del self.subscribed[next(iter(self.subscribed))]

    def wants(self, event: Event) -> bool:
        """Whether `event` is for this client.

        Over stdio there is one client, which knows its conversations; over HTTP it must have named them.
        """
        if self.ended:
            return False
        if event.method == RESOURCE_UPDATED:
            return event.params.get("uri") in self.subscribed
        return event.session is None or self.session is None or event.session in self._handles

    def put(self, event: Event) -> None:
        """Queue `event`; the oldest leaves when there is no room."""
        pushed = self._queue.push(event, event.key)
        if pushed.dropped is not None:
            self._on_drop(pushed.dropped)
        self._news.set()

    async def next(self) -> Frame | None:
        """The next notification, when there is one and the client can be told; None after the end."""
        while True:
            event = self._queue.pop() if self._up else None
            if event is not None:
                return Frame(event.method, event.params)
            if self.ended:
                return None
            self._news.clear()
            await self._news.wait()

    def withdraw(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Take what is `wanted` out of the queue of a client that cannot be told."""
        return [] if self._up else withdraw(self._queue, wanted)

    def end(self) -> None:
        """Nothing more is taken; what waits is still sent, then `next` gives None."""
        self.ended = True
        self._news.set()

    def lose(self) -> None:
        """The client is gone: what waits is lost, and told."""
        self.end()
        for event in self._queue.take():
            self._on_drop(event)
