"""What sessions tell of themselves: their records, kept beside the hub's own and read in pages.

Each session has a topic of its own in the hub's log, in which its streams lie in the order they came. A
record that was told before is skipped, by its number in its stream; another log behind the session (an
epoch) counts anew. Told records are observation, not promises: nobody waits for the disk. Before any are
purged, a snapshot says how far all streams are known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from tidings.core.records import topic_part
from tidings.core.reminder import Payload
from tidings.errors import CallerError, SubscriberLaggedError
from tidings.hub import shapes
from tidings.log import EventLog, LogRecord
from tidings.log.search import kept

PREFIX = "told."
SNAPSHOT = "told.snapshot"
"""Tells nothing new: it is listed to nobody."""
REMEMBERED = 8_192
"""Of how many topics it is remembered how far they are known; others are read again."""
EPOCHS = 16
"""How many logs behind one session are told apart."""
TELL_BYTES = 1024 * 1024
ANSWER_BYTES = 4 * 1024 * 1024
_PAGE = 256


def told_topic(session_id: str) -> str:
    """The topic of what a session told."""
    return PREFIX + topic_part(session_id)


class Known(msgspec.Struct):
    """How far the hub knows a session: the last number of each stream of each log behind it."""

    last: int = 0
    epoch: str = ""
    ends: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)

    def end(self, epoch: str, stream: str) -> int:
        """The last number of a stream."""
        return self.ends.get(epoch, {}).get(stream, 0)

    def take(self, cursor: int, epoch: str, stream: str, seq: int) -> None:
        """Take note of a record."""
        self.last, self.epoch = cursor, epoch
        self.ends[epoch] = {**self.ends.pop(epoch, {}), stream: seq}
        while len(self.ends) > EPOCHS:
            del self.ends[next(iter(self.ends))]

    def stored(self, at_ms: int) -> Payload:
        """All of it, as a record of the session's lifecycle that tells nothing new."""
        seq = self.end(self.epoch, "lifecycle")
        row: Payload = {"stream": "lifecycle", "seq": seq, "at_ms": at_ms, "payload": {}}
        return {**row, "epoch": self.epoch, "ends": self.ends}


