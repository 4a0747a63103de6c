"""Snapshots: the board as a record, from which a start goes on instead of replaying everything.

Taking one is a moment in the event loop; writing it, in small commits, is for a thread. A large board is
split: parts come first, and the record that completes them last, so that a crash in between leaves nothing
that counts. They have a topic of their own, beside the hub's records: who follows those is not told the
whole board again and again. `store.py` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from tidings.errors import LogCorruptError
from tidings.hub.address import Registration
from tidings.hub.board import Board
from tidings.hub.envelope import Envelope
from tidings.hub.hosting.hosted import Hosted
from tidings.hub.withdrawal import Withdrawal
from tidings.log import EventLog, LogRecord
from tidings.log.search import last

TOPIC = "hub.snapshots"
SNAPSHOT = "hub.snapshot"
PART = "hub.snapshot.part"
PART_BYTES = 256 * 1024
"""How much of a board stands in one record, roughly; encoding more at once would hold up the event loop."""

Piece: TypeAlias = dict[str, list[msgspec.Raw]]

_KEYS = {
    "sessions": "session_id",
    "ended": "session_id",
    "hosted": "session_id",
    "open": "reminder_id",
    "finished": "reminder_id",
    "withdrawn": "withdrawal_id",
}
"""What a board holds, and by which member each is found."""


class Box(msgspec.Struct, frozen=True):
    """What waits for a session, in its order."""

    session_id: str
    reminder_ids: list[str]


class Questions(msgspec.Struct, frozen=True):
    """What a session is asked to take back, in its order."""

    session_id: str
    withdrawals: list[Withdrawal]


class Pieces(msgspec.Struct, frozen=True, kw_only=True):
    """Some of a board."""

    sessions: list[Registration] = []
    ended: list[Registration] = []
    hosted: list[Hosted] = []
    open: list[Envelope] = []
    finished: list[Envelope] = []
    withdrawn: list[Withdrawal] = []
    boxes: list[Box] = []
    asked: list[Questions] = []


class Taken(msgspec.Struct, frozen=True):
    """A board as it was after the record `cursor`."""

    cursor: int
    values: list[tuple[str, msgspec.Struct]]


def taken(board: Board, cursor: int) -> Taken:
    """The board now; its values never change, so that this copies only where they are."""
    values = [(name, one) for name in _KEYS for one in getattr(board, name).values()]
    values += [("boxes", Box(name, list(ids))) for name, ids in board.boxes.items()]
    values += [("asked", Questions(name, list(one.values()))) for name, one in board.asked.items()]
    return Taken(cursor, values)


def write(log: EventLog, state: Taken) -> None:
    """Write a snapshot, in small commits.

    Raises:
        LogUnavailableError: not all of it could be written, and so none counts.
    """
    before = log.latest(TOPIC)
    *parts, rest = _split(state.values)
    for part in parts:
        log.append(TOPIC, PART, {"board": part})
    log.append(TOPIC, SNAPSHOT, {"cursor": state.cursor, "before": before, "board": rest})


def restored(log: EventLog) -> tuple[Board, int]:
    """The board of the last snapshot and the cursor that it stands for; an empty one if there is none.

    Raises:
        LogCorruptError: it cannot be read.
    """
    newest = last(log, TOPIC, SNAPSHOT)
    if newest is None:
        return Board(), 0
    board = Board()
    try:
        for record in _records(log, newest):
            _put(board, msgspec.convert(record.payload["board"], Pieces))
        return board, msgspec.convert(newest.payload["cursor"], int)
    except (KeyError, msgspec.ValidationError) as error:
        text = f"the hub's snapshot {newest.cursor} cannot be read: {error}; restore its log from a copy"
        raise LogCorruptError(text, topic=TOPIC, cursor=newest.cursor) from error


def _records(log: EventLog, newest: LogRecord) -> Iterator[LogRecord]:
    """The parts of a snapshot, and the record that completes it."""
    before = msgspec.convert(newest.payload["before"], int)
    return log.read(TOPIC, before, limit=newest.cursor - before)


def _put(board: Board, pieces: Pieces) -> None:
    for name, key in _KEYS.items():
        getattr(board, name).update({getattr(one, key): one for one in getattr(pieces, name)})
    board.boxes.update({box.session_id: dict.fromkeys(box.reminder_ids) for box in pieces.boxes})
    for one in pieces.asked:
        board.asked[one.session_id] = {each.withdrawal_id: each for each in one.withdrawals}


def _split(values: list[tuple[str, msgspec.Struct]]) -> Iterator[Mapping[str, object]]:
    """The values as JSON, by name, in pieces that are not too long; at least one."""
    piece: Piece = {}
    size = 0
    for name, value in values:
        if size > PART_BYTES:
            yield piece
            piece, size = {}, 0
        encoded = msgspec.json.encode(value)
        piece.setdefault(name, []).append(msgspec.Raw(encoded))
        size += len(encoded)
    yield piece
