"""The agent's own writes: what it wrote itself it need not be told.

A write is known by what the file was right after it (size, time, inode; or that it was gone), or by the
SHA-256 that somebody announces, before or after writing. As soon as anyone else changes the file neither
fits, and the change is told. `heard` wraps tools so that their `file_edited` events are noted at once; what
a command of the agent writes cannot be known, and is told.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeAlias, TypeVar

from tidings.agent.tools.function import Function
from tidings.agent.tools.hearing import hearing
from tidings.agent.tools.tool import Tool
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError

MOST = 10_000
"""How many files are remembered; the oldest leave."""
LARGEST_HASHED = 20_000_000
GRACE = 0.3
"""Seconds that word of a write may take from another process."""

T = TypeVar("T")
Stamp: TypeAlias = tuple[int, int, int]


def stamp_of(stat: os.stat_result) -> Stamp:
    """What tells one state of a file from the next."""
    return (stat.st_size, stat.st_mtime_ns, stat.st_ino)


class OwnWrites:
    """What the agent wrote; relative paths start at `root`. May be told and asked from any thread.

    `grace`: seconds that a watcher waits for word of a write that it has seen already. `complete`: whether
    all that the agent writes is noted, so that any other change is surely external.
    """

    def __init__(self, root: Path | str, *, grace: float = 0.0, complete: bool = True) -> None:
        self.root = Path(root).resolve()
        self.grace = grace
        self.complete = complete
        self._lock = Lock()
        self._stamps: OrderedDict[str, Stamp | None] = OrderedDict()
        self._hashes: OrderedDict[str, str] = OrderedDict()

    def note(self, path: str, sha256: str | None = None) -> bool:
        """The agent wrote `path`, or with a hash is about to; False when it is gone, by the agent then.

        Raises:
            CallerError: a hash that is none.
        """
        try:
            target = (self.root / path).resolve()
            if sha256 is not None:
                self._announce(str(target), sha256)
                return True
            stamp = _stamp(target)
        except (OSError, RuntimeError):
            return False
        with self._lock:
            _keep(self._stamps, str(target), stamp)
        return stamp is not None

    def _announce(self, name: str, digest: str) -> None:
        read = digest.lower().removeprefix("sha256:")
        if len(read) != 64 or not set(read) <= set("0123456789abcdef"):
            raise CallerError(f"`sha256` must be 64 hexadecimal digits; got {shown(digest)}")
        with self._lock:
            _keep(self._hashes, name, read)

    def wrote(self, path: Path, stat: os.stat_result) -> bool:
        """Whether the file, as it is now, is as the agent left it. Reads it if a hash was announced."""
        name = str(path)
        with self._lock:
            stamp, expected = self._stamps.get(name), self._hashes.get(name)
            if stamp is None:
                self._stamps.pop(name, None)
        if stamp == stamp_of(stat):
            return True
        if expected is None or stat.st_size > LARGEST_HASHED:
            return False
        try:
            found = sha256(path.read_bytes()).hexdigest()
        except OSError:
            return False
        if found == expected:
            with self._lock:
                _keep(self._stamps, name, stamp_of(stat))
        return found == expected

    def removed(self, path: Path) -> bool:
        """Whether it was the agent who removed a file, which has not been back since."""
        with self._lock:
            return self._stamps.get(str(path), ()) is None

    def heard(self, tools: Iterable[Tool | Function]) -> list[Tool]:
        """The same tools; what they emit as `file_edited` is noted before anyone else hears it."""
        return hearing(tools, self._hear)

    def _hear(self, event: str, payload: Payload) -> None:
        if event == "file_edited":
            self.note_event(payload)

    def note_event(self, payload: Mapping[str, object]) -> None:
        """Note the file of a `file_edited` event."""
        path = payload.get("path")
        if isinstance(path, str):
            self.note(path)


def _stamp(path: Path) -> Stamp | None:
    """What a file is now; None when it is gone."""
    try:
        return stamp_of(path.stat())
    except FileNotFoundError:
        return None


def _keep(table: OrderedDict[str, T], name: str, value: T) -> None:
    table.pop(name, None)
    table[name] = value
    if len(table) > MOST:
        table.popitem(last=False)
