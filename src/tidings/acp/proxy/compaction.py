"""When delivered reminders are let go: at a compaction of the agent, and when they are too many. Pure.

The agent's own history was shortened, ours is only the list of what stands there. Ttls count down as at any
compaction (decision 4); what stood and is not preserved ends; what is preserved no longer stands, so it
goes out again. Reminders that were not shown yet, or are under way, are left alone. `Desk` calls this.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.core.table import Entry, Slot
from tidings.core.transcript import Transcript


class Forgotten(msgspec.Struct, frozen=True):
    """The transcript after the agent's compaction, and what to write in the log."""

    transcript: Transcript
    records: tuple[Record, ...]


def compacted(transcript: Transcript, under_way: frozenset[Slot]) -> Forgotten:
    """Apply a compaction that the agent finished."""
    state = transcript.state
    aged = state.shelf.age(transcript.turn)
    boundary: Payload = {"expired_at_boundary": "pre_compact", "expired_at_turn": transcript.turn}
    written = [records.expired(entry.reminder, "ttl", boundary) for entry in aged.expired]
    stood = state.marks.standing - under_way
    forgotten = [
        entry
        for entry in aged.shelf.entries()
        if entry.slot in stood and not entry.reminder.preserve_on_compact
    ]
    written += _expired(forgotten, transcript.turn)
    marks = replace(state.marks, standing=state.marks.standing & under_way, withdrawn=())
    shelf = aged.shelf.change([(entry, None) for entry in forgotten])
    return Forgotten(Transcript.of(replace(state, shelf=shelf, marks=marks)), tuple(written))


def outgrown(transcript: Transcript, under_way: frozenset[Slot], most: int) -> Forgotten | None:
    """When more than `most` stand, only the newer half stays; None when there is nothing to do.

    Without a ttl nothing else would end them: the agent keeps their text, we no longer keep track.
    """
    state = transcript.state
    known = state.marks.standing - under_way
    if len(known) <= most:
        return None
    stood = [entry for entry in state.shelf.entries() if entry.slot in known]
    gone = stood[: len(stood) - most // 2]
    marks = replace(state.marks, standing=state.marks.standing.difference(entry.slot for entry in gone))
    shelf = state.shelf.change([(entry, None) for entry in gone])
    following = Transcript.of(replace(state, shelf=shelf, marks=marks))
    return Forgotten(following, tuple(_expired(gone, transcript.turn)))


def _expired(gone: Sequence[Entry], turn: int) -> list[Record]:
    told: Payload = {"expired_at_turn": turn}
    return [records.expired(entry.reminder, "compaction", told) for entry in gone]
