"""What the sessions themselves wrote, so that nobody is told of their own doing.

A session tells its records, and in them which files its tools edited. That counts while it is the only one
in the folder: another agent there must hear of it, and a write is not told to some and kept from others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tidings.hub.address import Registration
from tidings.hub.shapes import TellRecord

EMITTED = "session.emitted"
GRACE = 0.25
"""Seconds that the file watcher waits for word of a change that it has seen."""
RECENT_MS = 5_000
"""Word that comes later says nothing about how the file is now."""


def edited(records: Iterable[TellRecord], now_ms: int) -> Iterator[str]:
    """The files that the tools of a session just edited, as they named them."""
    for record in records:
        if record.kind == EMITTED and record.payload.get("event") == "file_edited":
            about = record.payload.get("payload")
            path = about.get("path") if isinstance(about, dict) else None
            if isinstance(path, str) and now_ms - record.at_ms < RECENT_MS:
                yield path


def alone(session: Registration, sessions: Iterable[Registration], folder: Path) -> bool:
    """Whether no other session works in or around `folder`."""
    return not any(
        other.session_id != session.session_id and _works_at(other, folder) for other in sessions
    )


def _works_at(session: Registration, folder: Path) -> bool:
    if session.workspace is None:
        return False
    place = Path(session.workspace)
    return place.is_relative_to(folder) or folder.is_relative_to(place)
