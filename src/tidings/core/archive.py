"""Audit only: a reminder that lands in the transcript's events and is never pending. Pure.

What was sent with mode `audit_only` is let in at `loop_exit`, after the last request; a later run of the
same session must not show it either, so its event is of a kind that nothing renders.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tidings.core.records import Change
from tidings.core.reminder import Payload, Reminder
from tidings.core.transcript import Transcript, event_of

AUDIT_KIND = "system_reminder_audit"


class Archived(msgspec.Struct, frozen=True):
    """What archiving gave."""

    transcript: Transcript
    changes: tuple[Change, ...]


def archive(transcript: Transcript, reminder: Reminder, event_id: str) -> Archived:
    """Keep `reminder` in the events, for people and replay alone."""
    event = {**event_of(reminder, event_id), "kind": AUDIT_KIND}
    return Archived(keep_event(transcript, event), (Change("transcript.audited", {"event": event}),))


def keep_event(transcript: Transcript, event: Payload) -> Transcript:
    """With one more event that is no pending reminder."""
    state = transcript.state
    others = (*state.others, (state.next_seq, event))
    return Transcript.of(replace(state, others=others, next_seq=state.next_seq + 1))
