"""The read path: pages by cursor over one reading connection.

A page covers a bounded range of cursors, whatever its kind filter, and then to the end of a row.
SQLite joins its columns into four texts and msgspec decodes each in one call: measured, that is a
quarter faster than a Python object per row and column. The same statement tells where the topic begins,
so that a purge in another process never leaves a hole in a page. No statement stays open between pages, so
an abandoned iterator holds nothing and never keeps the write-ahead log from being reset.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice, repeat
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from tidings.errors import LogCorruptError
from tidings.log.chain import SPAN, TABLES, row_id, table_of
from tidings.log.failure import closed_error, log_error
from tidings.log.follow import FIRST_PAGE, Page, check_kept, next_size
from tidings.log.pack import WHOLE, count, unpacked
from tidings.log.record import LogRecord, decode_payloads

_EXTENT = "SELECT id, base_cursor, cursor FROM chains WHERE name = ?"
_TOPICS = "SELECT name FROM chains WHERE cursor > base_cursor ORDER BY name"
_PAGES = "SELECT page_size, page_count FROM pragma_page_size, pragma_page_count"
_PAYLOADS = f"SELECT id - ?, kind, {WHOLE} FROM {{}} WHERE id > ? AND id <= ? ORDER BY id"
_NEXT = f"SELECT min(id) FROM {{0}} WHERE id >= :first + :end AND id < :first + {SPAN}"
_END = f"coalesce(({_NEXT}), :first + :end)"
_JOINED = f"""
    SELECT {_END} - :first, group_concat(id - :first), group_concat(at_ms), group_concat(kind, char(10)),
           group_concat(payloads, char(10)), (SELECT base_cursor FROM chains WHERE id = :first / {SPAN})
    FROM (SELECT id, at_ms, kind, {WHOLE} AS payloads FROM {{0}}
          WHERE id > :first + :position AND id <= {_END} {{1}} ORDER BY id)"""
_ROWS = {table: _JOINED.format(table, "") for table in TABLES}
_ROWS_OF_KIND = {table: _JOINED.format(table, "AND instr(' ' || kind, ' ' || :kind)") for table in TABLES}

_numbers = msgspec.json.Decoder(list[int]).decode

Joined = tuple[int, str, str, str, str, int | None]
"""Where a page ends; its rows' ends and times joined by commas, their kinds and payloads by lines; and
where the topic begins."""


class Reader:
    """The log's one reading connection; threads take turns page by page."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = Lock()
        self._closed = False

    def head(self, topic: str) -> int:
        """Return the topic's last cursor, 0 when it has none."""
        return self._extent(topic)[2]

    def base(self, topic: str) -> int:
        """Return the topic's last purged cursor, 0 when all are kept."""
        return self._extent(topic)[1]

    def size(self) -> int:
        """Return how many bytes of the file hold something."""
        (size, pages), (free,) = self._fetch(_PAGES)[0], self._fetch("PRAGMA freelist_count")[0]
        return int(size * (pages - free))

    def topics(self) -> tuple[str, ...]:
        """Return the names of topics with records, sorted."""
        return tuple(name for (name,) in self._fetch(_TOPICS))

    def data_version(self) -> int:
        """Return a number that changes whenever another connection committed."""
        return int(self._fetch("PRAGMA data_version")[0][0])

    def page(self, topic: str, position: int, kind_prefix: str, size: int) -> Page:
        """Read the records of the `size` cursors after `position`, and the rest of the last one's row.

        Raises:
            SubscriberLaggedError: records after `position` are no longer kept.
            LogCorruptError: a stored record cannot be decoded.
        """
        topic_id, base, head = self._extent(topic)
        check_kept(topic, position, base, head)
        end = max(position, min(position + size, head))
        bounds = (row_id(topic_id, 0), position, end)
        joined = self._joined(bounds, kind_prefix)
        if joined is None:
            return self.page(topic, position, kind_prefix, (end - position) // 2)
        check_kept(topic, position, joined[5] or 0, head)
        reached = joined[0]
        if not joined[1]:
            return Page([], reached, head, 0)
        try:
            records = _records(topic, joined, position, kind_prefix)
        except ValueError as error:
            raise self._damaged(topic, (bounds[0], position, reached)) from error
        return Page(records, reached, head, len(joined[4]))

    def replay(self, topic: str, position: int, kind_prefix: str, most: int | None) -> Iterator[LogRecord]:
        """Iterate over at most `most` of the records after `position` that exist now.

        Raises:
            SubscriberLaggedError: records after `position` are no longer kept.
        """
        _, base, head = self._extent(topic)
        check_kept(topic, position, base, head)
        records = self._replay(topic, position, kind_prefix, head)
        return records if most is None else islice(records, most)

    def close(self) -> None:
        """Close the connection after the read that may be under way."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _replay(self, topic: str, position: int, kind_prefix: str, end: int) -> Iterator[LogRecord]:
        size = FIRST_PAGE
        while position < end:
            page = self.page(topic, position, kind_prefix, min(size, end - position))
            yield from page.records
            position, size = page.position, next_size(size, page.characters)

    def _joined(self, bounds: tuple[int, int, int], kind_prefix: str) -> Joined | None:
        """Fetch a page's columns; None when they are too long for SQLite to join."""
        first, position, end = bounds
        query = (_ROWS_OF_KIND if kind_prefix else _ROWS)[table_of(first // SPAN)]
        values = {"first": first, "position": position, "end": end, "kind": kind_prefix}
        try:
            joined: Joined = self._fetch(query, values)[0]
        except sqlite3.DataError as error:
            if end - position > 1:
                return None
            raise log_error(error, self._path) from error
        return joined

    def _extent(self, topic: str) -> tuple[int, int, int]:
        found = self._fetch(_EXTENT, (topic,))
        return found[0] if found else (0, 0, 0)

    def _fetch(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[Any]:
        with self._lock:
            if self._closed:
                raise closed_error(self._path)
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.DataError:
                raise
            except sqlite3.Error as error:
                raise log_error(error, self._path) from error

    def _damaged(self, topic: str, bounds: tuple[int, int, int]) -> LogCorruptError:
        """Find which of a page's records cannot be decoded."""
        first, position, end = bounds
        query = _PAYLOADS.format(table_of(first // SPAN))
        rows = self._fetch(query, (first, first + position, first + end))
        cursor = next((at for row in rows for at in _undecodable(*row)), position + 1)
        return LogCorruptError(
            f"event log {self._path}: topic {topic!r} does not decode at cursor {cursor}; "
            "restore the file from a copy",
            topic=topic,
            cursor=cursor,
        )


def _records(topic: str, joined: Joined, position: int, kind_prefix: str) -> list[LogRecord]:
    """Take a page apart, and leave out what lies at or before `position` or is of another kind.

    Raises:
        ValueError: the columns do not belong together, or hold something else.
    """
    cursors, times = _numbers(f"[{joined[1]}]"), _numbers(f"[{joined[2]}]")
    kinds, payloads = joined[3].split("\n"), joined[4]
    if not len(cursors) == len(times) == len(kinds):
        raise ValueError("a kind with a line end in it")
    if " " in joined[3]:
        cursors, times, kinds = unpacked(cursors, times, kinds)
        if kind_prefix or cursors[0] <= position:
            lines = payloads.split("\n")
            found = zip(cursors, kinds, lines, strict=True)
            chosen = [at > position and kind.startswith(kind_prefix) for at, kind, _ in found]
            cursors, times = list(compress(cursors, chosen)), list(compress(times, chosen))
            kinds, payloads = list(compress(kinds, chosen)), "\n".join(compress(lines, chosen))
    return list(map(LogRecord, cursors, repeat(topic), kinds, decode_payloads(payloads, len(kinds)), times))


def _undecodable(end: int, kinds: str, payloads: str) -> list[int]:
    """The cursors of a row's records whose payload cannot be decoded; its first if some are missing."""
    first, lines = end - count(kinds) + 1, payloads.split("\n")
    if len(lines) != count(kinds):
        return [first]
    return [at for at, text in enumerate(lines, first) if not _decodes(text)]


def _decodes(text: str) -> bool:
    try:
        decode_payloads(text, 1)
    except (ValueError, TypeError):
        return False
    return True
