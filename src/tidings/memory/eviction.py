"""What was only seen leaves when there is too much of it: the oldest that nobody was shown, then the rest.

What was told stays, whatever its age; so does what is pinned. What left is written down: how many, from
when to when. Leaving is not forgetting: the bytes are freed, and not searched for. Every function works
on a connection inside a write transaction.
"""

from __future__ import annotations

import sqlite3

import msgspec

from tidings.memory.writing import Pen

MOST_SEEN = 20_000
"""How many seen messages a file keeps, unless said otherwise."""

AT_ONCE = 20
"""One in so many leaves at a time: now and then many, and not with every message one."""

MOST_NOTES = 100
"""How many departures are on record; the oldest notes leave."""

_SEEN = "kind = 'turn' AND pinned = 0"


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """How many seen messages left at a time, and when the oldest and the newest of them were said."""

    at: int
    count: int
    oldest: int
    newest: int


def make_room(connection: sqlite3.Connection, pen: Pen, most: int, now: int) -> Left | None:
    """Let seen messages leave if there are more than `most`; says which, None when all may stay."""
    (count,) = connection.execute(f"SELECT count(*) FROM memories WHERE {_SEEN}").fetchone()
    if count <= most:
        return None
    rows = connection.execute(
        f"SELECT seq, created FROM memories WHERE {_SEEN}"
        " ORDER BY surfaced > 0, coalesce(last_surfaced, created), seq LIMIT ?",
        (count - most + most // AT_ONCE,),
    ).fetchall()
    pen.remove(connection, [seq for seq, _ in rows], forget=False)
    said = [created for _, created in rows]
    left = Left(at=now, count=len(rows), oldest=min(said), newest=max(said))
    _note(connection, left)
    return left


def departures(connection: sqlite3.Connection) -> list[Left]:
    """What left, oldest note first."""
    rows = connection.execute("SELECT at, count, oldest, newest FROM departures ORDER BY number")
    return [Left(at=at, count=count, oldest=oldest, newest=newest) for at, count, oldest, newest in rows]


def _note(connection: sqlite3.Connection, left: Left) -> None:
    connection.execute(
        "INSERT INTO departures (at, count, oldest, newest) VALUES (:at, :count, :oldest, :newest)",
        msgspec.to_builtins(left),
    )
    connection.execute(
        "DELETE FROM departures WHERE number <= (SELECT max(number) FROM departures) - ?", (MOST_NOTES,)
    )
