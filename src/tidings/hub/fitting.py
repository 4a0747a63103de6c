"""Records that fit a request: long texts in them are cut, with a word that says so. Pure.

A transcript may hold megabytes in one record; whoever watches needs the beginning of it. What still does
not fit is replaced by its size. `streams.py` passes every record through here.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tidings.core.reminder import Payload
from tidings.hub.shapes import TellRecord

LONGEST = 256 * 1024
"""How many bytes of JSON one record may have."""
_STEPS = (32_768, 4_096, 512)


def size_of(record: TellRecord) -> int:
    """How many bytes of JSON it takes."""
    return len(msgspec.json.encode(record.payload)) + len(record.kind) + 100


def fitted(record: TellRecord) -> TellRecord:
    """`record`, or what of it fits."""
    size = size_of(record)
    if size <= LONGEST:
        return record
    for most in _STEPS:
        cut: Payload = {name: shortened(value, most) for name, value in record.payload.items()}
        shorter = replace(record, payload=cut)
        if size_of(shorter) <= LONGEST:
            return shorter
    return stub(record)


def stub(record: TellRecord) -> TellRecord:
    """The record without its content."""
    return replace(record, payload={"cut_bytes": size_of(record)})


def shortened(value: object, most: int) -> object:
    """`value` with every text in it cut to `most` characters."""
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]}… [{len(value) - most} more characters]"
    if isinstance(value, dict):
        return {name: shortened(inner, most) for name, inner in value.items()}
    if isinstance(value, list):
        return [shortened(inner, most) for inner in value]
    return value
