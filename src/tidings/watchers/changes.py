"""Raw file events become changes: created, edited, renamed, deleted. Pure.

The events of one moment are unreliable witnesses: a file that is saved by replacing it looks new, a moved
one looks deleted and created. What was there before (`known`: path to stamp) and what is there now decide
instead. A moved file keeps its stamp; an inode alone says nothing, because the next file gets it. Called by
`tree.py`, which reads both from disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["created", "edited", "renamed", "deleted"]
KINDS: tuple[Kind, ...] = ("edited", "created", "renamed", "deleted")
"""In the order in which they are told."""
_FEW_FOLDERS = 500


class Seen(msgspec.Struct, frozen=True):
    """A path that something happened to: its stamp now, None when it is gone, and whether we did it."""

    path: str
    stamp: int | None
    own: bool = False


class FileChange(msgspec.Struct, frozen=True):
    """What happened to one file; `was` is its former path when it was renamed."""

    kind: Kind
    path: str
    was: str | None = None
    own: bool = False


class Batch(msgspec.Struct, frozen=True):
    """The changes of one burst.

    `head_moved`: the VCS moved to another commit meanwhile. `uncertain`: so much happened that the system
    may have lost events.
    """

    changes: tuple[FileChange, ...]
    head_moved: bool = False
    uncertain: bool = False


def classify(
    known: Mapping[str, int], seen: Iterable[Seen], *, full: bool = False
) -> tuple[FileChange, ...]:
    """What happened, by path; a file that came and went within the burst is not mentioned.

    `full`: there are files that are not known, so that an unknown one need not be new.
    """
    now = {one.path: one for one in seen}
    gone = [path for path, one in now.items() if one.stamp is None and path in known]
    left: dict[int, str] = {known[path]: path for path in gone}
    changes: dict[str, FileChange] = {}
    moved: set[str] = set()
    for path, one in now.items():
        if one.stamp is None:
            continue
        if path in known:
            changes[path] = FileChange("edited", path, own=one.own)
        elif (was := left.pop(one.stamp, None)) is not None:
            changes[path] = FileChange("renamed", path, was, one.own)
            moved.add(was)
        else:
            changes[path] = FileChange("edited" if full else "created", path, own=one.own)
    for path in gone:
        if path not in moved:
            changes[path] = FileChange("deleted", path, own=now[path].own)
    return tuple(changes[path] for path in sorted(changes))


class Known:
    """The files that are there, with their stamps, `most` of them; and the folders they are in."""

    def __init__(self, most: int) -> None:
        self.files: dict[str, int] = {}
        self.folders: set[str] = set()
        self.most = most

    @property
    def is_full(self) -> bool:
        """Whether there may be files that are not known."""
        return len(self.files) >= self.most

    def update(self, seen: Iterable[Seen]) -> None:
        """Bring it up to date; beyond its bound new files are not kept."""
        for one in seen:
            if one.stamp is None:
                self.files.pop(one.path, None)
            elif one.path in self.files:
                self.files[one.path] = one.stamp
            elif not self.is_full:
                self.files[one.path] = one.stamp
                self._enter(one.path)
        if len(self.folders) > 2 * max(len(self.files), _FEW_FOLDERS):
            self._tidy()

    def _enter(self, path: str) -> None:
        while (path := path.rpartition("/")[0]) and path not in self.folders:
            self.folders.add(path)

    def _tidy(self) -> None:
        """Forget the folders in which no file is left."""
        self.folders.clear()
        for path in self.files:
            self._enter(path)

    def below(self, gone: Iterable[str]) -> list[str]:
        """The files in those of the paths that were folders, at any depth."""
        return below(self.files, self.folders.intersection(gone))


def without(folders: set[str], gone: Collection[str]) -> set[str]:
    """The folders that are none of `gone` and lie in none of them."""
    chosen = folders.intersection(gone)
    if not chosen:
        return folders
    return {path for path in folders if path not in chosen and not _has_ancestor(path, chosen)}


def below(known: Iterable[str], folders: Iterable[str]) -> list[str]:
    """The known files in any of `folders`, at any depth."""
    chosen = set(folders)
    return [path for path in known if _has_ancestor(path, chosen)] if chosen else []


def _has_ancestor(path: str, chosen: set[str]) -> bool:
    while "/" in path:
        path = path.rpartition("/")[0]
        if path in chosen:
            return True
    return False
