"""Nudges between processes: an empty datagram says that the file has grown.

Every watching event loop binds a socket in a directory of the user's own, named after the
database's path by its hash, because socket paths are short. Writers send to all sockets there and
never wait: a full socket has a nudge in it already, a refused one belongs to the dead and is
removed. Nudges may get lost; the watcher's polling covers for that.
"""

from __future__ import annotations

import itertools
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_ATTEMPTS = 5
_SETTLED_NS = 50_000_000
_ALONE_NS = 2_000_000
"""How long a look that found no watcher holds: one that comes meanwhile reads before it waits."""

_numbers = itertools.count(1)


def nudge_directory(database: Path) -> Path:
    """Return where the sockets of this database's watchers are."""
    name = sha256(os.fsencode(database)).hexdigest()[:20]
    return Path(tempfile.gettempdir()) / f"tidings-{os.getuid()}" / name


class Inbox:
    """A socket that hears nudges. Making one raises OSError where that is not possible."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / f"{os.getpid()}-{next(_numbers)}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        try:
            self._publish(directory)
        except BaseException:
            self.socket.close()
            raise

    def drain(self) -> None:
        """Take all nudges out."""
        with suppress(BlockingIOError):
            while True:
                self.socket.recv(1)

    def close(self) -> None:
        """Remove the socket, and the directory when it was the last."""
        self.socket.close()
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()

    def _publish(self, directory: Path) -> None:
        """Bind under a hidden name first: a visible socket that refuses is taken for dead."""
        hidden = directory / f".{self.path.name}"
        for attempt in range(_ATTEMPTS):
            _make_private(directory.parent)
            _make_private(directory)
            try:
                self.socket.bind(os.fspath(hidden))
                break
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
        hidden.rename(self.path)


class Nudger:
    """The sending side: one for each log, used after every commit, from any thread."""

    def __init__(self, directory: Path, is_own: Callable[[str], bool]) -> None:
        self._directory = os.fspath(directory)
        self._is_own = is_own
        self._listed: tuple[int, int, tuple[str, ...]] = (0, 0, ())
        self._alone_until = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def nudge(self) -> None:
        """Tell every watcher outside this log; costs one stat() now and then when there is none."""
        now = time.monotonic_ns()
        if now < self._alone_until:
            return
        names = self._names()
        if not names:
            self._alone_until = now + _ALONE_NS
        for name in names:
            path = f"{self._directory}/{name}"
            if not self._is_own(path):
                self._send(path)

    def close(self) -> None:
        """Close the sending socket."""
        self._socket.close()

    def _names(self) -> tuple[str, ...]:
        """List the directory when it changed, or changed too recently for its time to tell."""
        try:
            changed = os.stat(self._directory).st_mtime_ns
            known_change, listed_at, names = self._listed
            if changed == known_change and listed_at - changed > _SETTLED_NS:
                return names
            now = time.time_ns()
            names = tuple(name for name in os.listdir(self._directory) if name[0] != ".")
        except OSError:
            return ()
        self._listed = (changed, now, names)
        return names

    def _send(self, path: str) -> None:
        try:
            self._socket.sendto(b"", path)
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)
        except OSError:
            return  # lost: the record is committed, and the watcher's polling will find it


def _make_private(directory: Path) -> None:
    """Make a directory that only this user can enter.

    Raises:
        PermissionError: someone else was there first.
    """
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{directory} is not a private directory of this user")
