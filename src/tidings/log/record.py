"""What a log gives back: records, and the count of a successful verification.

Payloads are kept as compact JSON text and decoded many at a time, because one decoder call over a
joined array costs far less than one call per record. Pure values; nothing here touches a store.
"""

from __future__ import annotations

import msgspec

_decode = msgspec.json.Decoder(list[dict[str, object]]).decode


class LogRecord(msgspec.Struct, frozen=True, gc=False):
    """One record: its place in the topic, what happened, and when (milliseconds since 1970)."""

    cursor: int
    topic: str
    kind: str
    payload: dict[str, object]
    occurred_at_ms: int


class Verified(msgspec.Struct, frozen=True):
    """What `verify` found intact; `batches` counts one per commit and topic it touched."""

    topics: int
    records: int
    batches: int


def decode_payloads(joined: str, count: int) -> list[dict[str, object]]:
    """Decode `count` JSON objects, joined by commas, in one call.

    Raises:
        ValueError: there are not exactly so many JSON objects.
    """
    payloads = _decode(f"[{joined}]")
    if len(payloads) != count:
        raise ValueError(f"{count} payloads hold {len(payloads)} JSON objects")
    return payloads
