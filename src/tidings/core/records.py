"""Records: what the lifecycle writes in the event log. Kinds and payloads, without bodies.

A `Record` of the lifecycle topic says what happened to a reminder (seed 001, "EventLog events",
and decision 5); the shell adds `session_id`, `task_id` and `agent_id`. A `Change` goes to the
session's transcript topic and carries the content, so that folding the topic gives the transcript
back (`replay.py`). `KINDS` is the table that the docs print and a test holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from tidings.core.reminder import Payload, Reminder

LIFECYCLE_TOPIC = "transcript.reminder.lifecycle"
_LONGEST = 200


@lru_cache(maxsize=1024)
def topic_part(session_id: str) -> str:
    """A session's id as part of a topic: odd characters are %-coded.

    A very long id is cut and told apart by its hash.
    """
    safe = "".join(c if c.isprintable() and c not in " %" else f"%{ord(c):02X}" for c in session_id)
    if len(safe) > _LONGEST:
        from hashlib import sha256  # only a very long id pays for loading it

        safe = f"{safe[:_LONGEST]}~{sha256(safe.encode()).hexdigest()[:16]}"
    return safe


@lru_cache(maxsize=1024)
def transcript_topic(session_id: str) -> str:
    """The topic that holds the events and messages of a session."""
    return f"session.{topic_part(session_id)}.transcript"


KINDS: dict[str, tuple[str, ...]] = {
    "injected": (
        "reminder_id", "tags", "dedupe_key", "source", "role_hint", "ttl_turns", "propagate",
        "preserve_on_compact", "originating_agent_id", "fired_at_turn", "trust", "origin",
    ),
    "fired": ("reminder_id", "turn_number", "rendered_role", "placement"),
    "deduped": ("reminder_id", "replaced_id", "replaced_ids", "replacing_id", "dedupe_key"),
    "expired": ("reminder_id", "reason", "dedupe_key", "tags"),
    "dropped": ("reminder_id", "reason"),
    "inherited": ("reminder_id", "originating_agent_id", "sub_agent_id", "propagate"),
    "provider_evaluated": ("provider_id", "event", "fired"),
    "queued": ("reminder_id", "mode", "source"),
    "revoked": ("reminder_id",),
    "warning": ("code", "producer", "message"),
    "cache_hint": ("message",),
    "restricted": ("reminder_id", "field", "asked", "given", "origin"),
}  # fmt: skip
"""Each kind behind `transcript.reminder.`, with the payload fields it always has."""


class Record(msgspec.Struct, frozen=True):
    """One entry for the lifecycle topic."""

    kind: str
    payload: Payload


class Alike(msgspec.Struct, frozen=True):
    """Records of one kind whose payloads differ in one field, which takes each of `values`.

    Most requests show the same reminders as the one before: they are told of together, and nobody has to
    build what only the log will read.
    """

    kind: str
    field: str
    values: tuple[str, ...]
    rest: Payload

    def records(self) -> list[Record]:
        """The records, one by one."""
        return [Record(self.kind, {self.field: value, **self.rest}) for value in self.values]


class Change(msgspec.Struct, frozen=True):
    """One entry for the session's transcript topic."""

    kind: str
    payload: Payload


def record(kind: str, **payload: object) -> Record:
    """A record of one of `KINDS`."""
    return Record(f"transcript.reminder.{kind}", payload)


def injected(reminder: Reminder) -> Record:
    """A new reminder is pending."""
    provenance = reminder.provenance
    return record(
        "injected",
        reminder_id=reminder.id,
        tags=list(reminder.tags),
        dedupe_key=reminder.dedupe_key,
        source=reminder.source,
        role_hint=reminder.role_hint,
        ttl_turns=reminder.ttl_turns,
        propagate=reminder.propagate,
        preserve_on_compact=reminder.preserve_on_compact,
        originating_agent_id=reminder.originating_agent_id,
        fired_at_turn=reminder.fired_at_turn,
        trust=provenance.trust,
        origin=provenance.origin,
    )


def deduped(replaced: tuple[Reminder, ...], by: Reminder) -> Record:
    """`by` replaced older reminders with its key; at least one."""
    ids = [reminder.id for reminder in replaced]
    return record(
        "deduped",
        reminder_id=by.id,
        replaced_id=ids[0],
        replaced_ids=ids,
        replacing_id=by.id,
        dedupe_key=by.dedupe_key,
    )


def expired(reminder: Reminder, reason: str, more: Payload | None = None) -> Record:
    """A reminder left: `reason` is ttl, compaction or cleared."""
    payload: Payload = {
        "reminder_id": reminder.id,
        "reason": reason,
        "dedupe_key": reminder.dedupe_key,
        "tags": list(reminder.tags),
    }
    if more:
        payload |= more
    return Record("transcript.reminder.expired", payload)


def dropped(reminder_id: str, reason: str, **more: object) -> Record:
    """A reminder could not be used: `reason` is invalid or capability_mismatch."""
    return record("dropped", reminder_id=reminder_id, reason=reason, **more)


def fired(names: tuple[str, ...], role: str, turn: int, placement: str) -> Alike:
    """These reminders, each given that role, were in an answered request."""
    rest: Payload = {"turn_number": turn, "rendered_role": role, "placement": placement}
    return Alike("transcript.reminder.fired", "reminder_id", names, rest)


def one_by_one(told: Iterable[Record | Alike]) -> tuple[Record, ...]:
    """All records that `told` stands for, in order."""
    found: list[Record] = []
    for each in told:
        found += each.records() if isinstance(each, Alike) else (each,)
    return tuple(found)


def count(told: Iterable[Record | Alike]) -> int:
    """How many records `told` stands for."""
    return sum(len(each.values) if isinstance(each, Alike) else 1 for each in told)


def inherited(reminder: Reminder, sub_agent_id: str | None) -> Record:
    """A child session received a parent's reminder."""
    return record(
        "inherited",
        reminder_id=reminder.id,
        originating_agent_id=reminder.originating_agent_id,
        sub_agent_id=sub_agent_id,
        propagate=reminder.propagate,
    )


def warning(code: str, producer: str, message: str, **more: object) -> Record:
    """Something works differently from what its producer may expect."""
    return record("warning", code=code, producer=producer, message=message, **more)


def producer_label(reminder: Reminder) -> str:
    """Who is meant by "once per producer": the source, and the provider or origin if known."""
    provenance = reminder.provenance
    detail = provenance.provider_id or provenance.origin
    return f"{reminder.source}:{detail}" if detail else reminder.source
