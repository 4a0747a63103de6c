"""The hash chain: each commit adds one link per topic, over its rows and the link before it.

A link is SHA-256 over the MessagePack of (previous link, topic, rows), in which everything carries
its length, so two different batches never give the same bytes. The link sits on the batch's last
row and in the topic's head. It shows changes made behind the log's back; whoever can
rewrite the whole file can also compute a new chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

Row = tuple[int, int, str, str, bytes | None]
"""As stored: id, milliseconds, kind, payload text, and the link on a batch's last row."""

ORIGIN = bytes(32)
SPAN = 1 << 40
TABLES = ("first_records", "records")
"""Where rows are: those of topic 1, and those of all others."""

_encode = msgspec.msgpack.Encoder().encode


def row_id(topic_id: int, cursor: int) -> int:
    """Pack topic and cursor into the one integer that the records are clustered by."""
    return topic_id * SPAN + cursor


def table_of(topic_id: int) -> str:
    """The table that a topic's rows are in."""
    return TABLES[topic_id != 1]


def link(previous: bytes, topic: str, rows: Sequence[Row]) -> bytes:
    """Compute the link that follows `previous` for rows that do not carry it yet."""
    return sha256(_encode((previous, topic, rows))).digest()
