"""Finding a place in a topic of any log: the last of a kind, the cursor at a time, its first, what is kept.

Written against the port alone, so that it holds for every implementation. Whoever folds a topic reads it
with `kept`; retention and `tidings purge` ask where to cut with `cursor_before`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidings.errors import SubscriberLaggedError
from tidings.log.port import EventLog
from tidings.log.record import CHECKPOINTS, LogRecord, mark_of

_FIRST_LOOK = 256


def first_mark(log: EventLog, topic: str) -> str | None:
    """The mark of a topic's very first record, also after it was purged; None while there is none.

    Of a log that drops records without a checkpoint it is that of the first record that is kept.
    """
    for record in reversed([*kept(log, CHECKPOINTS)]):
        if record.payload["topic"] == topic:
            return str(record.payload["first"])
    first = next(kept(log, topic), None)
    return None if first is None else mark_of(first)


def kept(log: EventLog, topic: str) -> Iterator[LogRecord]:
    """Iterate over all that is kept, for those who fold it.

    What is purged meanwhile is passed over: that lies before a snapshot, which is still to come.
    """
    position = log.purged_through(topic)
    while True:
        try:
            for record in log.read(topic, position):
                position = record.cursor
                yield record
            return
        except SubscriberLaggedError as gone:
            position = gone.resume_from


def last(log: EventLog, topic: str, kind: str) -> LogRecord | None:
    """The last record of exactly this kind, looked for from the end, or None."""
    end, base = log.latest(topic), log.purged_through(topic)
    start, span = end, _FIRST_LOOK
    while start > base:
        start, span = max(base, start - span), span * 2
        found = [one for one in _after(log, topic, start, kind) if one.kind == kind]
        if found:
            return found[-1]
    return None


def cursor_before(log: EventLog, topic: str, at_ms: int, end: int | None = None) -> int:
    """The last cursor, up to `end`, whose record is older than `at_ms`; what was purged is.

    Clocks are set back now and then: of records that stand out of order some may be younger.
    """
    low, high = log.purged_through(topic), log.latest(topic)
    high = high if end is None else min(end, high)
    while low < high:
        middle = (low + high + 1) // 2
        if _time_at(log, topic, middle) < at_ms:
            low = middle
        else:
            high = middle - 1
    return low


def _after(log: EventLog, topic: str, start: int, kind_prefix: str) -> Iterator[LogRecord]:
    """The kept records after `start` whose kind begins so."""
    try:
        yield from log.read(topic, start, kind_prefix)
    except SubscriberLaggedError as gone:
        yield from _after(log, topic, gone.resume_from, kind_prefix)


def _time_at(log: EventLog, topic: str, cursor: int) -> int:
    """When the record at `cursor` was written; what was purged meanwhile is as old as can be."""
    try:
        return next(log.read(topic, cursor - 1, limit=1)).occurred_at_ms
    except SubscriberLaggedError:
        return 0
