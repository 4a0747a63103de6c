"""The reminder: one typed, short-lived fact for a running agent (seed 001, ReminderSpec).

Every producer's input becomes this value, through the gate in `producers.py`; the constructor
alone does not validate. Reading a stored payload back is `read_payload`, which is strict about
what must be there and tolerant of fields that a newer version wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import msgspec

Propagate: TypeAlias = Literal["all", "session", "none"]
RoleHint: TypeAlias = Literal["system", "developer", "user_block", "ephemeral_cache"]
Source: TypeAlias = Literal["stdlib_provider", "hook", "bridge", "in_pipeline", "inherited"]
Trust: TypeAlias = Literal["operator", "host", "external"]

PROPAGATE: tuple[Propagate, ...] = get_args(Propagate)
ROLE_HINTS: tuple[RoleHint, ...] = get_args(RoleHint)
SOURCES: tuple[Source, ...] = get_args(Source)

Payload: TypeAlias = dict[str, object]
"""A JSON object."""


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Who sent a reminder, as its receiving adapter saw it (`_meta.tidings`), never as it claims."""

    trust: Trust = "operator"
    origin: str | None = None
    provider_id: str | None = None


class Meta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The `_meta` envelope of a reminder; keys of other vendors stay in the stored event."""

    tidings: Provenance | None = None


class Reminder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One reminder, in the field order of its JSON form. Fields that are None are left out."""

    id: str
    tags: tuple[str, ...]
    dedupe_key: str | None = None
    ttl_turns: int | None = None
    preserve_on_compact: bool
    propagate: Propagate
    role_hint: RoleHint
    source: Source
    body: str
    fired_at_turn: int
    originating_agent_id: str | None = None
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    @property
    def provenance(self) -> Provenance:
        """Trust, origin and provider; the operator's when nothing else was recorded."""
        return (self.meta and self.meta.tidings) or OPERATOR

    @property
    def trust(self) -> Trust:
        """The trust tier the receiving adapter gave it."""
        meta = self.meta
        return OPERATOR.trust if meta is None or meta.tidings is None else meta.tidings.trust

    @property
    def scope(self) -> str | None:
        """Whose namespace its id and dedupe key live in: an external origin's own, else None."""
        provenance = self.provenance
        return provenance.origin or "" if provenance.trust == "external" else None

    def to_dict(self) -> Payload:
        """The JSON-ready payload, as it stands in `reminder` and `metadata` of its event."""
        payload: Payload = msgspec.to_builtins(self)
        payload["tags"] = list(self.tags)
        return payload


OPERATOR = Provenance()


def meta_for(provenance: Provenance) -> Meta | None:
    """The `_meta` that records `provenance`; None for a plain operator reminder."""
    return None if provenance == OPERATOR else Meta(tidings=provenance)


def read_payload(payload: object) -> Reminder | None:
    """The reminder stored as `payload`, or None when it is invalid (decision 7).

    `tags` may be missing; a blank body, a missing field or a value outside its set is invalid.
    """
    if not isinstance(payload, Mapping):
        return None
    try:
        reminder = msgspec.convert({"tags": (), **payload}, Reminder)
    except (msgspec.ValidationError, TypeError):
        return None
    if not reminder.body.strip() or not reminder.id.strip():
        return None
    key = reminder.dedupe_key
    if key is None or (key and key == key.strip()):
        return reminder
    return msgspec.structs.replace(reminder, dedupe_key=key.strip() or None)
