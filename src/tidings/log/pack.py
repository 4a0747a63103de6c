"""Records in rows: those of a topic that are committed together share rows, and are told apart again.

A row holds the kinds of its records, separated by spaces, and their payloads, a line each; neither
separator can stand inside. A kind that repeats the one before it is left blank. The row's id is that
of its last record, and its time is everyone's. One record alone is a row of one, so files of schema 1
read the same. Pure; `writer` packs, `reading` and `verify` unpack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidings.log.chain import Row
from tidings.log.entry import Entry

MOST_RECORDS = 256
MOST_CHARACTERS = 16 * 1024
"""A row with several payloads holds no more than this: who reads one record reads its row."""


def packed(entries: Sequence[Entry], first: int) -> list[Row]:
    """The rows of `entries`, of which the first has the id `first`."""
    if len(entries) == 1:
        (entry,) = entries
        return [(first, entry.occurred_at_ms, entry.kind, entry.payload, None)]
    rows: list[Row] = []
    for together in _fitting(entries):
        first += len(together)
        kinds = _written([entry.kind for entry in together])
        payloads = "\n".join([entry.payload for entry in together])
        rows.append((first - 1, together[0].occurred_at_ms, kinds, payloads, None))
    return rows


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


def _written(kinds: list[str]) -> str:
    later = ["" if kind == before else kind for before, kind in pairwise(kinds)]
    return " ".join([kinds[0], *later])


def _fitting(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Part `entries` where the time changes or a row would grow too long."""
    if len(entries) <= MOST_RECORDS and _is_short(entries) and _is_of_one_time(entries):
        yield entries
        return
    start, size = 0, 0
    for at, entry in enumerate(entries):
        size += len(entry.payload)
        fits = size <= MOST_CHARACTERS and at - start < MOST_RECORDS
        if at > start and not (fits and entry.occurred_at_ms == entries[start].occurred_at_ms):
            yield entries[start:at]
            start, size = at, len(entry.payload)
    yield entries[start:]


def _is_short(entries: Sequence[Entry]) -> bool:
    return sum([len(entry.payload) for entry in entries]) <= MOST_CHARACTERS


def _is_of_one_time(entries: Sequence[Entry]) -> bool:
    return len({entry.occurred_at_ms for entry in entries}) == 1
