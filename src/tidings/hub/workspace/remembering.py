"""Which folders were attached, for a hub that starts again after a crash.

A hub that is stopped forgets them; one that was killed finds the file and attaches them again. The digest
says which `tidings.toml` its owner attached: another one is not used before they do so again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Remembered(msgspec.Struct, frozen=True):
    """A folder, and the digest of the file that was used; None for a folder without one."""

    path: str
    digest: str | None


class Memory:
    """A file with the attached folders; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> list[Remembered]:
        """What a hub before us left; nothing when the file is not there or cannot be read."""
        if self._path is None:
            return []
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=list[Remembered])
        except (OSError, msgspec.DecodeError):
            return []

    def write(self, attached: Iterable[Remembered]) -> None:
        """Keep these, all at once."""
        if self._path is None:
            return
        draft = self._path.with_suffix(".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(list(attached)))
        draft.replace(self._path)

    def forget(self) -> None:
        """Keep nothing: the hub stops in order."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
