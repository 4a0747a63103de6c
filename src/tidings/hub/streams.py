"""What a session has to tell, in three streams: its transcript, its lifecycle records, its requests.

A stream gives batches behind a number: those there are (`now`), or also those that come (`after`). The
first two read the session's log at their own pace, so that nothing is queued. Requests are in no log: the
last of them wait here, bounded, and what is lost is counted. `telling.py` sends the batches to the hub.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from typing import Protocol

from tidings.agent.answered import Answered
from tidings.core.records import LIFECYCLE_TOPIC, transcript_topic
from tidings.core.reminder import Payload
from tidings.errors import SubscriberLaggedError
from tidings.hub.fitting import fitted, size_of
from tidings.hub.shapes import Stream as Name
from tidings.hub.shapes import TellRecord
from tidings.log import EventLog, LogRecord
from tidings.rendering.places import history, places
from tidings.shell.ids import now_ms

MAX_LAG = 10_000
BATCH = 200
BATCH_BYTES = 512 * 1024
REQUESTS = 256
"""How many answered requests wait for the hub."""
FRAGMENT = 4_096
"""How many characters of what stood in a request are told."""
RENDERED = "request.rendered"


class Stream(Protocol):
    """One of the three. `lost` counts what was dropped before it could be told."""

    name: Name
    lost: int

    def now(self, position: int) -> Iterator[list[TellRecord]]:
        """The batches behind `position` that there are."""
        ...

    def after(self, position: int) -> AsyncGenerator[list[TellRecord], None]:
        """The same, and then those that come; ends when there can be no more."""
        ...


class Logged:
    """The records of one topic that are the session's."""

    def __init__(self, name: Name, log: EventLog, topic: str, mine: Callable[[LogRecord], bool]) -> None:
        self.name: Name = name
        self._log = log
        self._topic = topic
        self._mine = mine
        self._kept = 0
        self.lost = 0

    def now(self, position: int) -> Iterator[list[TellRecord]]:
        """The batches there are.

        Raises:
            SubscriberLaggedError: records behind `position` are gone; the next call skips them.
        """
        try:
            records = self._log.read(self._topic, max(position, self._kept))
        except SubscriberLaggedError as lagged:
            self._kept = lagged.resume_from
            raise
        return batched(_told(record) for record in records if self._mine(record))

    async def after(self, position: int) -> AsyncGenerator[list[TellRecord], None]:
        """The batches there are, and those that come, until the log is closed.

        Raises:
            SubscriberLaggedError: the session writes faster than the hub takes it, or as for `now`.
        """
        seen = max(position, self._kept)
        async with aclosing(self._subscribed(seen)) as news:
            async for record in news:
                if record.cursor <= seen or not self._mine(record):
                    continue
                for batch in self.now(record.cursor - 1):
                    seen = batch[-1].cursor
                    yield batch

    async def _subscribed(self, position: int) -> AsyncGenerator[LogRecord, None]:
        try:
            async with aclosing(self._log.subscribe(self._topic, position, max_lag=MAX_LAG)) as records:
                async for record in records:
                    yield record
        except SubscriberLaggedError as lagged:
            if lagged.missed:
                self._kept = lagged.resume_from
            raise


def transcript(log: EventLog, session_id: str) -> Logged:
    """The events and messages of a session."""
    return Logged("transcript", log, transcript_topic(session_id), lambda _: True)


def lifecycle(log: EventLog, session_id: str) -> Logged:
    """What happened to its reminders."""
    return Logged(
        "lifecycle", log, LIFECYCLE_TOPIC, lambda record: record.payload.get("session_id") == session_id
    )


class Requests:
    """What its answered requests showed; called with each of them, from any thread.

    They count on from the last number that the hub knows when it is first asked. Before a hub is there for
    the first time, nothing is computed and nothing is kept.
    """

    def __init__(self, there: asyncio.Event) -> None:
        self._there = there
        self._asked = False
        self.name: Name = "requests"
        self.lost = 0
        self._waiting: deque[tuple[int, Payload, int]] = deque()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._count = self._sent = self._gone = self._base = 0

    def __call__(self, answered: Answered) -> None:
        """Take note of a request."""
        if not self._asked and not self._there.is_set():
            return
        payload, at_ms = rendered(answered), now_ms()
        with suppress(RuntimeError):  # the event loop has closed, and nobody is told any more
            self._loop.call_soon_threadsafe(self._take, payload, at_ms)

    def _take(self, payload: Payload, at_ms: int) -> None:
        self._count += 1
        self._waiting.append((self._count, payload, at_ms))
        if len(self._waiting) > REQUESTS:
            self._gone = self._waiting.popleft()[0]
            self.lost += 1
        self._news.set()

    def now(self, position: int) -> Iterator[list[TellRecord]]:
        """The batches there are; what has a number up to `position` was told."""
        self._asked = True
        if position > self._base + self._sent:
            self._base = position - self._gone
        while self._waiting and self._base + self._waiting[0][0] <= position:
            self._gone = self._waiting.popleft()[0]
        return batched(map(self._numbered, list(self._waiting)))

    def _numbered(self, one: tuple[int, Payload, int]) -> TellRecord:
        count, payload, at_ms = one
        self._sent = max(self._sent, count)
        return fitted(TellRecord(cursor=self._base + count, kind=RENDERED, at_ms=at_ms, payload=payload))

    async def after(self, position: int) -> AsyncGenerator[list[TellRecord], None]:
        """The batches there are, and those that come."""
        while True:
            self._news.clear()
            for batch in self.now(position):
                yield batch
                position = batch[-1].cursor
            for _ in self.now(position):
                break
            else:
                await self._news.wait()


def rendered(answered: Answered) -> Payload:
    """What an answered request showed, and where."""
    request = answered.request
    return {
        "turn": answered.turn,
        "route": request.route,
        "placement": request.placement,
        "message_count": len(history(request.body)[1]),
        "rendered": [
            {
                "reminder_id": one.reminder_id,
                "role": one.role,
                "path": one.path,
                "fragment": one.fragment[:FRAGMENT],
            }
            for one in places(answered.route, request)
        ],
    }


def batched(records: Iterator[TellRecord]) -> Iterator[list[TellRecord]]:
    """The same in batches that one request can carry."""
    batch: list[TellRecord] = []
    size = 0
    for record in records:
        added = size_of(record)
        if batch and (len(batch) == BATCH or size + added > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += added
    if batch:
        yield batch


def _told(record: LogRecord) -> TellRecord:
    return fitted(
        TellRecord(
            cursor=record.cursor, kind=record.kind, at_ms=record.occurred_at_ms, payload=record.payload
        )
    )
