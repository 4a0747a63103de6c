"""A channel: what many readers of one topic share, so that a record is read and encoded once for all.

One task follows the log and keeps the last `KEPT` records as bytes. A reader has a position: what lies
behind the ring it reads from the log in pages, what is in the ring it takes as it is, all that has come
in one piece. Nothing is queued for anybody, so a slow reader costs only its position. The task runs
while somebody reads. `feed.py` sends what comes out of here; this knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from itertools import islice
from typing import TypeAlias

import msgspec

from tidings.log import EventLog, LogRecord

KEPT = 4_096
PAGE = 256
CHUNK_BYTES = 64 * 1024
_NEVER = 1 << 50

Encode: TypeAlias = Callable[[LogRecord], bytes]


class Chunk(msgspec.Struct, frozen=True):
    """What a reader gets at once, and the cursor that it has then."""

    position: int
    body: bytes


class _Kept(msgspec.Struct, frozen=True):
    """A record in the ring."""

    cursor: int
    kind: str
    body: bytes


class Channel:
    """The live end of one topic."""

    def __init__(self, log: EventLog, topic: str, encode: Encode) -> None:
        self._log = log
        self._topic = topic
        self._encode = encode
        self._ring: deque[_Kept] = deque(maxlen=KEPT)
        self._head = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._shared = ((0, 0, ""), Chunk(0, b""))
        self._pump: asyncio.Task[None] | None = None
        self.readers = 0

    def first(self) -> int:
        """Where a reader begins that has nothing: behind what was purged."""
        return self._log.purged_through(self._topic)

    async def read(self, position: int, kind_prefix: str = "") -> AsyncGenerator[Chunk, None]:
        """Everything after `position` whose kind begins so, then what comes; ends when the log closes.

        Raises:
            SubscriberLaggedError: records after `position` are no longer kept.
            LogUsageError: a bad cursor.
        """
        with self._open() as pump:
            while True:
                while position < self._head:
                    chunk = self._next(position, kind_prefix)
                    position = chunk.position
                    if chunk.body:
                        yield chunk
                if pump.done():
                    pump.result()
                    return
                news = pump.get_loop().create_future()
                self._waiting.add(news)
                try:
                    await news
                finally:
                    self._waiting.discard(news)

    @contextmanager
    def _open(self) -> Iterator[asyncio.Task[None]]:
        if self._pump is None:
            self._head = self._log.latest(self._topic)
            records = self._log.subscribe(self._topic, self._head, max_lag=_NEVER)
            self._pump = asyncio.create_task(self._follow(records))
        pump = self._pump
        self.readers += 1
        try:
            yield pump
        finally:
            self.readers -= 1
            if not self.readers:
                pump.cancel()
                self._pump = None
                self._ring.clear()

    async def _follow(self, records: AsyncGenerator[LogRecord, None]) -> None:
        try:
            async with aclosing(records):
                async for record in records:
                    self._ring.append(_Kept(record.cursor, record.kind, self._encode(record)))
                    self._head = record.cursor
                    self._ring_bell()
        finally:
            self._ring_bell()

    def _ring_bell(self) -> None:
        for news in self._waiting:
            if not news.done():
                news.set_result(None)

    def _next(self, position: int, kind_prefix: str) -> Chunk:
        """The piece after `position`, which is not the end. Readers who keep up share it."""
        missing = self._head - position
        if missing > len(self._ring):
            return self._from_log(position, kind_prefix)
        asked = (position, self._head, kind_prefix)
        if self._shared[0] != asked:
            self._shared = (asked, self._from_ring(missing, kind_prefix))
        return self._shared[1]

    def _from_log(self, position: int, kind_prefix: str) -> Chunk:
        page = list(self._log.read(self._topic, position, limit=min(PAGE, self._head - position)))
        fitting = (each for each in page if each.kind.startswith(kind_prefix))
        return Chunk(page[-1].cursor, b"".join(map(self._encode, fitting)))

    def _from_ring(self, missing: int, kind_prefix: str) -> Chunk:
        parts: list[bytes] = []
        size = position = 0
        for each in [*islice(reversed(self._ring), missing)][::-1]:
            position = each.cursor
            if each.kind.startswith(kind_prefix):
                parts.append(each.body)
                size += len(each.body)
            if size >= CHUNK_BYTES:
                break
        return Chunk(position, b"".join(parts))
