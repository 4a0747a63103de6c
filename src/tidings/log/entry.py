"""The gate into a log: a caller's topic, kind and payload become one checked `Entry`.

Everything an implementation stores passes through `entry_of`, so every log accepts and refuses the
same things. A payload is encoded here, once, which also cuts every tie to the caller's own dict.
JSON has no NaN and no infinity: they are stored as null, as JSON.stringify does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from tidings.errors import LogUsageError
from tidings.log.record import CHECKPOINTS, decode_payloads

MAX_NAME = 512
MAX_DEPTH = 256
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
_NAME = re.compile(rf"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{{1,{MAX_NAME}}}")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_LEVELS, _NOT_LEVELS = bytes.maketrans(b"{}", b"[]"), bytes(set(range(256)) - set(b"[]{}"))
_REMEMBERED = 10_000
_known_names: set[object] = set()
_PLAIN = {dict}
ENCODING_ERRORS = (TypeError, ValueError, RecursionError, OverflowError)
_encoder = msgspec.json.Encoder()
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines

Draft = tuple[str, str, Mapping[str, object]]
Lines = tuple[str, list[str], list[Mapping[str, object]]]
"""Drafts of one topic: it, their kinds and their payloads."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record on its way in: checked, encoded and stamped, without a cursor yet."""

    topic: str
    kind: str
    payload: str
    occurred_at_ms: int


class Columns(msgspec.Struct, frozen=True, gc=False):
    """Records on their way in, together: what `Entry` says of one, column by column."""

    topics: Sequence[str]
    kinds: Sequence[str]
    payloads: Sequence[str]
    times: Sequence[int]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Columns:
        """The columns of `entries`."""
        return cls(*[list(map(field, entries)) for field in _FIELDS])


_FIELDS: tuple[Callable[[Entry], Any], ...] = tuple(map(attrgetter, Entry.__struct_fields__))


class Series(msgspec.Struct, frozen=True, gc=False):
    """Drafts of one topic and kind whose payloads differ in one field; `rest` is the same in all."""

    topic: str
    kind: str
    field: str
    values: tuple[str, ...]
    rest: Mapping[str, object]


Written = Sequence[Lines | Series]
"""What is written together, in order; a series stands for its records."""


def payloads_of(entries: Sequence[Entry]) -> list[dict[str, object]]:
    """Decode the payloads again, as every reader will get them."""
    return decode_payloads("\n".join([entry.payload for entry in entries]), len(entries))


def now_ms() -> int:
    """Read the system clock in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def entry_of(topic: str, kind: str, payload: Mapping[str, object], now: int) -> Entry:
    """Check and encode one record.

    Raises:
        LogUsageError: a bad topic or kind, or a payload that JSON cannot hold.
    """
    _check_names(topic, kind)
    return Entry(topic, kind, encode(payload), now)


def alone(topic: str, kind: str, payload: Mapping[str, object], now: int) -> Columns:
    """The same as a batch of one.

    Raises:
        LogUsageError: a bad topic or kind, or a payload that JSON cannot hold.
    """
    _check_names(topic, kind)
    return Columns((topic,), (kind,), (encode(payload),), (now,))


def columns_of(drafts: Iterable[Draft], now: int) -> Columns:
    """Check and encode a batch; the error names the place of the bad draft.

    Raises:
        LogUsageError: a draft that is not (topic, kind, payload), or a bad part of one.
    """
    given = list(drafts)
    encoded = _encoded_at_once(given)
    if encoded is None:
        return Columns.of([_entry_at(place, draft, now) for place, draft in enumerate(given)])
    return Columns(*encoded, [now] * len(given))


def entries_of(drafts: Iterable[Draft], now: int) -> list[Entry]:
    """The same, one by one.

    Raises:
        LogUsageError: a draft that is not (topic, kind, payload), or a bad part of one.
    """
    made = columns_of(drafts, now)
    return list(map(Entry, made.topics, made.kinds, made.payloads, made.times))


@lru_cache(maxsize=4096)
def check_topic(topic: str) -> None:
    """Refuse what cannot be written to; remembered, because the same few come all the time.

    Raises:
        LogUsageError: it is no name, or a topic that only the log itself writes.
    """
    _check_names(topic, "kind")


def check_series(series: Series) -> str:
    """Check a series, and encode what is the same in all of it.

    Raises:
        LogUsageError: a bad part of it, or the field that should differ is the same in all.
    """
    _check_names(series.topic, series.kind)
    if not series.rest or series.field in series.rest:
        raise LogUsageError(
            f"a series by {series.field!r} needs other fields besides; got {series.rest!r:.80}"
        )
    return encode(series.rest)


def check_name(field: str, value: object) -> str:
    """Return `value` when it can be a topic or kind: short, printable, without whitespace.

    Raises:
        LogUsageError: it cannot.
    """
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise LogUsageError(
            f"{field} is {value!r:.80}; give 1 to {MAX_NAME} characters "
            "without whitespace or control characters"
        )
    return value


def check_cursor(value: object, field: str = "from_cursor", least: int = 0) -> int:
    """Return `value` when it is a whole number of at least `least`.

    Raises:
        LogUsageError: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise LogUsageError(f"{field} is {value!r}; give a whole number of at least {least}")
    return value


