"""Which `conversation/context` belongs to which message, in the literal form. No SDK.

The seed's answer has no place for a message id. With one it is matched by that; without one it is taken for
the answer to the oldest message that is still unanswered, so that a late answer never passes for the next
message's. One event loop owns this.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, TypeAlias

Fate: TypeAlias = Literal["taken", "late", "stray"]

MOST_OWED = 64
"""How many unanswered messages of one server are remembered."""

FORGOTTEN_AFTER = 60.0
"""Seconds after which no answer is expected any more."""


class Correlation:
    """The messages that one server owes an answer to."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._owed: OrderedDict[str, tuple[asyncio.Future[object], float]] = OrderedDict()

    def expect(self, message_id: str) -> asyncio.Future[object]:
        """An answer to this message is waited for."""
        now = self._now()
        while self._owed and (len(self._owed) >= MOST_OWED or self._oldest() <= now - FORGOTTEN_AFTER):
            self._owed.popitem(last=False)
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._owed[message_id] = (future, now)
        return future

    def settle(self, message_id: object, result: object) -> Fate:
        """An answer came: hand it to whoever waits, or say why nobody does."""
        if message_id is None and self._owed:
            _, (future, _) = self._owed.popitem(last=False)
        elif isinstance(message_id, str) and message_id in self._owed:
            future, _ = self._owed.pop(message_id)
        else:
            return "stray"
        if future.done():
            return "late"
        future.set_result(result)
        return "taken"

    def _oldest(self) -> float:
        return next(iter(self._owed.values()))[1]
