"""What `tidings doctor` is made of: a check looks at one thing and gives findings. Values.

`Here` is what all checks look at: where the hub is and lives, and the folder that the command was started
in. A check asks; it changes nothing and waits for nobody longer than `SECONDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tidings.core.reminder import Payload
from tidings.hub.place import Place, State

Level: TypeAlias = Literal["ok", "note", "problem"]

SECONDS = 5.0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found: how bad it is, what it is, and what to do about it."""

    check: str = ""
    level: Level
    message: str
    fix: str = ""


class Here(msgspec.Struct, kw_only=True):
    """Where the command looks. `status` and `workspaces` are the hub's answers, None when it gave none."""

    place: Place
    folder: Path
    running: bool
    state: State | None = None
    status: Payload | None = None
    workspaces: Payload | None = None
    sessions: Payload | None = None


Check: TypeAlias = Callable[[Here], Iterable[Finding]]


def ok(message: str) -> Finding:
    """All is well."""
    return Finding(level="ok", message=message)


def note(message: str, fix: str = "") -> Finding:
    """Worth knowing; nothing is broken."""
    return Finding(level="note", message=message, fix=fix)


def problem(message: str, fix: str) -> Finding:
    """Something does not work."""
    return Finding(level="problem", message=message, fix=fix)
