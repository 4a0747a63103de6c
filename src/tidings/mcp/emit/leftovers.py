"""Reminders for hosts that show their model nothing but tool results. Pure but for its own memory.

Every reminder is kept here for a while. Each peer reads on from where it was: it is shown each once,
newest per key, beginning with what happened after its first request. Used only with
`in_tool_results=True`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

from tidings.mcp.events import Event
from tidings.mcp.queue import CAPACITY

MOST_PEERS = 1_000
"""How many peers are remembered; the one heard of longest ago is forgotten first."""


class Leftovers:
    """The latest reminders, and how far each peer has read. `on_drop` hears of what a peer never saw."""

    def __init__(self, capacity: int = CAPACITY, *, on_drop: Callable[[Event], None]) -> None:
        self._kept: deque[tuple[int, Event]] = deque()
        self._capacity = capacity
        self._count = 0
        self._read: OrderedDict[Hashable, int] = OrderedDict()
        self._owed: dict[Hashable, list[Event]] = {}
        self._on_drop = on_drop

    def add(self, event: Event) -> None:
        """Keep one more; the oldest leaves when there is no room."""
        self._count += 1
        self._kept.append((self._count, event))
        if len(self._kept) > self._capacity:
            number, gone = self._kept.popleft()
            if any(read < number for read in self._read.values()):
                self._on_drop(gone)

    def meet(self, peer: Hashable) -> None:
        """A request of `peer`: the first one marks where it begins to read."""
        self._read.setdefault(peer, self._count)
        self._read.move_to_end(peer)
        if len(self._read) > MOST_PEERS:
            self.forget(next(iter(self._read)))

    def owe(self, peer: Hashable, events: list[Event]) -> None:
        """`peer` got these although they are older than its first request: it is to be shown them."""
        self.meet(peer)
        self._owed[peer] = events

    def forget(self, peer: Hashable) -> None:
        """The peer is gone."""
        self._read.pop(peer, None)
        self._owed.pop(peer, None)

    def take(self, peer: Hashable, session: str | None, most: int) -> list[Event]:
        """What `peer` has not been shown and is for it: at most `most`, oldest first; the rest stays."""
        self.meet(peer)
        owed = self._owed.pop(peer, [])
        if len(owed) > most:
            self._owed[peer] = owed[most:]
        unread = self._unread(peer, session)
        given = unread[: max(0, most - len(owed))]
        if len(given) == len(unread):
            self._read[peer] = self._count
        elif given:
            self._read[peer] = given[-1][0]
        return [*owed[:most], *(event for _, event in given)]

    def to_come(self, peer: Hashable, session: str | None) -> frozenset[int]:
        """The `id()` of each event that `peer` will be shown later on."""
        return frozenset(id(event) for _, event in self._unread(peer, session))

    def _unread(self, peer: Hashable, session: str | None) -> list[tuple[int, Event]]:
        newest: dict[object, tuple[int, Event]] = {}
        for number, event in self._kept:
            if number > self._read[peer] and event.session in (None, session):
                key = number if event.key is None else event.key
                newest.pop(key, None)
                newest[key] = (number, event)
        return list(newest.values())
