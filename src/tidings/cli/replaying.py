"""What a session was at a turn, rebuilt from its records: its transcript, what its request showed. Pure.

The records come from a log of the session's own, or from what it told the hub. They are folded up to the
moment at which the request of the turn was answered, with the same code that resumes a session. A record
that cannot be folded (the hub keeps long ones shortened) is counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidings.agent.store import Stored, folded
from tidings.core.records import LIFECYCLE_TOPIC, Change, transcript_topic
from tidings.core.reminder import Payload
from tidings.core.transcript import Transcript
from tidings.errors import CallerError, TranscriptError
from tidings.hub.told import told_row, told_topic
from tidings.log import EventLog, LogRecord

ANSWERED = "transcript.fired"
FIRED = "transcript.reminder.fired"
RENDERED = "request.rendered"
INJECTED = ("transcript.injected", "transcript.audited")


class Entry(msgspec.Struct, frozen=True):
    """One record of a session, wherever it was kept. `anew`: another log of the session begins here."""

    kind: str
    payload: Payload
    anew: bool = False


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A session after a turn, or now. `rendered` is what the request of the turn showed, with its place."""

    session_id: str
    turn: int
    turns: tuple[int, ...]
    stored: Stored
    rendered: tuple[Payload, ...]
    bodies: Mapping[str, str] = {}
    left_out: int = 0


def of_log(log: EventLog, session_id: str) -> Iterator[Entry]:
    """The records of a session in a log of its own; first what makes the transcript."""
    for record in _kept(log, transcript_topic(session_id)):
        yield Entry(record.kind, record.payload)
    for record in _kept(log, LIFECYCLE_TOPIC, FIRED):
        if record.payload.get("session_id") == session_id:
            yield Entry(record.kind, record.payload)


def of_hub(log: EventLog, session_id: str) -> Iterator[Entry]:
    """What a session told the hub, in the order it came."""
    epoch: str | None = None
    for record in _kept(log, told_topic(session_id)):
        row = told_row(record)
        anew = row.epoch is not None and epoch is not None and row.epoch != epoch
        epoch = row.epoch if row.epoch is not None else epoch
        yield Entry(row.kind, row.payload, anew)


def _kept(log: EventLog, topic: str, kind_prefix: str = "") -> Iterator[LogRecord]:
    return log.read(topic, log.purged_through(topic), kind_prefix)


def moment(entries: Iterable[Entry], session_id: str, turn: int | None = None) -> Moment:
    """The session right before the answer of `turn`; after everything when None.

    Raises:
        CallerError: the session had no such turn; the message names those it had.
    """
    known = _latest(entries)
    shown = _shown(known)
    turns = sorted(shown.keys() | {one for entry in known if (one := _answered(entry)) is not None})
    if turn is not None and turn not in turns:
        there = f"it had turns {turns[0]} to {turns[-1]}" if turns else "it had none yet"
        raise CallerError(f"session {session_id!r} had no turn {turn}; {there}")
    stored, left_out = _folded(known, session_id, turn)
    at = turn if turn is not None else (turns[-1] if turns else 0)
    return Moment(
        session_id=session_id,
        turn=at,
        turns=tuple(turns),
        stored=stored,
        rendered=tuple(shown.get(at, ())),
        bodies=dict(filter(None, map(_body, known))),
        left_out=left_out,
    )


def _latest(entries: Iterable[Entry]) -> list[Entry]:
    """The records of the last log behind the session."""
    known: list[Entry] = []
    for entry in entries:
        if entry.anew:
            known.clear()
        known.append(entry)
    return known


def _folded(entries: Iterable[Entry], session_id: str, turn: int | None) -> tuple[Stored, int]:
    stored, left_out = Stored(Transcript(session_id=session_id)), 0
    for entry in entries:
        if turn is not None and _answered(entry) == turn:
            break
        try:
            stored = folded(stored, Change(entry.kind, entry.payload))
        except TranscriptError:
            left_out += 1
    return stored, left_out


def _answered(entry: Entry) -> int | None:
    turn = entry.payload.get("turn") if entry.kind == ANSWERED else None
    return turn if isinstance(turn, int) else None


def _shown(entries: Iterable[Entry]) -> dict[int, list[Payload]]:
    """What each turn's request showed: with place and words where the session told them."""
    placed: dict[int, list[Payload]] = {}
    fired: dict[int, list[Payload]] = {}
    for entry in entries:
        if entry.kind == RENDERED and isinstance(turn := entry.payload.get("turn"), int):
            placed[turn] = _rows(entry.payload.get("rendered"))
        elif entry.kind == FIRED and isinstance(turn := entry.payload.get("turn_number"), int):
            fired.setdefault(turn, []).append(_fired(entry.payload))
    return {**fired, **placed}


def _body(entry: Entry) -> tuple[str, str] | None:
    """The id and the words of a reminder that was let in."""
    event = entry.payload.get("event") if entry.kind in INJECTED else None
    reminder = event.get("reminder") if isinstance(event, Mapping) else None
    if not isinstance(reminder, Mapping):
        return None
    return str(reminder.get("id")), str(reminder.get("body"))


def _rows(value: object) -> list[Payload]:
    return [dict(row) for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _fired(payload: Payload) -> Payload:
    return {"reminder_id": payload.get("reminder_id"), "role": payload.get("rendered_role")}


def as_dict(moment: Moment) -> Payload:
    """The whole moment, JSON-ready."""
    transcript = moment.stored.transcript
    return {
        "sessionId": moment.session_id,
        "turn": moment.turn,
        "turns": list(moment.turns),
        "transcript": transcript.to_dict(),
        "pending": [reminder.to_dict() for reminder in transcript.pending],
        "queued": moment.stored.mailbox.rows(),
        "rendered": list(moment.rendered),
        "leftOut": moment.left_out,
    }
