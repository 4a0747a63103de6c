"""Memories read from the raw bytes of a file that SQLite itself no longer reads: page by page, row by row.

Every leaf page of a table is looked at by itself, so that damage elsewhere costs nothing; a row counts
only if each of its fields is what it should be and its text has the hash that stands beside it. What was
forgotten is not found again: its bytes were overwritten. Which memory replaced which is not in these
pages. Pure; called by `health.py`. Format: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from tidings.memory.entry import KEPT, Memory, build_memory, digest
from tidings.memory.failure import MemoryInputError

PAGE = 4096
"""The size of a page, where the head of the file cannot say: SQLite's own default, and ours."""

Value: TypeAlias = int | str | bytes | None
_LEAF = 0x0D
_ROW = ("id", "scope", "text", "created", "kind", "role", "conversation", "key", "valid_from", "valid_to",
        "source", "tags", "pinned", "surfaced", "last_surfaced")  # fmt: skip
_COLUMNS = 20
"""Of a memory's row: its number, which is stored elsewhere, those above, and four that follow from them."""
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def rescued(data: bytes) -> list[Memory]:
    """The memories of a file's bytes, in the order of their pages."""
    size = _page_size(data)
    rows = [row for page in range(0, len(data) - size + 1, size) for row in _rows(data, page, size)]
    names = {number: str(row[1]) for number, row in rows if _is_scope(row)}
    found = (_memory(row, names) for _, row in rows if len(row) == _COLUMNS and row[0] is None)
    return list({memory.id: memory for memory in found if memory is not None}.values())


def _page_size(data: bytes) -> int:
    size = int.from_bytes(data[16:18], "big") if data.startswith(b"SQLite format 3\0") else PAGE
    size = 65_536 if size == 1 else size
    return size if 512 <= size <= 65_536 and not size & (size - 1) else PAGE


def _is_scope(row: list[Value]) -> bool:
    return len(row) == 4 and row[0] is None and isinstance(row[1], str) and isinstance(row[2], int)


def _memory(row: list[Value], names: dict[int, str]) -> Memory | None:
    """The memory of a row; None when it is not whole. A project whose name is lost stays by itself."""
    told = dict(zip(_ROW, row[1:], strict=False))
    scope, text = told.pop("scope"), told["text"]
    if not isinstance(scope, int) or not isinstance(text, str) or digest(text) != row[len(_ROW) + 1]:
        return None
    given: dict[str, object] = {**told, "project": names.get(scope, f"lost project {scope}")}
    given |= {"pinned": told["pinned"] == 1, "surfaced": told["surfaced"] or 0}
    try:
        given["tags"] = msgspec.json.decode(str(told["tags"]))
        return build_memory(given, id="", now=0, fields=KEPT)
    except (MemoryInputError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _rows(data: bytes, page: int, size: int) -> Iterator[tuple[int, list[Value]]]:
    """The rows of a page with their numbers; nothing of a page that is no leaf of a table."""
    head = page + (100 if page == 0 else 0)
    if data[head] != _LEAF:
        return
    count = int.from_bytes(data[head + 3 : head + 5], "big")
    for place in range(head + 8, min(head + 8 + 2 * count, page + size - 1), 2):
        at = int.from_bytes(data[place : place + 2], "big")
        try:
            yield _row(data, page + at, size)
        except (IndexError, ValueError, UnicodeDecodeError):
            continue  # this row is damaged, the next may not be


def _row(data: bytes, at: int, size: int) -> tuple[int, list[Value]]:
    length, at = _varint(data, at)
    number, at = _varint(data, at)
    if length > len(data):
        raise ValueError(length)
    return number, _fields(_payload(data, at, length, size))


def _payload(data: bytes, at: int, length: int, size: int) -> bytes:
    """The bytes of a row: those in its page, and the rest along the chain of pages that it overflows to."""
    most, least = size - 35, (size - 12) * 32 // 255 - 23
    if length <= most:
        return data[at : at + length]
    local = least + (length - least) % (size - 4)
    local = local if local <= most else least
    parts, left = [data[at : at + local]], length - local
    following = int.from_bytes(data[at + local : at + local + 4], "big")
    while left > 0:
        start = (following - 1) * size
        if following < 1 or start + size > len(data):
            raise ValueError(following)
        parts.append(data[start + 4 : start + 4 + min(left, size - 4)])
        following, left = int.from_bytes(data[start : start + 4], "big"), left - (size - 4)
    return b"".join(parts)


def _fields(record: bytes) -> list[Value]:
    head, at = _varint(record, 0)
    kinds: list[int] = []
    while at < head:
        kind, at = _varint(record, at)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, at = _field(record, at, kind)
        values.append(value)
    return values


def _field(record: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)], at
    width = _INTEGERS.get(kind) or (kind - 12) // 2
    found = record[at : at + width]
    if kind in (7, 10, 11) or len(found) != width:
        raise ValueError(kind)
    if kind in _INTEGERS:
        return int.from_bytes(found, "big", signed=True), at + width
    return (found.decode() if kind % 2 else found), at + width


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9
