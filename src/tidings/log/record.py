"""What a log gives back: records, and the count of a successful verification.

Payloads are kept as compact JSON text and decoded many at a time, because one decoder call over a
joined array costs far less than one call per record. Pure values; nothing here touches a store.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def decode_payloads(texts: Sequence[str]) -> list[dict[str, object]]:
    """Decode JSON objects in one call.

    Raises:
        ValueError: a text is not exactly one JSON object.
    """
    payloads = _decode(f"[{','.join(texts)}]")
    if len(payloads) != len(texts):
        raise ValueError(f"{len(texts)} texts hold {len(payloads)} JSON objects")
    return payloads
