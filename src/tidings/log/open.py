"""From an address to a log: `memory:`, `sqlite:///relative.db`, `sqlite:////absolute.db`, a Path.

The implementations are imported when they are asked for, so that importing `tidings.log` stays
cheap. Options beyond durability and clock belong to the implementations' own constructors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from tidings.errors import LogUsageError
from tidings.log.entry import now_ms
from tidings.log.port import EventLog

Durability = Literal["normal", "fsync"]

_SQLITE = "sqlite:///"
_FORMS = "'sqlite:///relative.db', 'sqlite:////absolute.db', a pathlib.Path, or 'memory:'"


def open_log(
    address: str | Path,
    *,
    durability: Durability = "normal",
    clock: Callable[[], int] = now_ms,
) -> EventLog:
    """Open the log at `address`, creating it when it does not exist.

    Raises:
        LogUsageError: an unknown address or durability, or a file that is not a log.
        LogUnavailableError: the file cannot be opened for writing.
    """
    if durability not in get_args(Durability):
        raise LogUsageError(f"durability is {durability!r}; give 'normal' or 'fsync'")
    if address == "memory:":
        return _open_memory(durability, clock)
    return _open_sqlite(_path_of(address), durability, clock)


def _path_of(address: object) -> Path:
    if isinstance(address, Path):
        return address
    path = address.removeprefix(_SQLITE) if isinstance(address, str) else ""
    if not path or path == address or path == ":memory:":
        raise LogUsageError(f"log address is {address!r}; give {_FORMS}")
    return Path(path)


def _open_memory(durability: Durability, clock: Callable[[], int]) -> EventLog:
    if durability == "fsync":
        raise LogUsageError("durability 'fsync' needs a file; 'memory:' keeps nothing on disk")
    from tidings.log.memory import MemoryLog

    return MemoryLog(clock=clock)


def _open_sqlite(path: Path, durability: Durability, clock: Callable[[], int]) -> EventLog:
    from tidings.log.sqlite import SqliteLog

    return SqliteLog(path, durability=durability, clock=clock)
