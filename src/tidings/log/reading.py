"""The read path: pages by cursor over one reading connection, decoded many records at a time.

A page covers a bounded range of cursors whatever its kind filter, and ends early when its payloads
grow big, so that no read takes long. No statement stays open between pages: an abandoned iterator
holds nothing and never keeps the write-ahead log from being reset.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from tidings.errors import LogCorruptError
from tidings.log.chain import row_id
from tidings.log.failure import closed_error, log_error
from tidings.log.follow import Page, check_kept
from tidings.log.record import LogRecord, decode_payloads

PAGE = 128
PAGE_CHARACTERS = 1 << 20
_CHUNK = 64

_EXTENT = "SELECT id, base_cursor, cursor FROM topics WHERE name = ?"
_TOPICS = "SELECT name FROM topics WHERE cursor > 0 ORDER BY name"
_ROWS = "SELECT id, at_ms, kind, payload FROM records WHERE id > ? AND id <= ? ORDER BY id"
_ROWS_OF_KIND = (
    "SELECT id, at_ms, kind, payload FROM records "
    "WHERE id > ? AND id <= ? AND substr(kind, 1, ?) = ? ORDER BY id"
)

Found = tuple[int, int, str, str]


class Reader:
    """The log's one reading connection; threads take turns page by page."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = Lock()
        self._closed = False

    def head(self, topic: str) -> int:
        """Return the topic's last cursor, 0 when it has none."""
        with self._lock:
            return self._extent(topic)[2]

    def topics(self) -> tuple[str, ...]:
        """Return the names of topics with records, sorted."""
        with self._lock:
            return tuple(name for (name,) in self._fetch(_TOPICS, ()))

    def data_version(self) -> int:
        """Return a number that changes whenever another connection committed."""
        with self._lock:
            return int(self._fetch("PRAGMA data_version", ())[0][0])

    def page(self, topic: str, position: int, kind_prefix: str, size: int = PAGE) -> Page:
        """Read up to `size` records after `position`.

        Raises:
            SubscriberLaggedError: records after `position` are no longer kept.
            LogCorruptError: a stored payload is not JSON.
        """
        with self._lock:
            topic_id, base, head = self._extent(topic)
            check_kept(topic, position, base, head)
            end = max(position, min(position + size, head))
            rows, complete = self._rows(topic_id, position, end, kind_prefix)
        records = self._records(topic, row_id(topic_id, 0), rows)
        return Page(records, end if complete else records[-1].cursor, head)

    def replay(
        self, topic: str, position: int, kind_prefix: str, most: int | None
    ) -> Iterator[LogRecord]:
        """Iterate over at most `most` of the records after `position` that exist now.

        Raises:
            SubscriberLaggedError: records after `position` are no longer kept.
        """
        with self._lock:
            _, base, head = self._extent(topic)
        check_kept(topic, position, base, head)
        records = self._replay(topic, position, kind_prefix, head)
        return records if most is None else islice(records, most)

    def _replay(self, topic: str, position: int, kind_prefix: str, end: int) -> Iterator[LogRecord]:
        while position < end:
            page = self.page(topic, position, kind_prefix, min(PAGE, end - position))
            yield from page.records
            position = page.position

    def close(self) -> None:
        """Close the connection after the read that may be under way."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _extent(self, topic: str) -> tuple[int, int, int]:
        found: list[tuple[int, int, int]] = self._fetch(_EXTENT, (topic,))
        return found[0] if found else (0, 0, 0)

    def _rows(
        self, topic_id: int, position: int, end: int, kind_prefix: str
    ) -> tuple[list[Found], bool]:
        """Fetch the rows of a range; False when it was cut short because they are big."""
        bounds = (row_id(topic_id, position), row_id(topic_id, end))
        if end <= position:
            return [], True
        if kind_prefix:
            return self._gather(_ROWS_OF_KIND, (*bounds, len(kind_prefix), kind_prefix))
        return self._gather(_ROWS, bounds)

    def _gather(self, query: str, values: tuple[object, ...]) -> tuple[list[Found], bool]:
        rows: list[Found] = []
        size = 0
        try:
            cursor = self._open_connection().execute(query, values)
            while chunk := cursor.fetchmany(_CHUNK):
                rows += chunk
                size += sum([len(row[3]) for row in chunk])
                if size > PAGE_CHARACTERS:
                    cursor.close()
                    return rows, False
        except sqlite3.Error as error:
            raise log_error(error, self._path) from error
        return rows, True

    def _fetch(self, query: str, values: tuple[object, ...]) -> list[Any]:
        try:
            return self._open_connection().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise log_error(error, self._path) from error

    def _open_connection(self) -> sqlite3.Connection:
        if self._closed:
            raise closed_error(self._path)
        return self._connection

    def _records(self, topic: str, base: int, rows: list[Found]) -> list[LogRecord]:
        try:
            payloads = decode_payloads([row[3] for row in rows])
        except (ValueError, TypeError) as error:
            raise self._damaged(topic, base, rows) from error
        return [
            LogRecord(at - base, topic, kind, payload, at_ms)
            for (at, at_ms, kind, _), payload in zip(rows, payloads, strict=True)
        ]

    def _damaged(self, topic: str, base: int, rows: list[Found]) -> LogCorruptError:
        """Find which of the rows does not decode by itself."""
        cursor = next((row[0] - base for row in rows if not _decodes(row[3])), rows[0][0] - base)
        return LogCorruptError(
            f"event log {self._path}: topic {topic!r} cursor {cursor} holds no JSON object; "
            "restore the file from a copy",
            topic=topic,
            cursor=cursor,
        )


def _decodes(text: str) -> bool:
    try:
        decode_payloads([text])
    except (ValueError, TypeError):
        return False
    return True
