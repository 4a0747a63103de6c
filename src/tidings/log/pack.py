"""Records in rows: those of a topic that are committed together share rows, and are told apart again.

A row holds the kinds of its records, separated by spaces, and their payloads, a line each; neither
separator can stand inside. A kind that is left blank is the one before it. A text of payloads
that begins with a comma says first what all of them end with. The row's id is that of its last
record, and its time is everyone's. One record alone is a row of one, so files of schema 1 read the
same. Pure; `writer` gives packets their place, `reading` and `verify` unpack rows; who writes lines and
series asks `appender`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, groupby, repeat
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tidings.log.entry import (
    ENCODING_ERRORS,
    Columns,
    Draft,
    Lines,
    Series,
    Written,
    are_names,
    check_series,
    check_topic,
    columns_of,
    encode_plain,
)

if TYPE_CHECKING:
    from tidings.log.port import EventLog

MOST_RECORDS = 256
MOST_CHARACTERS = 16 * 1024
"""A row with several payloads holds no more than this: who reads one record reads its row."""

WHOLE = """CASE WHEN substr(payload, 1, 1) = ',' THEN
    replace(substr(payload, instr(payload, char(10)) + 1), char(10),
            substr(payload, 1, instr(payload, char(10))))
    || substr(payload, 1, instr(payload, char(10)) - 1)
    ELSE payload END"""
"""The payloads of a row, each whole and on a line of its own, in SQL."""

_encoder = msgspec.json.Encoder()
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines


Packet: TypeAlias = tuple[int, int, str, str]
"""A row on its way in, without its place: how many records, when, their kinds and their payloads."""
Packets: TypeAlias = dict[str, list[Packet]]
"""What is written together, by topic and in order."""


def packets(batch: Columns) -> Packets:
    """What `batch` is written as."""
    topics = batch.topics
    if topics.count(topics[0]) == len(topics):
        return {topics[0]: _by_time(batch.kinds, batch.payloads, batch.times)}
    made: Packets = {}
    for topic in dict.fromkeys(topics):
        mine = [name == topic for name in topics]
        kinds, payloads = [*compress(batch.kinds, mine)], [*compress(batch.payloads, mine)]
        made[topic] = _by_time(kinds, payloads, [*compress(batch.times, mine)])
    return made


def packets_of(written: Written, now: int) -> Packets:
    """What lines and series are written as.

    Raises:
        LogUsageError: a bad topic, or a bad line or series.
    """
    made: Packets = {}
    runs: dict[str, Lines] = {}
    for each in written:
        if isinstance(each, Series):
            before = runs.pop(each.topic, None)
            rows = [] if before is None else _lines(before, now)
            made[each.topic] = made.get(each.topic, []) + rows + _series(each, now)
        else:
            run = runs.get(each[0])
            runs[each[0]] = each if run is None else (each[0], run[1] + each[1], run[2] + each[2])
    for topic, run in runs.items():
        made[topic] = made.get(topic, []) + _lines(run, now)
    return made


def _lines(lines: Lines, now: int) -> list[Packet]:
    """A row of lines that are short and plain, as most are; others are looked at one by one."""
    topic, kinds, payloads = lines
    check_topic(topic)
    text = encode_plain(payloads, MOST_CHARACTERS)
    said = _said(tuple(kinds)) if text is not None and len(kinds) <= MOST_RECORDS else None
    if text is None or said is None:
        return packets(columns_of(drafts_of([lines]), now))[topic]
    return [(len(kinds), now, said, text)]


@lru_cache(maxsize=1024)
def _said(kinds: tuple[str, ...]) -> str | None:
    """The kinds as they are written, None when one is no name; remembered, because the same come often."""
    return _written(kinds) if are_names({*kinds}) else None


def count(kinds: str) -> int:
    """How many records a row with these kinds holds."""
    return kinds.count(" ") + 1


def unpacked(
    ends: Sequence[int], times: Sequence[int], rows: Sequence[str]
) -> tuple[list[int], list[int], list[str]]:
    """Cursor, time and kind of each record, from those of the rows."""
    cursors: list[int] = []
    each_time: list[int] = []
    kinds: list[str] = []
    for end, time, row in zip(ends, times, rows, strict=True):
        found = _read(row)
        cursors += range(end - len(found) + 1, end + 1)
        each_time += [time] * len(found)
        kinds += found
    return cursors, each_time, kinds


def _read(row: str) -> list[str]:
    kinds = row.split(" ")
    for at, kind in enumerate(kinds):
        if not kind:
            kinds[at] = kinds[at - 1]
    return kinds


def _by_time(kinds: Sequence[str], payloads: Sequence[str], times: Sequence[int]) -> list[Packet]:
    if times.count(times[0]) == len(times):
        return _rows(kinds, payloads, times[0])
    made: list[Packet] = []
    start = 0
    for time, run in groupby(times):
        end = start + len([*run])
        made += _rows(kinds[start:end], payloads[start:end], time)
        start = end
    return made


def _rows(kinds: Sequence[str], payloads: Sequence[str], at_ms: int) -> list[Packet]:
    if len(kinds) == 1:
        return [(1, at_ms, kinds[0], payloads[0])]
    lines = "\n".join(payloads)
    if len(lines) <= MOST_CHARACTERS and len(kinds) <= MOST_RECORDS:
        return [(len(kinds), at_ms, _written(kinds), lines)]
    return [
        (end - at, at_ms, _written(kinds[at:end]), "\n".join(payloads[at:end]))
        for at, end in _parts(payloads)
    ]


def _written(kinds: Sequence[str]) -> str:
    """All kinds; if they are the same, it is said once."""
    first = kinds[0]
    return first + " " * (len(kinds) - 1) if kinds.count(first) == len(kinds) else " ".join(kinds)


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where rows begin and end that do not grow too long."""
    start, size = 0, -1
    for at, line in enumerate(lines):
        size += len(line) + 1
        if at > start and (size > MOST_CHARACTERS or at - start == MOST_RECORDS):
            yield start, at
            start, size = at, len(line)
    if start < len(lines):
        yield start, len(lines)


