"""Sub-agents: what a parent hands down, and what a child takes in. Pure.

`handoff` filters the pending reminders into the envelope's `reminder_propagation`; `receive` seeds
the child with copies whose source is `inherited` (seed 001, "Sub-agent propagation"). A copy keeps
its id, its remaining ttl and the first emitter, gets the child's turn, and never gains trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.lifecycle import inject, stamp_turn
from tidings.core.producers import shown
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Reminder, Trust, meta_for, read_payload
from tidings.core.table import RANK
from tidings.core.transcript import Transcript
from tidings.core.trust import Admitted, admit
from tidings.errors import CallerError, DuplicateReminderError


def handoff(transcript: Transcript, agent_id: str | None = None) -> list[Payload]:
    """The reminders a direct child inherits, JSON-ready.

    `all` goes on through every generation; `session` only from where it was first emitted.
    """
    emitter = agent_id or transcript.agent_id or transcript.session_id
    return [
        replace(
            reminder,
            source="inherited",
            originating_agent_id=reminder.originating_agent_id or emitter,
        ).to_dict()
        for reminder in transcript.pending
        if _goes_down(reminder)
    ]


def _goes_down(reminder: Reminder) -> bool:
    if reminder.propagate == "session":
        return reminder.source != "inherited"
    return reminder.propagate == "all"


class Inherited(msgspec.Struct, frozen=True):
    """What receiving a handoff gave."""

    transcript: Transcript
    inherited: tuple[Reminder, ...]
    records: tuple[Record, ...]
    changes: tuple[Change, ...]

    @property
    def inherited_count(self) -> int:
        """How many copies the child now has from this handoff."""
        return len(self.inherited)


def receive(
    child: Transcript,
    envelope: object,
    *,
    sub_agent_id: str | None,
    new_id: Callable[[], str],
    trust: Trust = "operator",
) -> Inherited:
    """Seed `child` with the reminders of a handoff; `trust` caps what they may claim.

    A malformed or contradicting one is dropped with a record, the others still go in.
    """
    agent = sub_agent_id or child.agent_id or child.session_id
    written: list[Record] = []
    changes: list[Change] = []
    taken: list[Reminder] = []
    for payload in _payloads(envelope):
        reminder = read_payload(payload)
        if reminder is None:
            written.append(records.dropped(_name(payload), "invalid", detail="malformed handoff"))
            continue
        copy, lowered = _copied(reminder, stamp_turn(child), trust)
        try:
            result = inject(child, copy, new_id())
        except DuplicateReminderError as error:
            written.append(records.dropped(copy.id, "invalid", detail=str(error)))
            continue
        child = result.transcript
        written += (*lowered, *result.records) if result.accepted else ()
        changes += result.changes
        if result.accepted:
            taken.append(copy)
            written.append(records.inherited(copy, agent))
    return Inherited(child, tuple(taken), tuple(written), tuple(changes))


def _payloads(envelope: object) -> list[object]:
    inner = envelope.get("reminder_propagation") if isinstance(envelope, Mapping) else envelope
    if isinstance(inner, (list, tuple)):
        return list(inner)
    raise CallerError(
        "a handoff is the list that `handoff` gave, or an envelope with `reminder_propagation`; "
        f"got {shown(envelope)}"
    )


def _copied(reminder: Reminder, turn: int, cap: Trust) -> tuple[Reminder, tuple[Record, ...]]:
    """The child's copy. One that the cap lowers loses what its new tier may not claim."""
    provenance = reminder.provenance
    below = RANK[provenance.trust] > RANK[cap]
    if below:
        provenance = replace(provenance, trust=cap)
    copy = replace(reminder, source="inherited", fired_at_turn=turn, meta=meta_for(provenance))
    admitted = admit(copy) if below else Admitted(copy)
    return admitted.reminder, admitted.records


def _name(payload: object) -> str:
    named = payload.get("id") if isinstance(payload, Mapping) else None
    return named if isinstance(named, str) and named else "invalid-reminder"
