"""What stands on disk: the files and folders below a root, without what is ignored, read when asked.

Links are files like any other and are never followed, so that nothing outside the root is read and no
loop is walked. A file is known by its stamp; one whose stamp is as it was has not changed, unless it was
written so lately that the clock of the disk may not tell two writes apart. Called by `tree.py`, in its
thread.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tidings.errors import CallerError
from tidings.watchers.changes import Known, Seen
from tidings.watchers.ignoring import Ignores
from tidings.watchers.own import OwnWrites, stamp_of

MOST_FOLDERS = 100_000
RACY = 2.0
"""Seconds within which two writes may bear the same time: the coarsest clock of a file system."""


class Found(msgspec.Struct):
    """Files and folders."""

    files: list[Seen] = []
    folders: set[str] = set()


class Survey:
    """Looks at paths below `root`, which are relative to it. What it finds is compared with `known`."""

    def __init__(self, root: Path, known: Known, ignores: Ignores, own: OwnWrites | None) -> None:
        self._root = root
        self._known = known
        self._ignores = ignores
        self._own = own

    def look(self, paths: Iterable[str]) -> Found:
        """What stands at each path now, and which of the files that stood there are gone."""
        found, gone = Found(), []
        for path in paths:
            there = self._stat(path)
            if there is not None and stat.S_ISDIR(there.st_mode):
                if not self._ignores.folder(path):
                    found.folders.add(path)
                gone += [path] if path in self._known.files else []
                continue
            gone += self._known.below([path])
            if there is None:
                gone.append(path)
            elif not self._ignores.file(path) and self._may_have_changed(path, there):
                found.files.append(self._seen(path, there))
        known = self._known.files
        found.files += [self._gone(path) for path in dict.fromkeys(gone) if path in known]
        return found

    def walk(self, folders: Iterable[str]) -> Found:
        """Everything below `folders`, themselves included, as many files as can be known.

        Raises:
            CallerError: there are more folders than can be watched.
        """
        found = Found()
        waiting = list(folders)
        while waiting:
            here = waiting.pop()
            entries = self._entries(here)
            if entries is None or here in found.folders:
                continue
            found.folders.add(here)
            if len(found.folders) > MOST_FOLDERS:
                raise CallerError(
                    f"{str(self._root)!r} has more than {MOST_FOLDERS:,} folders; watch a part of it, "
                    "or name in .gitignore what does not matter"
                )
            for entry in entries:
                path = f"{here}/{entry.name}" if here else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting += [] if self._ignores.folder(path) else [path]
                elif len(found.files) < self._known.most and not self._ignores.file(path):
                    found.files += self._entry(path, entry)
        return found

    def judged(self, seen: Iterable[Seen]) -> list[Seen]:
        """The same, asked once more whether the agent wrote it."""
        return [one if one.own else self._again(one) for one in seen]

    def _again(self, one: Seen) -> Seen:
        if one.stamp is None:
            return self._gone(one.path)
        there = self._stat(one.path)
        return one if there is None else self._seen(one.path, there)

    def _gone(self, path: str) -> Seen:
        return Seen(path, None, self._own is not None and self._own.removed(self._root / path))

    def _seen(self, path: str, there: os.stat_result) -> Seen:
        own = self._own is not None and self._own.wrote(self._root / path, there)
        return Seen(path, hash(stamp_of(there)), own)

    def _entry(self, path: str, entry: os.DirEntry[str]) -> Iterator[Seen]:
        try:
            there = entry.stat(follow_symlinks=False)
        except OSError:
            return
        mark = hash(stamp_of(there))
        yield Seen(path, mark) if self._known.files.get(path) == mark else self._seen(path, there)

    def _may_have_changed(self, path: str, there: os.stat_result) -> bool:
        same = self._known.files.get(path) == hash(stamp_of(there))
        return not same or there.st_mtime > time.time() - RACY

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self._root}/{path}")
        except OSError:
            return None

    def _entries(self, folder: str) -> list[os.DirEntry[str]] | None:
        """What is in a folder; None when it is gone or cannot be read."""
        try:
            with os.scandir(f"{self._root}/{folder}") as entries:
                return list(entries)
        except OSError:
            return None