def _series(series: Series, now: int) -> list[Packet]:
    """The rows of a series: what is the same in all of it is written once."""
    ending = f",{check_series(series)[1:]}"
    try:
        rows = _beginnings(series.field, series.values)
    except ENCODING_ERRORS:
        return packets(columns_of(drafts_of([series]), now))[series.topic]
    return [
        (number, now, series.kind + " " * (number - 1), f"{ending}\n{beginnings}")
        for number, beginnings in rows
    ]


@lru_cache(maxsize=256)
def _beginnings(field: str, values: tuple[str, ...]) -> list[tuple[int, str]]:
    """The part of each payload that differs, a line each, and their number, row by row.

    Remembered, because the same reminders are told of turn after turn.
    """
    name = f"{{{_encode(field).decode()}:"
    text = name + _encode_lines(values).decode()[:-1].replace("\n", f"\n{name}")
    if len(text) <= MOST_CHARACTERS and len(values) <= MOST_RECORDS:
        return [(len(values), text)]
    lines = text.split("\n")
    return [(end - at, "\n".join(lines[at:end])) for at, end in _parts(lines)]


def drafts_of(written: Written) -> list[Draft]:
    """The drafts that `written` stands for, for logs that take nothing else."""
    found: list[Draft] = []
    for each in written:
        if isinstance(each, Series):
            found += [(each.topic, each.kind, {each.field: value, **each.rest}) for value in each.values]
        else:
            found += zip(repeat(each[0]), each[1], each[2])
    return found


def appender(log: EventLog) -> Callable[[Written], object]:
    """What writes lines and series to `log`, in one commit: its short way, if it has one."""

    def append_drafts(written: Written) -> object:
        return log.append_batch(drafts_of(written))

    return getattr(log, "append_series", append_drafts)
