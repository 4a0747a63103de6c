"""What comes from the agent about one session, handed to those who listen, in order and bounded.

`Feeds` sorts updates by session; a `Feed` keeps what came before anybody held the session, gathers the turn
of a prompt, and fills the `Subscription`s. A subscriber that is too slow loses the oldest, and is told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Generic, TypeVar
from weakref import WeakSet

import msgspec

from tidings.acp.host import events
from tidings.acp.host.events import Event, Told
from tidings.acp.host.notes import Notes
from tidings.core.producers import shown
from tidings.core.reminder import Payload

QUEUED = 1_000
"""How many items wait for a subscriber."""

KEPT = 10_000
"""How many updates of one turn, or of the time before a session was held, are kept."""

TEXT_KEPT = 16 * 1024 * 1024
SESSIONS = 1_000

T = TypeVar("T")


class Update(msgspec.Struct, frozen=True):
    """One ordinary update: `kind` as the protocol names it, `content` as the agent sent it."""

    session_id: str
    kind: str
    content: Payload

    @property
    def text(self) -> str:
        """The text of a chunk; empty for everything else."""
        block = self.content.get("content")
        text = block.get("text") if isinstance(block, Mapping) else None
        return text if isinstance(text, str) else ""


class Subscription(Generic[T]):
    """An async iterator over what comes from now on; ends when the host stops. Use it with `with`."""

    def __init__(self, what: str, notes: Notes, size: int = QUEUED) -> None:
        self._items: deque[T] = deque()
        self._what, self._notes, self._size = what, notes, size
        self._filled = asyncio.Event()
        self._ended = False
        self.dropped = 0

    def put(self, item: T) -> None:
        """Add an item; the oldest leaves when too many wait."""
        if self._ended:
            return
        if len(self._items) >= self._size:
            self._items.popleft()
            self.dropped += 1
            if self.dropped == 1:
                self._notes.add("subscriber_lagged", f"a subscriber of {self._what} loses the oldest")
        self._items.append(item)
        self._filled.set()

    def close(self) -> None:
        """Take nothing more; what waits can still be read."""
        self._ended = True
        self._filled.set()

    def __aiter__(self) -> Subscription[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._ended:
                raise StopAsyncIteration
            self._filled.clear()
            await self._filled.wait()
        return self._items.popleft()

    def __enter__(self) -> Subscription[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Turn:
    """What came while one prompt was answered."""

    def __init__(self) -> None:
        self.updates: list[Update] = []
        self.events: list[Event] = []
        self.dropped = 0
        self._texts: list[str] = []
        self._size = 0

    def heard(self, update: Update) -> None:
        """Keep an update, and the agent's words."""
        if update.kind == "agent_message_chunk" and self._size < TEXT_KEPT:
            self._texts.append(update.text[: TEXT_KEPT - self._size])
            self._size += len(self._texts[-1])
        if len(self.updates) < KEPT:
            self.updates.append(update)
        else:
            self.dropped += 1

    def told(self, event: Event) -> None:
        """Keep an event."""
        if len(self.events) < KEPT:
            self.events.append(event)
        else:
            self.dropped += 1

    @property
    def text(self) -> str:
        """What the agent said."""
        return "".join(self._texts)


class Feed:
    """All that comes about one session."""

    def __init__(self, session_id: str, notes: Notes) -> None:
        self.session_id = session_id
        self._notes = notes
        self._before: Turn | None = Turn()
        self._turn: Turn | None = None
        self._over = False
        self._updates: WeakSet[Subscription[Update]] = WeakSet()
        self._events: WeakSet[Subscription[Event]] = WeakSet()

    def claim(self) -> Turn:
        """What came before; from now on only subscribers and turns are served."""
        before, self._before = self._before or Turn(), None
        return before

    @property
    def claimed(self) -> bool:
        """Whether a session is held for it."""
        return self._before is None

    def begin(self) -> Turn:
        """Gather a turn from now on."""
        self._turn = Turn()
        return self._turn

    def end(self) -> None:
        """The turn is over; what comes now is not part of it."""
        self._turn = None

    def updates(self) -> Subscription[Update]:
        """A new subscriber of ordinary updates."""
        made: Subscription[Update] = Subscription(f"the updates of {shown(self.session_id)}", self._notes)
        self._updates.add(made)
        if self._over:
            made.close()
        return made

    def events(self) -> Subscription[Event]:
        """A new subscriber of what happens to reminders."""
        made: Subscription[Event] = Subscription(f"the reminders of {shown(self.session_id)}", self._notes)
        self._events.add(made)
        if self._over:
            made.close()
        return made

    def heard(self, update: Update) -> None:
        """Hand an update to all."""
        for place in (self._before, self._turn):
            if place is not None:
                place.heard(update)
        for subscriber in self._updates:
            subscriber.put(update)

    def told(self, told: Told) -> None:
        """Hand on what a message told of reminders, and note what of it could not be read."""
        for item in told.unreadable:
            self._notes.add("unreadable_reminder", f"not an event of a reminder: {shown(item)}")
        for event in told.events:
            for place in (self._before, self._turn):
                if place is not None:
                    place.told(event)
            for subscriber in self._events:
                subscriber.put(event)

    def close(self) -> None:
        """Nothing more comes; a later subscriber is told at once."""
        self._over = True
        for listener in self._updates:
            listener.close()
        for observer in self._events:
            observer.close()


class Feeds:
    """The feeds of a connection, by session."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._feeds: dict[str, Feed] = {}

    def of(self, session_id: str) -> Feed:
        """The feed of a session; one that nobody held makes room when there are too many."""
        feed = self._feeds.get(session_id)
        if feed is None:
            self._make_room()
            feed = self._feeds[session_id] = Feed(session_id, self._notes)
        return feed

    def _make_room(self) -> None:
        unclaimed = [name for name, feed in self._feeds.items() if not feed.claimed]
        if len(unclaimed) >= SESSIONS:
            del self._feeds[unclaimed[0]]
            self._notes.add(
                "unknown_session", f"updates of {shown(unclaimed[0])}, which nobody opened, are gone"
            )

    def update(self, params: Mapping[str, object]) -> None:
        """Take in a `session/update`."""
        session_id, update = params.get("sessionId"), params.get("update")
        kind = update.get("sessionUpdate") if isinstance(update, Mapping) else None
        if not isinstance(session_id, str) or not isinstance(update, Mapping) or not isinstance(kind, str):
            self._notes.add("unreadable_update", f"no session, or no update in it: {shown(params)}")
            return
        feed, told = self.of(session_id), events.of_update(session_id, params)
        feed.told(told)
        if not told.only:
            feed.heard(Update(session_id, kind, dict(update)))

    def answered(self, method: str, session_id: str | None, result: object) -> None:
        """Take in the answer to a request about a session."""
        if session_id is None:
            return
        feed = self.of(session_id)
        feed.told(events.of_result(session_id, result))
        if method == "session/prompt":
            feed.end()

    def close(self) -> None:
        """Nothing more comes for any of them."""
        for feed in self._feeds.values():
            feed.close()
