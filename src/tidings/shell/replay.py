"""Replay from a log: the transcript of a session as its topic tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidings.core.records import Change, transcript_topic
from tidings.core.replay import fold
from tidings.core.transcript import Transcript
from tidings.log.search import kept

if TYPE_CHECKING:
    from tidings.log.port import EventLog


def replay(log: EventLog, session_id: str) -> Transcript:
    """The transcript of `session_id`, folded from the log; equal to the live one.

    It knows what the functions of this package did under an active log. Messages given to the
    constructor are not among it: write a `checkpoint` first, and use `append_message`.
    """
    records = kept(log, transcript_topic(session_id))
    start = Transcript(session_id=session_id)
    return fold(start, (Change(record.kind, record.payload) for record in records))
