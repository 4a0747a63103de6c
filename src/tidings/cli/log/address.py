"""From what a user types to an open log that exists: these commands look, they never create."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tidings.errors import LogUsageError
from tidings.log import EventLog, open_log

_SCHEME = "sqlite:///"

Address: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="ADDRESS",
        help="The log: a path, or sqlite:///path. Default: the log of this user's hub.",
        show_default=False,
    ),
]


def open_existing(address: str | None) -> EventLog:
    """Open the log at a path or `sqlite:///` address; without one, that of the hub.

    Raises:
        LogUsageError: there is no log there.
        LogError: it cannot be opened.
    """
    if address is None:
        return open_log(_of_hub())
    path = _path(address)
    if not path.is_file():
        what = "a directory" if path.is_dir() else "no such file"
        raise LogUsageError(f"log {address!r}: {what}; give the path of an existing event log")
    if path.stat().st_size == 0:
        raise LogUsageError(f"log {address!r}: the file is empty; give an existing event log")
    return open_log(path)


def _of_hub() -> Path:
    from tidings.hub.place import place_of

    path = place_of().database
    try:
        there = path.is_file()
    except PermissionError as error:
        text = f"log {str(path)!r} cannot be read: {error.strerror}; run `chmod u+rwX` on its folder"
        raise LogUsageError(text) from error
    if not there:
        raise LogUsageError("no hub has run yet; start one with `tidings up`, or give the path of a log")
    return path


def _path(address: str) -> Path:
    path = address.removeprefix(_SCHEME)
    if path in ("", ":memory:", "memory:") or "://" in path:
        raise LogUsageError(f"log {address!r}: give a path, or sqlite:///path")
    return Path(path)
