"""Where doors are: a private folder of sockets, named so that a sender finds the one it means.

A door's name holds a mark of its workspace and its process id. Senders look for a door of their own
workspace first. Only the owner may enter the folder, and nothing in it is trusted that is not theirs.
"""

from __future__ import annotations

import os
import socket
import stat
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidings.bridge.door.failure import DoorError

VARIABLE = "TIDINGS_SOCKET"
"""The environment variable that names the door, for programs that an agent starts."""

_SUFFIX = ".sock"
_KNOCK_SECONDS = 2.0


def door_error() -> type[DoorError]:
    """The error of doors, loaded when one is needed: a start-up should not wait for it."""
    from tidings.bridge.door.failure import DoorError

    return DoorError


def runtime_folder(environ: Mapping[str, str] = os.environ) -> str:
    """The private folder for sockets, made if need be.

    Raises:
        DoorError: somebody else owns it, or others may enter.
    """
    base = environ.get("XDG_RUNTIME_DIR")
    temporary = environ.get("TMPDIR") or "/tmp"
    folder = os.path.join(base, "tidings") if base else os.path.join(temporary, f"tidings-{os.getuid()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise door_error()(f"the folder for sockets {folder!r} cannot be used: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise door_error()(
            f"{folder!r} must be a folder that only you can enter; remove it, or give --socket"
        )
    return folder


def own_path(kind: str, environ: Mapping[str, str] = os.environ) -> str:
    """Where this process opens its door; sockets of processes that are gone are swept away.

    Raises:
        DoorError: the folder cannot be used.
    """
    folder = runtime_folder(environ)
    for name in os.listdir(folder):
        if _is_left_over(name):
            _remove(os.path.join(folder, name))
    return os.path.join(folder, f"{kind}-{workspace_mark(os.getcwd())}-{os.getpid()}{_SUFFIX}")


def workspace_mark(folder: str) -> str:
    """Eight digits that stand for a folder."""
    return f"{zlib.crc32(os.path.realpath(folder).encode(errors='surrogateescape')):08x}"


def find(environ: Mapping[str, str] = os.environ) -> str:
    """The one door that is meant when none is named.

    Raises:
        DoorError: there is none, or more than one.
    """
    if named := environ.get(VARIABLE):
        return named
    folder = runtime_folder(environ)
    doors = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(_SUFFIX)]
    found = _nearest([path for path in doors if answers(path)])
    if not found:
        raise door_error()(
            "no socket answers: start the hub with `tidings up`, or an agent with "
            "`tidings acp-proxy -- <command>`, or give --socket"
        )
    if len(found) > 1:
        listed = "\n  ".join(found)
        raise door_error()(f"{len(found)} sockets answer; choose one with --socket:\n  {listed}")
    return found[0]


def _nearest(doors: list[str]) -> list[str]:
    """Those of this workspace, or of the nearest folder above it; all of them when none is."""
    here = os.getcwd()
    while True:
        mark = f"-{workspace_mark(here)}-"
        if near := [path for path in doors if mark in os.path.basename(path)]:
            return near
        above = os.path.dirname(here)
        if above == here:
            return doors
        here = above


def answers(path: str) -> bool:
    """Whether somebody listens at `path`."""
    try:
        _knock(path)
    except OSError:
        return False
    return True


def is_abandoned(path: str) -> bool:
    """Whether the socket at `path` is one that nobody listens at; a busy or forbidden one is not."""
    try:
        _knock(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return True
    except OSError:
        return False
    return False


def _knock(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as knocker:
        knocker.settimeout(_KNOCK_SECONDS)
        knocker.connect(path)


def _is_left_over(name: str) -> bool:
    number = name.removesuffix(_SUFFIX).rpartition("-")[2]
    if not name.endswith(_SUFFIX) or not number.isdecimal() or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
