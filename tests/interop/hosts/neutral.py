"""Recorded payloads without anything of the machine they come from: paths, ids, times, versions. Pure.

The same id always becomes the same neutral one, in the order in which ids first appear, so that events of
one session still belong together. Everything else stays as the host sent it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

WORK = "/workspace"
HOME = "/home/user"

IDS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b(?:ses|msg|prt|evt)_[0-9A-Za-z]{20,}"
    r"|\ba[0-9a-f]{16}\b"
)
"""Identifiers of all hosts: UUIDs, opencode's, and those of Claude Code's sub-agents."""

PLAIN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "2026-01-01T00:00:00.000Z"),
    (re.compile(r"session-[\dT-]{16}-[0-9a-f]{8}\b"), "session-2026-01-01T00-00-00000000"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d"), "2026-01-01T00-00-00"),
    (re.compile(r"/sessions/\d{4}/\d\d/\d\d/"), "/sessions/2026/01/01/"),
    (re.compile(r"date is [A-Z][a-z]+, [A-Z][a-z]+ \d+, \d{4}"), "date is Thursday, January 1, 2026"),
    (re.compile(r"Process Group PGID: \d+"), "Process Group PGID: 1000"),
    (re.compile(r"\b17\d{11}\b"), "1767225600000"),
    (re.compile(r'("version": ?)"\d+\.\d+\.\d+"'), r'\1"0.0.0"'),
    (re.compile(r'("slug": ?)"[a-z-]+"'), r'\1"a-slug"'),
    (re.compile(r'(nickname\\": ?\\")\w+'), r"\1Nickname"),
)
"""Times, numbers of processes, versions and names made up by chance."""


class Neutral:
    """Rewrites the payloads of one run; remembers the ids it has met."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = sorted(places.items(), key=lambda place: -len(place[0]))
        self._ids: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` with neutral values."""
        for place, neutral in self._places:
            text = text.replace(place, neutral)
        text = IDS.sub(lambda found: self._id(found[0]), text)
        for pattern, neutral in PLAIN:
            text = pattern.sub(neutral, text)
        return text

    def _id(self, found: str) -> str:
        if found not in self._ids:
            self._ids[found] = _like(found, len(self._ids) + 1)
        return self._ids[found]


def _like(found: str, number: int) -> str:
    """An id of the same form."""
    if "_" in found:
        kind = found.partition("_")[0]
        return f"{kind}_{number:0{len(found) - len(kind) - 1}d}"
    if "-" in found:
        return f"00000000-0000-{found[14]}000-8000-{number:012d}"
    return f"a{number:016d}"


def places(work: str, home: str, temporary: str) -> dict[str, str]:
    """What stands for the folders of a room, also in names made of a path."""
    dashed = {re.sub(r"[^A-Za-z0-9]", "-", work): "-workspace"}
    return {work: WORK, work.lstrip("/"): WORK.lstrip("/"), home: HOME, temporary: "/tmp", **dashed}
