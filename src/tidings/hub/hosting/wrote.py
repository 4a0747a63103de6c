"""What the tools of each session wrote: where several work in one folder, its writer alone is not told.

The watcher of files leaves out what a session wrote that is alone in its folder (`workspace/writes.py`).
With others there everybody is sent the news. Here that of the writer is left out, as long as the file is as
it left it: it waits until it is late, or newer news of that file take its place. News that list many files
are for all.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

from tidings.hub.envelope import Envelope
from tidings.watchers.filing import TAGS
from tidings.watchers.own import OwnWrites

SESSIONS = 256
"""Of how many sessions it is remembered; those that wrote longest ago leave."""
_KEY = "file_changed:"


class Wrote:
    """What sessions wrote, by their names at the hub."""

    def __init__(self) -> None:
        self._own: OrderedDict[str, OwnWrites] = OrderedDict()

    def note(self, name: str, workspace: str, paths: Iterable[str]) -> None:
        """A session wrote these files just now."""
        own = self._own.setdefault(name, OwnWrites(workspace))
        self._own.move_to_end(name)
        for path in paths:
            own.note(path)
        while len(self._own) > SESSIONS:
            self._own.popitem(last=False)

    def forget(self, name: str) -> None:
        """A session has ended."""
        self._own.pop(name, None)

    def others(self, name: str, envelopes: list[Envelope]) -> list[Envelope]:
        """What is not news of the session's own doing."""
        own = self._own.get(name)
        return envelopes if own is None else [one for one in envelopes if not _is_own(own, one)]


def _is_own(own: OwnWrites, envelope: Envelope) -> bool:
    """Whether it is news of one file, which is as the session left it."""
    key, folder = envelope.reminder.get("dedupe_key"), envelope.to.workspace
    if envelope.origin is None or folder is None or not isinstance(key, str) or not key.startswith(_KEY):
        return False
    if envelope.reminder.get("tags") != list(TAGS):
        return False
    path = Path(folder, key.removeprefix(_KEY))
    try:
        there = path.lstat()
    except OSError:
        return own.removed(path)
    return own.wrote(path, there)
