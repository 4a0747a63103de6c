"""The waiting part of everything that reacts to files: a folder becomes batches of changes.

One thread per tree waits in watchfiles, reads what it must from disk and hands over one batch at a time;
what happens while nobody takes batches is merged by path. A burst that touches very many files is followed
until it is over. Needs `pip install tidings[watch]`.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidings.errors import CallerError
from tidings.watchers.changes import Batch, Known, Seen, classify
from tidings.watchers.ignoring import RULE_FILES, Ignores
from tidings.watchers.own import OwnWrites

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

Raw: TypeAlias = set[tuple[int, str]]

STEP_MS = 50
DEBOUNCE_MS = 1_600
"""watchfiles' own defaults: a batch ends after a step without events, or after the debounce time."""
BURST = 500
"""Events that make a burst, which is followed until it pauses."""
PAUSE_MS = 400
LONGEST_BURST = 30.0
MOST_FILES = 100_000
"""How many files are known by inode; beyond that, renamed files look deleted and created."""
MOST_EVENTS = 250_000
OVERFLOW = 10_000
"""Events in one burst from which on the system may have dropped some."""


class Tree:
    """The files below `root`, without what is ignored. `ready` is set once nothing will be missed."""

    def __init__(self, root: Path | str, *, own: OwnWrites | None = None, poll: bool | None = None) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise CallerError(f"`root` {str(root)!r} is not a folder; give one that exists")
        self.ready = asyncio.Event()
        self._own = own
        self._poll = poll
        self._stop = threading.Event()
        self._ignores = Ignores(self.root)
        self._known = Known(MOST_FILES)
        self._notify: RustNotify | None = None

    async def batches(self) -> AsyncGenerator[Batch, None]:
        """Every burst that changed something; ends with the generator.

        Raises:
            CallerError: watchfiles is missing, or the system refuses to watch.
        """
        loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._known = Known(MOST_FILES)
        thread = ThreadPoolExecutor(1, thread_name_prefix="tidings-watch")
        try:
            notify = await loop.run_in_executor(thread, self._start)
            self.ready.set()
            while (batch := await loop.run_in_executor(thread, self._next, notify)) is not None:
                if batch.changes or batch.head_moved:
                    yield batch
        finally:
            self.ready.clear()
            self._stop.set()  # the thread closes the watch within a step; nobody waits for it here
            thread.submit(self._close)
            thread.shutdown(wait=False)

    def _start(self) -> RustNotify:
        self._notify = _notify(self.root, self._poll)
        self._known.update(islice(self._walk(""), MOST_FILES))
        return self._notify

    def _close(self) -> None:
        if self._notify is not None:
            self._notify.close()

    def _next(self, notify: RustNotify) -> Batch | None:
        """Wait for a burst and read it; None when asked to stop."""
        raw = self._gather(notify)
        return None if raw is None else self._read(raw)

    def _gather(self, notify: RustNotify) -> Raw | None:
        raw = self._wait(notify, 0)
        if raw is None:
            return None
        until = time.monotonic() + LONGEST_BURST
        while BURST < len(raw) < MOST_EVENTS and time.monotonic() < until:
            more = self._wait(notify, PAUSE_MS)
            if not more:
                break
            raw |= more
        return raw

    def _wait(self, notify: RustNotify, timeout: int) -> Raw | None:
        """The next events; nothing after the timeout, None when asked to stop."""
        found = notify.watch(DEBOUNCE_MS, STEP_MS, timeout, self._stop)
        if isinstance(found, str):
            return set() if found == "timeout" else None
        return found

    def _read(self, raw: Raw) -> Batch:
        if not self.root.is_dir():
            raise CallerError(f"the watched folder {str(self.root)!r} is gone; start again when it is back")
        paths = {_relative(self.root, path) for _, path in raw} - {""}
        if any(path.rpartition("/")[2] in RULE_FILES for path in paths):
            self._ignores.forget()
        seen = list(self._look(paths))
        changes = classify(self._known.files, seen)
        self._known.update(seen)
        head = any(path in (".git/HEAD", ".git/HEAD.lock", ".jj/working_copy/checkout") for path in paths)
        return Batch(changes, head, len(raw) >= OVERFLOW)

    def _look(self, paths: set[str]) -> Iterator[Seen]:
        """What stands at each path now; folders stand for the files in them."""
        gone: list[str] = []
        known = self._known.files
        for path in paths:
            full = self.root / path
            try:
                found = full.lstat()
            except OSError:
                gone.append(path)
                continue
            if stat.S_ISDIR(found.st_mode):
                if not self._ignores.folder(path):
                    yield from (one for one in self._walk(path) if one.path not in known)
            elif not self._ignores.file(path):
                yield Seen(path, found.st_ino, self._own is not None and self._own.wrote(full, found))
        yield from (Seen(path, None) for path in (*gone, *self._known.below(gone)) if path in known)

    def _walk(self, folder: str) -> Iterator[Seen]:
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            try:
                entries = list(os.scandir(self.root / here))
            except OSError:
                continue
            for entry in entries:
                path = f"{here}/{entry.name}" if here else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not self._ignores.folder(path):
                        waiting.append(path)
                elif not self._ignores.file(path):
                    yield Seen(path, entry.inode())


def _notify(root: Path, poll: bool | None) -> RustNotify:
    try:
        from watchfiles._rust_notify import RustNotify
    except ImportError as error:
        raise CallerError("watching files needs watchfiles: pip install 'tidings[watch]'") from error
    force = bool(poll) if poll is not None else bool(os.environ.get("WATCHFILES_FORCE_POLLING"))
    try:
        return RustNotify([str(root)], False, force, 300, True, True)
    except (OSError, RuntimeError) as error:
        raise CallerError(
            f"the system refuses to watch {str(root)!r} ({error}); raise its limit of watches "
            "(fs.inotify.max_user_watches), watch a smaller folder, or poll"
        ) from error


def _relative(root: Path, path: str) -> str:
    prefix = f"{root}{os.sep}"
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else ""
