"""Replay from a log: the transcript of a session as its topic tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidings.core.records import Change, transcript_topic
from tidings.core.replay import fold
from tidings.core.transcript import Transcript

if TYPE_CHECKING:
    from tidings.log.port import EventLog


def replay(log: EventLog, session_id: str, *, agent_id: str | None = None) -> Transcript:
    """The transcript of `session_id`, folded from the log; equal to the live one."""
    records = log.read(transcript_topic(session_id))
    start = Transcript(session_id=session_id, agent_id=agent_id)
    return fold(start, (Change(record.kind, record.payload) for record in records))
