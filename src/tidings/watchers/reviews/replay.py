"""Deliveries that were here before: remembered by id and by content, so many and so long.

A signature over the body alone does not cover the delivery's id, so the same body under a new id is a
replay as well. What is older than the memory is refused by the time that its signed content names.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Literal, TypeAlias

from tidings.watchers.reviews.verifying import Delivery

MOST = 10_000
AGE = 3600.0
"""Seconds after which an event is too old to be news, and until which deliveries are remembered."""

Verdict: TypeAlias = Literal["new", "repeated", "replayed"]


class Deliveries:
    """The deliveries of the last hour, ten thousand at most."""

    def __init__(self, most: int = MOST, age: float = AGE) -> None:
        self._most = most
        self._age = age
        self._ids: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._digests: OrderedDict[str, float] = OrderedDict()

    def take(self, delivery: Delivery, now: float) -> Verdict:
        """Whether it is new, the same delivery again (`repeated`), or its content under a new id."""
        self._forget(now)
        known = self._ids.get(delivery.id) if delivery.id else None
        if known is not None and known[1] == delivery.digest:
            return "repeated"
        if known is not None or delivery.digest in self._digests:
            return "replayed"
        if delivery.id:
            self._ids[delivery.id] = (now, delivery.digest)
        self._digests[delivery.digest] = now
        return "new"

    def _forget(self, now: float) -> None:
        while self._ids and (len(self._ids) >= self._most or now - self._first_id() > self._age):
            self._ids.popitem(last=False)
        while self._digests and (len(self._digests) >= self._most or now - self._first() > self._age):
            self._digests.popitem(last=False)

    def _first_id(self) -> float:
        return next(iter(self._ids.values()))[0]

    def _first(self) -> float:
        return next(iter(self._digests.values()))


def seconds(text: object) -> float | None:
    """A time as services write it, in seconds since 1970; None when it is none."""
    if not isinstance(text, str):
        return None
    cleaned = text.replace(" UTC", "+00:00").replace("Z", "+00:00")
    try:
        read = datetime.fromisoformat(cleaned)
    except ValueError:
        return None
    return read.timestamp() if read.tzinfo is not None else None