def check_prefix(value: object) -> str:
    """Return `value` when it can be the start of a kind; the empty prefix matches every kind.

    Raises:
        LogUsageError: no kind can start with it.
    """
    return "" if value == "" else check_name("kind_prefix", value)


def encode(payload: Mapping[str, object]) -> str:
    """Encode a payload as compact JSON text.

    Raises:
        LogUsageError: it is no mapping, is too big, or holds something JSON cannot.
    """
    plain = payload if isinstance(payload, dict) else _dict_of(payload)
    try:
        encoded = _encode(plain)
    except ENCODING_ERRORS as error:
        where = _offender("payload", payload)
        raise LogUsageError(f"{where} cannot be stored as JSON: {error}") from error
    if len(encoded) > 2 * MAX_DEPTH and _depth(encoded) > MAX_DEPTH:
        raise LogUsageError(f"payload is nested more than {MAX_DEPTH} deep; flatten it")
    if len(encoded) > MAX_PAYLOAD_BYTES:
        raise LogUsageError(
            f"payload is {len(encoded)} bytes as JSON; at most {MAX_PAYLOAD_BYTES} are kept, "
            "store the content elsewhere and log its address"
        )
    return encoded.decode()


def encode_plain(payloads: Sequence[Mapping[str, object]], most: int) -> str | None:
    """All payloads, a line each, by one call; None when they are too long or need a closer look."""
    if {*map(type, payloads)} != _PLAIN:
        return None
    try:
        encoded = _encode_lines(payloads)
    except ENCODING_ERRORS:
        return None
    lines = encoded.decode()
    if len(lines) > most or (len(lines) > 2 * MAX_DEPTH and _brackets(lines) > MAX_DEPTH):
        return None
    return lines[:-1]


def _encoded_at_once(
    drafts: Sequence[Draft],
) -> tuple[Sequence[str], Sequence[str], Sequence[str]] | None:
    """Topics, kinds and payloads, encoded by one call; None when a draft needs a closer look."""
    try:
        topics, kinds, payloads = zip(*drafts, strict=True)
        named = CHECKPOINTS not in topics and are_names({*topics, *kinds})
        if not named or {*map(type, payloads)} != _PLAIN:
            return None
        encoded = _encode_lines(payloads)
    except ENCODING_ERRORS:
        return None
    lines = encoded.decode().split("\n")
    lines.pop()
    if len(encoded) > MAX_PAYLOAD_BYTES or _may_be_deep(lines):
        return None
    return topics, kinds, lines


def _entry_at(place: int, draft: object, now: int) -> Entry:
    if not isinstance(draft, tuple | list) or len(draft) != 3:
        raise LogUsageError(f"batch[{place}] is {draft!r:.80}; give (topic, kind, payload)")
    try:
        topic, kind, payload = draft
        return entry_of(topic, kind, payload, now)
    except LogUsageError as error:
        raise LogUsageError(f"batch[{place}]: {error}") from error


def _dict_of(payload: object) -> dict[object, object]:
    if not isinstance(payload, Mapping):
        raise LogUsageError(f"payload is {type(payload).__name__}; give a dict")
    return dict(payload)


def _check_names(topic: object, kind: object) -> None:
    try:
        named = topic in _known_names and kind in _known_names and topic != CHECKPOINTS
    except TypeError:
        named = False
    if not named:
        are_names({check_name("topic", topic), check_name("kind", kind)})
        if topic == CHECKPOINTS:
            raise LogUsageError(f"topic is {topic!r}; only purging writes there: choose another")


def are_names(values: set[str]) -> bool:
    """Whether all can be topics or kinds; remembered, because the same few come all the time."""
    if not values <= _known_names:
        if len(_known_names) > _REMEMBERED:
            _known_names.clear()
        if not all(_NAME.fullmatch(value) for value in values):
            return False
        _known_names.update(values)
    return True


def _depth(encoded: bytes) -> int:
    """Count how deep JSON nests, beyond `MAX_DEPTH`: readers must not exhaust their stack."""
    if _brackets(encoded.decode()) <= MAX_DEPTH:
        return 0
    levels, depth = _STRING.sub(b"", encoded).translate(_LEVELS, _NOT_LEVELS), 0
    while levels and depth <= MAX_DEPTH:
        levels = levels.replace(b"[]", b"")
        depth += 1
    return depth


def _may_be_deep(lines: Sequence[str]) -> bool:
    """Whether there is room and reason to count levels: each takes two brackets."""
    return max(map(len, lines)) > 2 * MAX_DEPTH and max(map(_brackets, lines)) > MAX_DEPTH


def _brackets(encoded: str) -> int:
    """Count opening brackets, also those in strings: nothing nests deeper than that."""
    return encoded.count("[") + encoded.count("{")


def _offender(where: str, value: object) -> str:
    """Follow the first part that does not encode down to the smallest one."""
    for step, part in _parts(value):
        if not _encodes(part):
            return _offender(where + step, part) if len(where) < 200 else f"{where}…"
    return where


def _parts(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(f".{key}", part) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{place}]", part) for place, part in enumerate(value)]
    return []


def _encodes(value: object) -> bool:
    try:
        _encode(value)
    except ENCODING_ERRORS:
        return False
    return True