class Told:
    """The told records of all sessions. Calls belong in one event loop."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._known: dict[str, Known] = {}
        self._opening = asyncio.Lock()

    async def tell(self, asked: shapes.Tell) -> shapes.TellAnswer:
        """Keep what is new of what a session tells.

        Raises:
            CallerError: too much at once, or a kind or payload that no log can hold; nothing was kept.
        """
        _check_size(asked.records)
        known = await self._opened(told_topic(asked.session_id))
        self._take(asked, known)
        return shapes.TellAnswer(session_id=asked.session_id, told=known.end(asked.epoch, asked.stream))

    def tell_more(self, asked: shapes.Tell) -> bool:
        """Keep it at once, for a session that told something before; False when nothing is known of it."""
        known = self._known.get(told_topic(asked.session_id))
        if known is not None:
            self._take(asked, known)
        return known is not None

    def _take(self, asked: shapes.Tell, known: Known) -> None:
        new = list(_rising(asked.records, known.end(asked.epoch, asked.stream)))
        if new:
            self._append(asked, new, known)

    def _append(self, asked: shapes.Tell, new: Sequence[shapes.TellRecord], known: Known) -> None:
        topic, drafts = told_topic(asked.session_id), []
        for place, each in enumerate(new):
            payload = _stored(asked.stream, each)
            if place == 0 and asked.epoch != known.epoch:
                payload["epoch"] = asked.epoch
            drafts.append((topic, each.kind, payload))
        written = self._log.append_batch(drafts)
        known.take(written[-1].cursor, asked.epoch, asked.stream, new[-1].cursor)

    async def snapshot(self, topic: str, at_ms: int) -> None:
        """Write down how far the streams of a topic are known: what lies before may be purged."""
        known = await self._opened(topic)
        known.last = self._log.append(topic, SNAPSHOT, known.stored(at_ms)).cursor

    async def _opened(self, topic: str) -> Known:
        """What is known, read from the log when it is first asked for, beside the event loop."""
        async with self._opening:
            if topic not in self._known:
                self._known[topic] = await asyncio.to_thread(self._scan, topic)
                if len(self._known) > REMEMBERED:
                    del self._known[next(iter(self._known))]
            return self._known[topic]

    def _scan(self, topic: str) -> Known:
        known, epoch = Known(), ""
        for record in kept(self._log, topic):
            row = told_row(record)
            epoch = epoch if row.epoch is None else row.epoch
            if record.kind == SNAPSHOT and "ends" in record.payload:
                known = msgspec.convert(record.payload, Known)
            known.take(record.cursor, epoch, row.stream, row.seq)
        return known

    def forget(self, topic: str) -> None:
        """Drop what is remembered of a session that left; its records stay."""
        self._known.pop(topic, None)

    def count(self, session_id: str) -> int:
        """How much a session told so far."""
        topic = told_topic(session_id)
        known = self._known.get(topic)
        return self._log.latest(topic) if known is None else known.last

    def read(self, asked: shapes.Told) -> shapes.ToldAnswer:
        """What a session told, a page of it."""
        topic = told_topic(asked.session_id)
        forward = asked.before is None
        found = self._records(topic, asked.after) if forward else self._backward(topic, asked)
        rows = _bounded(found, asked.limit)
        return shapes.ToldAnswer(records=rows if forward else rows[::-1], latest=self._log.latest(topic))

    def _records(self, topic: str, after: int) -> Iterator[LogRecord]:
        """The records behind a cursor; those that are kept, when older ones were purged."""
        try:
            return self._log.read(topic, after)
        except SubscriberLaggedError as lagged:
            return self._log.read(topic, lagged.resume_from)

    def _backward(self, topic: str, asked: shapes.Told) -> Iterator[LogRecord]:
        """The records before a cursor and behind another, the last first."""
        end = min(asked.before or 1, self._log.latest(topic) + 1)
        while end > asked.after + 1:
            start = max(asked.after, end - 1 - _PAGE)
            page = [one for one in self._page(topic, start) if one.cursor < end]
            yield from reversed(page)
            if not page or page[0].cursor > start + 1:
                return
            end = page[0].cursor

    def _page(self, topic: str, start: int) -> list[LogRecord]:
        try:
            return list(self._log.read(topic, start, limit=_PAGE))
        except SubscriberLaggedError as lagged:
            return list(self._log.read(topic, lagged.resume_from, limit=_PAGE))


def told_row(record: LogRecord) -> shapes.ToldRow:
    """A record of such a topic, as it is listed."""
    stored: Payload = {**record.payload, "cursor": record.cursor, "kind": record.kind}
    stored["atMs"] = stored.pop("at_ms")
    return msgspec.convert(stored, shapes.ToldRow)


def _check_size(records: Sequence[shapes.TellRecord]) -> None:
    size = sum(len(msgspec.json.encode(record.payload)) for record in records)
    if size > TELL_BYTES:
        raise CallerError(f"`records` has {size} bytes of payload; tell at most {TELL_BYTES} at once")


def _stored(stream: str, record: shapes.TellRecord) -> Payload:
    return {"stream": stream, "seq": record.cursor, "at_ms": record.at_ms, "payload": record.payload}


def _rising(records: Sequence[shapes.TellRecord], end: int) -> Iterator[shapes.TellRecord]:
    for record in records:
        if record.cursor > end:
            end = record.cursor
            yield record


def _bounded(records: Iterator[LogRecord], limit: int) -> list[shapes.ToldRow]:
    """The first so many, fewer when they would make too long an answer; at least one."""
    rows: list[shapes.ToldRow] = []
    size = 0
    for record in records:
        if record.kind == SNAPSHOT:
            continue
        size += len(msgspec.json.encode(record.payload))
        if len(rows) == limit or (rows and size > ANSWER_BYTES):
            break
        rows.append(told_row(record))
    return rows
