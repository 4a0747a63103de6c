"""The waiting part of everything that reacts to files: a folder becomes batches of changes.

One thread per tree waits for the system's word (`lookout.py`), reads what it must from disk
(`surveying.py`) and hands over one batch at a time; what happens while nobody takes batches is merged by
path. When the system may have lost something, or the folder itself was replaced, what was there and what
is there are compared whole. A folder that is gone is waited for.
"""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidings.errors import CallerError
from tidings.watchers.changes import Batch, Known, Seen, classify, without
from tidings.watchers.ignoring import RULE_FILES, Ignores
from tidings.watchers.lookout import Lookout, Raw
from tidings.watchers.own import OwnWrites
from tidings.watchers.surveying import Found, Survey

MOST_FILES = 100_000
"""How many files are known; beyond that, created files look changed and renamed ones deleted."""
OVERFLOW = 10_000
"""Paths in one burst from which on the system may have dropped some."""
LOOK_AGAIN = 5.0
"""Seconds after which the folder itself is looked at though nothing was heard of it."""
ABSENT = 0.5
"""Seconds between two looks for a folder that is gone."""
TRIES = 5
"""How often folders that appear while others are being entered are followed."""
HEADS = frozenset((".git/HEAD", ".git/HEAD.lock", ".jj/working_copy/checkout"))
_VCS_FOLDERS = (".git", ".jj/working_copy")


class Tree:
    """The files below `root`, without what is ignored. `ready` is set once nothing will be missed."""

    def __init__(self, root: Path | str, *, own: OwnWrites | None = None, poll: bool | None = None) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise CallerError(f"`root` {str(root)!r} is not a folder; give one that exists")
        self.ready = asyncio.Event()
        self._own = own
        self._poll = poll

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Every burst that changed something; ends with the generator.

        Raises:
            CallerError: watchfiles is missing, or the system refuses to watch.
        """
        loop = asyncio.get_running_loop()
        watch = _Watch(self.root, self._own, self._poll)
        thread = ThreadPoolExecutor(1, thread_name_prefix="tidings-watch")
        try:
            await loop.run_in_executor(thread, watch.start)
            self.ready.set()
            while (batch := await loop.run_in_executor(thread, watch.next)) is not None:
                if batch.changes or batch.head_moved:
                    yield batch
        finally:
            self.ready.clear()
            watch.stop.set()  # the thread closes the watch within a step; nobody waits for it here
            thread.submit(watch.close)
            thread.shutdown(wait=False)


class _Watch:
    """One watch of a folder, from its start to its end, in its own thread."""

    def __init__(self, root: Path, own: OwnWrites | None, poll: bool | None) -> None:
        self.stop = threading.Event()
        self._root = root
        self._own = own
        self._known = Known(MOST_FILES)
        self._ignores = Ignores(root)
        self._survey = Survey(root, self._known, self._ignores, own)
        self._lookout = Lookout(root, self.stop, poll)
        self._folders: set[str] = set()
        self._identity: tuple[int, int] | None = None

    def start(self) -> None:
        self._identity = _identity(self._root)
        self._known.update(self._enter({""}).files)

    def close(self) -> None:
        self._lookout.close()

    def next(self) -> Batch | None:
        """Wait for a burst and read it; None when asked to stop."""
        while not self.stop.is_set():
            if self._identity is None and self.stop.wait(ABSENT):
                return None
            raw = self._lookout.wait(int(LOOK_AGAIN * 1000))
            if raw is None:
                return None
            if "" in raw or _identity(self._root) != self._identity:
                return self._anew()
            if raw:
                return self._read(raw)
        return None

    def _anew(self) -> Batch:
        """The folder is gone, or is another one: all of it is compared."""
        self._identity = _identity(self._root)
        self._folders = set()
        self._ignores.forget()
        if self._identity is None:
            self._lookout.close()
            return self._told([Seen(path, None) for path in self._known.files])
        return self._told(self._differences())

    def _read(self, raw: Raw) -> Batch:
        lost, head = len(raw) >= OVERFLOW, not HEADS.isdisjoint(raw)
        rules_changed = any(path.rpartition("/")[2] in RULE_FILES for path in raw)
        if rules_changed:
            self._ignores.forget()
        found = Found() if lost else self._survey.look(raw)
        self._folders = without(self._folders, raw)  # one that is heard of came, went, or is another now
        seen = {one.path: one for one in found.files}
        if lost or rules_changed:
            more = {one.path: one for one in self._differences() if one.path not in seen}
            if lost:
                seen |= more
            else:
                self._known.update(one for path, one in more.items() if path not in self._known.files)
        else:
            seen |= {one.path: one for one in self._enter(found.folders).files}
        if not raw.isdisjoint(_VCS_FOLDERS):
            self._cover()
        return self._told(list(seen.values()), head=head, lost=lost)

    def _told(self, seen: list[Seen], *, head: bool = False, lost: bool = False) -> Batch:
        if self._own is not None and self._own.grace and not all(one.own for one in seen):
            self.stop.wait(self._own.grace)
            seen = self._survey.judged(seen)
        changes = classify(self._known.files, seen, full=self._known.is_full)
        self._known.update(seen)
        return Batch(changes, head, uncertain=lost and self._known.is_full)

    def _differences(self) -> list[Seen]:
        """Everything that is not as it was; what is ignored by now is forgotten and no news."""
        there = {one.path: one for one in self._enter({""}).files}
        known = self._known.files
        gone = [Seen(path, None) for path in known if path not in there]
        quiet = [one for one in gone if self._ignores.file(one.path)]
        self._known.update(quiet)
        differing = [one for one in there.values() if known.get(one.path) != one.stamp]
        return [*differing, *(one for one in gone if one.path in known)]

    def _enter(self, folders: set[str]) -> Found:
        """Look at everything below these folders from now on; gives what is there."""
        found = Found()
        for _ in range(TRIES):
            found = self._survey.walk(folders)
            if found.folders <= self._folders:
                break
            self._folders |= found.folders
            self._cover()
        return found

    def _cover(self) -> None:
        """Have the system tell of every folder that is left; one that goes meanwhile is left out."""
        for _ in range(TRIES):
            heads = [folder for folder in _VCS_FOLDERS if (self._root / folder).is_dir()]
            try:
                self._lookout.cover([*self._folders, *heads])
            except FileNotFoundError:
                self._folders = {path for path in self._folders if _identity(self._root / path)}
            else:
                return


def _identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from another of its name; None when there is none."""
    try:
        found = folder.stat(follow_symlinks=False)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
