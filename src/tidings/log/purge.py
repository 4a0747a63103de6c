"""Purging a topic of the SQLite log: its oldest commits go, in one transaction, and a checkpoint stays.

A commit is purged whole or not at all, because the chain has one link for each; so a cut lies at the last
link up to the cursor asked for. What goes is verified first: a purge never covers up a break. Freed pages
are given back to the disk afterwards, a few at a time. Called by `SqliteLog.purge`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tidings.errors import LogCorruptError
from tidings.log.chain import SPAN, row_id, table_of
from tidings.log.checkpoint import entries_for, told
from tidings.log.entry import Columns
from tidings.log.failure import log_error
from tidings.log.pack import WHOLE, packets
from tidings.log.record import CHECKPOINTS, Checkpoint, LogRecord, mark_of
from tidings.log.verify import Topic, check_chain, checkpoints_in, find_topic
from tidings.log.writer import create_topic, insert_rows, stack

RESERVE_PAGES = 256
"""How many free pages a file keeps, 1 MiB: what is purged bit by bit makes room for what is written."""

_CUT = """
    SELECT id, link FROM {} WHERE id > ? AND id <= ? AND link IS NOT NULL ORDER BY id DESC LIMIT 1"""
_FIRST = f"SELECT kind, {WHOLE}, at_ms FROM {{}} WHERE id > ? ORDER BY id LIMIT 1"
_DELETE = "DELETE FROM {} WHERE id > ? AND id <= ?"
_REBASE = "UPDATE chains SET base_cursor = ?, base_link = ? WHERE id = ?"
_ADVANCE = "UPDATE chains SET cursor = ?, link = ? WHERE id = ?"


class Cut(msgspec.Struct, frozen=True):
    """Where a topic that begins after `base` can be cut: after `cursor`, whose link is `link`.

    Before it lie `rows` of the file; `first` is the mark of the topic's first record.
    """

    topic: str
    base: int
    cursor: int
    link: bytes
    rows: int
    first: str

    def checkpoint(self, now: int) -> Checkpoint:
        """What is written about it."""
        return Checkpoint(
            topic=self.topic,
            purged_through=self.cursor,
            link=self.link.hex(),
            count=self.cursor - self.base,
            at_ms=now,
            first=self.first,
        )


def find_cut(connection: sqlite3.Connection, topic: str, through: int, path: Path) -> Cut | None:
    """The furthest cut up to `through`, with everything before it verified; None if there is none.

    Raises:
        LogCorruptError: what would go does not verify.
    """
    try:
        connection.execute("BEGIN")
        found = find_topic(connection, topic)
        if found is None:
            return None
        bounds = (row_id(found.id, found.base_cursor), row_id(found.id, min(through, found.cursor)))
        last = connection.execute(_CUT.format(table_of(found.id)), bounds).fetchone()
        if last is None:
            return None
        cursor = last[0] % SPAN
        rows = check_chain(connection, found, path, until=cursor).rows
        return Cut(topic, found.base_cursor, cursor, last[1], rows, _first(connection, found))
    except sqlite3.Error as error:
        raise log_error(error, path) from error


def cut_off(connection: sqlite3.Connection, cut: Cut, purged: Checkpoint, whole: bool) -> bool:
    """Delete what lies before the cut and write its checkpoint, inside the caller's transaction.

    False, and nothing done, when the topic is not as it was: purged by somebody else, or grown although
    the `whole` of it was to go.
    """
    found = find_topic(connection, cut.topic)
    if found is None or found.base_cursor != cut.base or (whole and found.cursor != cut.cursor):
        return False
    known = checkpoints_in(connection) if cut.topic == CHECKPOINTS else {}
    bounds = (row_id(found.id, cut.base), row_id(found.id, cut.cursor))
    if connection.execute(_DELETE.format(table_of(found.id)), bounds).rowcount != cut.rows:
        raise LogCorruptError(f"topic {cut.topic!r} lacks records before {cut.cursor}", topic=cut.topic)
    connection.execute(_REBASE, (cut.cursor, cut.link, found.id))
    _write(connection, told(purged, known), purged.at_ms)
    return True


def give_back(connection: sqlite3.Connection, pages: int) -> int:
    """Return at most `pages` free pages to the disk; gives how many more there are to return.

    A few stay for what is written next. A file that was made without this ability keeps all: 0.
    """
    if not connection.execute("PRAGMA auto_vacuum").fetchone()[0]:
        return 0
    free = int(connection.execute("PRAGMA freelist_count").fetchone()[0]) - RESERVE_PAGES
    for _ in range(min(pages, free)):  # each call moves one page, whatever number it is given
        connection.execute("PRAGMA incremental_vacuum(1)")
    return max(0, free - pages)


def _first(connection: sqlite3.Connection, topic: Topic) -> str:
    """The mark of the topic's first record, which is gone if it was purged before."""
    if topic.base_cursor:
        return checkpoints_in(connection)[topic.name].first
    first = connection.execute(_FIRST.format(table_of(topic.id)), (row_id(topic.id, 0),))
    kinds, payloads, at_ms = first.fetchone()
    kind, payload = kinds.partition(" ")[0], payloads.partition("\n")[0]
    return mark_of(LogRecord(1, topic.name, kind, payload, at_ms))


def _write(connection: sqlite3.Connection, checkpoints: Sequence[Checkpoint], now: int) -> None:
    found = find_topic(connection, CHECKPOINTS)
    if found is None:
        head = create_topic(connection, CHECKPOINTS)
    else:
        head = (found.id, found.cursor, found.link)
    laid = stack(packets(Columns.of(entries_for(checkpoints, now))), {CHECKPOINTS: head})
    topic_id, cursor, link = laid.heads[CHECKPOINTS]
    insert_rows(connection.cursor(), laid)
    connection.execute(_ADVANCE, (cursor, link, topic_id))
