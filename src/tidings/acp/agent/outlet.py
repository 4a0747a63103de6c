"""A session's news in the form that an ACP client can take (decision 32).

A client that advertised reminders gets the updates of seed 004 as they are. To every other one the news of
reminders comes inside `_meta.harn.reminders` of the next ordinary update of that session, and what is left
when a prompt ends comes with its answer: strict clients choke on updates that they do not know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from tidings.bridge.served.peer import Peer
from tidings.bridge.updates import carried
from tidings.core.reminder import Payload

WAITING = 1_000
"""How much news of a session's reminders waits for an update; beyond it the oldest is lost, and counted."""


class AcpOutlet:
    """Where the sessions of one ACP connection speak; `dropped` hears how much of a session's news was."""

    def __init__(self, peer: Peer, *, waiting: int = WAITING) -> None:
        self._peer = peer
        self._bound = waiting
        self._waiting: dict[str, deque[Payload]] = {}
        self._lost: dict[str, int] = {}
        self.takes_updates = False
        self.dropped: Callable[[str, int], None] = _ignore

    def update(self, session_id: str, update: Payload) -> None:
        """Send an ordinary update, with the news that waits for one."""
        self.replay(session_id, with_news(update, self.news(session_id)))

    def replay(self, session_id: str, update: Payload) -> None:
        """Send an update of the past: no news is put on it."""
        self._peer.notify("session/update", {"sessionId": session_id, "update": update})

    def reminder(self, session_id: str, update: Payload) -> None:
        """Send the news of a reminder, or keep it for the next update."""
        if self.takes_updates:
            self.replay(session_id, update)
            return
        waiting = self._waiting.setdefault(session_id, deque())
        waiting.append(update)
        if len(waiting) > self._bound:
            waiting.popleft()
            self._lost[session_id] = self._lost.get(session_id, 0) + 1

    def news(self, session_id: str) -> Payload:
        """What waits for an update of this session, for its `_meta.harn`; it waits no longer."""
        waiting, lost = self._waiting.pop(session_id, ()), self._lost.pop(session_id, 0)
        told = carried(tuple(waiting)) if waiting else {}
        if not lost:
            return told
        self.dropped(session_id, lost)
        return {**told, "remindersDropped": lost}

    async def ask(self, method: str, params: Payload) -> object:
        """Ask the client.

        Raises:
            RpcError: its error, or that it is gone.
        """
        return await self._peer.ask(method, params)


def with_news(holder: Payload, news: Payload) -> Payload:
    """`holder` with `news` under `_meta.harn`, beside what stands there."""
    if not news:
        return holder
    meta = _object(holder.get("_meta"))
    return {**holder, "_meta": {**meta, "harn": {**_object(meta.get("harn")), **news}}}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _ignore(_session_id: str, _count: int) -> None:
    """Nobody wants to hear of it."""
