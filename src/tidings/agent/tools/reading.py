"""`read_file`: a text file becomes numbered lines, as many as fit.

Complete lines are shown from `start` on. What was cut short of the request is said in the last line
and flagged, so that a hook can warn before the model edits what it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from tidings.agent.port import Outcome
from tidings.agent.tools.folder import Folder, is_binary
from tidings.agent.tools.tool import ToolContext, ToolError

DEFAULT_LINES = 2000
MAX_LINE = 2000
_FOOTER_ROOM = 200

Start = Annotated[int, msgspec.Meta(ge=1, description="First line to show, counted from 1.")]
Limit = Annotated[int, msgspec.Meta(ge=1, description=f"Lines to show; {DEFAULT_LINES} when left out.")]


class Reading:
    """The reading tool of one folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read_file(
        self, path: str, context: ToolContext, start: Start = 1, limit: Limit | None = None
    ) -> Outcome:
        """Read a text file of the workspace as numbered lines.

        Args:
            path: The file, relative to the workspace.
        """
        _, content = self._folder.read(path)
        if is_binary(content):
            raise ToolError(
                f"{path!r} is a binary file of {len(content)} bytes; it cannot be shown as text"
            )
        text = content.decode("utf-8", "replace")
        lines = text.removesuffix("\n").split("\n") if text else []
        if start > max(len(lines), 1):
            raise ToolError(f"{path!r} has {len(lines)} lines; start={start} is beyond its end")
        wanted = lines[start - 1 :][: limit or DEFAULT_LINES]
        shown, cut = _fit(wanted, start, context.max_output - _FOOTER_ROOM)
        missing = len(shown) < len(wanted) or (limit is None and start - 1 + len(shown) < len(lines))
        notes = _notes(start, len(shown), len(lines), invalid=not _is_utf8(content))
        truncated = missing or cut
        return Outcome(
            text="\n".join([*shown, *notes]),
            truncated=truncated,
            original_size=len(text) if truncated else None,
            data={"path": path, "start": start, "lines": len(shown), "total_lines": len(lines)},
        )


def _fit(lines: Iterable[str], start: int, room: int) -> tuple[list[str], bool]:
    """The numbered lines that fit, always one at least, and whether a long one was cut."""
    shown: list[str] = []
    cut = False
    for number, line in enumerate(lines, start):
        body = line.removesuffix("\r")
        entry = f"{number:>6}\t{body[:MAX_LINE]}"
        if len(body) > MAX_LINE:
            entry += f" [… {len(body) - MAX_LINE} more characters in this line]"
        room -= len(entry) + 1
        if room < 0 and shown:
            break
        cut = cut or len(body) > MAX_LINE
        shown.append(entry)
    return shown, cut


def _notes(start: int, shown: int, total: int, *, invalid: bool) -> list[str]:
    notes = []
    if not total:
        notes.append("[the file is empty]")
    elif shown < total:
        end = start + shown - 1
        onward = f"; go on with start={end + 1}" if end < total else ""
        notes.append(f"[lines {start} to {end} of {total}{onward}]")
    if invalid:
        notes.append(
            "[not valid UTF-8: the bytes that are not text are shown as \N{REPLACEMENT CHARACTER}]"
        )
    return notes


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
