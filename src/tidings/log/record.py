"""What a log gives back: records, checkpoints, and the count of a successful verification.

Payloads are kept as compact JSON text and decoded many at a time, because one decoder call over
many lines costs far less than one call per record. Pure values; nothing here touches a store.
"""

from __future__ import annotations

import msgspec

CHECKPOINTS = "log.checkpoints"
"""The topic on which purges leave their checkpoints. Only a log itself writes it."""

_decode_lines = msgspec.json.Decoder(dict[str, object]).decode_lines


class LogRecord(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One record: its place in the topic, what happened, and when (milliseconds since 1970).

    `payload` is a JSON-ready dict; `content` is the same, or still its text: what an append gives
    back is decoded when somebody looks.
    """

    cursor: int
    topic: str
    kind: str
    content: dict[str, object] | str
    occurred_at_ms: int

    @property
    def payload(self) -> dict[str, object]:
        """What was appended, as every reader gets it."""
        content = self.content
        if isinstance(content, str):
            (content,) = decode_payloads(content, 1)
            msgspec.structs.force_setattr(self, "content", content)
        return content

    def to_dict(self) -> dict[str, object]:
        """The record as JSON-ready values."""
        return {
            "cursor": self.cursor,
            "topic": self.topic,
            "kind": self.kind,
            "payload": self.payload,
            "occurred_at_ms": self.occurred_at_ms,
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogRecord) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"LogRecord({told})"


def mark_of(record: LogRecord) -> str:
    """A mark by which a record is known again."""
    from hashlib import sha256  # only purging and telling pay for loading it

    return sha256(msgspec.json.encode(record.to_dict(), order="deterministic")).hexdigest()[:32]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge leaves: where a topic was cut, its chain's link there, how many went, and when.

    `link` is hexadecimal, and empty in a log without a chain. `first` is the mark of the topic's very first
    record, by which the topic is still known.
    """

    topic: str
    purged_through: int
    link: str
    count: int
    at_ms: int
    first: str


class Verified(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """What `verify` found intact; `batches` counts one per commit and topic it touched.

    `checkpoints` are the last of each topic that was purged: its chain was checked from there on.
    """

    topics: int
    records: int
    batches: int
    checkpoints: tuple[Checkpoint, ...] = ()


def decode_payloads(lines: str, count: int) -> list[dict[str, object]]:
    """Decode `count` JSON objects, a line each, in one call.

    Raises:
        ValueError: there are not exactly so many JSON objects.
    """
    payloads = _decode_lines(lines)
    if len(payloads) != count:
        raise ValueError(f"{count} payloads hold {len(payloads)} JSON objects")
    return payloads
