"""What the system says of a set of folders: watchfiles, told which folders to look at, one by one.

watchfiles itself would enter every folder: also those that nobody wants to hear about, and through links
whatever lies outside. So each folder is named, and a new set takes the place of the old one without a gap:
what the old one still had is handed over. Blocking; one thread calls it (`tree.py`). On macOS one watch of
the root sees everything below and follows no links. Needs `pip install tidings[watch]`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidings.errors import CallerError

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

Raw: TypeAlias = set[str]
"""The paths that something happened to, relative to the root, with `/`; "" is the root itself."""

STEP_MS = 50
MOST_STEPS = 32
"""watchfiles' own defaults: a batch ends after a step without events, or after so many with some."""
BURST = 500
"""Events that make a burst, which is followed until it pauses."""
PAUSE_MS = 400
LONGEST_BURST = 30.0
LONGEST_CHECKOUT = 10.0
"""Seconds for which what git does is taken for one thing, however slow it is."""
MOST_EVENTS = 250_000
_POLL_MS = 300
_SEES_BELOW = sys.platform == "darwin"


class Lookout:
    """The folders below `root` that are looked at; `stop` ends every wait within a step."""

    def __init__(self, root: Path, stop: threading.Event, poll: bool | None) -> None:
        self._root = root
        self._stop = stop
        self._poll = bool(os.environ.get("WATCHFILES_FORCE_POLLING")) if poll is None else poll
        self._notify: RustNotify | None = None
        self._former: RustNotify | None = None
        self._left: Raw = set()

    def cover(self, folders: Iterable[str]) -> None:
        """Look at exactly these folders from now on.

        Raises:
            FileNotFoundError: one of them is gone.
            CallerError: watchfiles is missing, or the system refuses.
        """
        before = self._notify
        if before is not None and _SEES_BELOW:
            return
        self._take_over()  # two of a kind at a time: the system counts every watched folder of each
        places = [str(self._root / folder) for folder in ([""] if _SEES_BELOW else folders)]
        self._notify = _notify(self._root, places, self._poll)
        self._former = before

    def wait(self, timeout_ms: int) -> Raw | None:
        """The next burst; nothing if none comes within the time, None when asked to stop."""
        self._take_over()
        raw, self._left = self._left, set()
        if self._notify is None:
            return raw
        found = self._heard(self._notify, STEP_MS if raw else timeout_ms)
        if found is None:
            return None
        raw |= found
        until = time.monotonic() + LONGEST_BURST
        while len(raw) < MOST_EVENTS and time.monotonic() < until:
            if len(raw) <= BURST and not self._checks_out():
                break
            more = self._heard(self._notify, PAUSE_MS)
            if not more and not self._checks_out():
                break
            raw |= more or set()
        return raw

    def _checks_out(self) -> bool:
        """Whether git is writing files right now; a lock that stands for long was left behind or waits."""
        try:
            begun = (self._root / ".git" / "index.lock").stat().st_mtime
        except OSError:
            return False
        return not self._stop.is_set() and abs(time.time() - begun) < LONGEST_CHECKOUT

    def close(self) -> None:
        """Look at nothing any more."""
        self._take_over()
        if self._notify is not None:
            self._notify.close()
            self._notify = None

    def _take_over(self) -> None:
        """End the former watch; what it was told, and what is still on its way to it, is kept."""
        if self._former is not None:
            self._left |= self._heard(self._former, STEP_MS, step_ms=1) or set()
            self._former.close()
            self._former = None

    def _heard(self, notify: RustNotify, timeout_ms: int, step_ms: int = STEP_MS) -> Raw | None:
        """What happened until a step passed without more; nothing after the time, None at the end."""
        found = notify.watch(MOST_STEPS * step_ms, step_ms, timeout_ms, self._stop)
        if isinstance(found, str):
            return set() if found == "timeout" else None
        return {path for _, full in found if (path := self._relative(full)) is not None}

    def _relative(self, path: str) -> str | None:
        if path == str(self._root):
            return ""
        prefix = f"{str(self._root).rstrip(os.sep)}{os.sep}"
        return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else None


def _notify(root: Path, places: list[str], poll: bool) -> RustNotify:
    try:
        from watchfiles._rust_notify import RustNotify
    except ImportError as error:
        raise CallerError("watching files needs watchfiles: pip install 'tidings[watch]'") from error
    try:
        return RustNotify(places, False, poll, _POLL_MS, _SEES_BELOW, True)
    except FileNotFoundError:
        raise
    except (OSError, RuntimeError) as error:
        raise CallerError(
            f"the system refuses to watch {str(root)!r} ({error}); raise its limit of watches "
            "(fs.inotify.max_user_watches), watch a smaller folder, or poll"
        ) from error
