"""A small event log on disk, for the tests of the commands that look into one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import EventLog, open_log

NASTY = "\x1b[2J\x1b]0;owned\x07 [bold]x[/bold] \u202e\x9b\x7f"
_START = 1_794_736_331_000


def write_log(path: Path) -> Path:
    """Three records of two sessions, one of them nasty, and one in another topic."""
    ticks = count(_START)
    with open_log(path, clock=lambda: next(ticks)) as log:
        write(log, "injected", reminder_id="r1", session_id="s1", tags=["a"], dedupe_key=None)
        write(log, "injected", reminder_id="r2", session_id="s2", tags=[], note=NASTY)
        write(log, "expired", reminder_id="r1", session_id="s1", reason="ttl")
        log.append("session.s1.transcript", "transcript.message", {"message": {"role": "user"}})
    return path


def write(log: EventLog, kind: str, **payload: object) -> None:
    """One more lifecycle record."""
    log.append(LIFECYCLE_TOPIC, f"transcript.reminder.{kind}", payload)


def words(lines: str) -> Iterator[list[str]]:
    """The columns of aligned lines."""
    return (line.split() for line in lines.splitlines())
