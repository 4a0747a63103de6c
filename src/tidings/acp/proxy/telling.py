"""What the editor is told of reminders, in the form that it can take (decision 32). Pure.

An editor that advertised reminders gets an update for each event. Any other would choke on unknown updates:
for it the events travel inside `_meta.harn.reminders` of the next update that the agent sends, and
what is left when a prompt is answered inside the `_meta` of that answer.
"""

from __future__ import annotations

from tidings.acp.proxy.message import Members, line_of, with_meta
from tidings.bridge.updates import carried
from tidings.core.reminder import Payload

WAITING = 256
"""How many events wait for a line to travel on; beyond it the oldest are dropped and counted."""


class Outbox:
    """The events of one session that the editor was not told of yet."""

    def __init__(self, session_id: str, waiting: int = WAITING) -> None:
        self.session_id = session_id
        self.dropped = 0
        self._bound = waiting
        self._waiting: list[Payload] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, update: Payload) -> None:
        """One more event."""
        self._waiting.append(update)
        if len(self._waiting) > self._bound:
            del self._waiting[0]
            self.dropped += 1

    def as_updates(self) -> bytes:
        """All that waits, as updates of their own."""
        return b"".join([update_line(self.session_id, update) for update in self._take()])

    def onto(self, holder: Members) -> Members:
        """`holder`, an update or a result, with all that waits in its `_meta`."""
        if not self._waiting and not self.dropped:
            return holder
        dropped, self.dropped = self.dropped, 0
        added = carried(self._take())
        return with_meta(holder, {**added, "remindersDropped": dropped} if dropped else added)

    def _take(self) -> list[Payload]:
        taken, self._waiting = self._waiting, []
        return taken


def update_line(session_id: str, update: Payload) -> bytes:
    """A `session/update` of our own."""
    params: Payload = {"sessionId": session_id, "update": update}
    return line_of({"jsonrpc": "2.0", "method": "session/update", "params": params})
