"""`write_file` and `edit_file`: files change whole or not at all, and the loop hears of it.

The new content is written beside the file, brought to disk, and takes its place in one step. Edits work
on bytes, so that what is not edited stays as it was, whatever its encoding. Both emit `file_edited`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tidings.agent.tools.folder import Folder
from tidings.agent.tools.tool import ToolContext, ToolError
from tidings.shell.ids import new_id

_LISTED_LINES = 5


class Writing:
    """The tools of one folder that change files."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def write_file(self, path: str, content: str, context: ToolContext) -> str:
        """Create a file of the workspace, or replace all of its content.

        Args:
            path: The file, relative to the workspace; missing folders are created.
            content: The whole new content.
        """
        target = self._folder.resolve(path)
        if target == self._folder.root or target.is_dir():
            raise ToolError(f"{path!r} is a folder; give the path of a file")
        existed = target.exists()
        data = _encoded("content", content)
        self._put(target, data, path, context)
        return f"{'Replaced' if existed else 'Created'} {path} ({len(data)} bytes)."

    def edit_file(self, path: str, old: str, new: str, context: ToolContext, all: bool = False) -> str:
        """Replace an exact piece of text in a file of the workspace.

        Args:
            path: The file, relative to the workspace.
            old: The text to replace, exactly as it stands in the file, without line numbers.
            new: The text to put in its place.
            all: Replace every occurrence; otherwise `old` must occur exactly once.
        """
        target, before = self._folder.read(path)
        old_bytes, new_bytes = _in_file_form(before, _encoded("old", old), _encoded("new", new))
        if not old or old == new:
            raise ToolError(f"old is {'empty' if not old else 'the same as new'}; nothing to replace")
        count = before.count(old_bytes)
        if count == 0:
            raise ToolError(_not_found(path, before, old))
        if count > 1 and not all:
            raise ToolError(_ambiguous(path, before, old_bytes, count))
        self._put(target, before.replace(old_bytes, new_bytes), path, context)
        return f"Replaced {count} occurrence{'s' if count > 1 else ''} in {path}."

    def _put(self, target: Path, data: bytes, path: str, context: ToolContext) -> None:
        if context.cancelled:
            raise ToolError(f"the call was cancelled before {path!r} was written")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, data)
        except OSError as error:
            raise ToolError(f"{path!r} cannot be written: {error.strerror}") from error
        context.emit("file_edited", {"path": self._folder.name(target), "tool_call_id": context.call_id})


def replace_file(target: Path, data: bytes) -> None:
    """Give `target` a new content in one step, with the permissions it had."""
    beside = target.with_name(f".{new_id()}.tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{name} has half a character at position {error.start}; send valid text"
        ) from error


def _in_file_form(before: bytes, old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """With the line ends of the file: `read_file` shows them all alike."""
    if b"\r\n" not in before or b"\r\n" in old:
        return old, new
    return old.replace(b"\n", b"\r\n"), new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _not_found(path: str, before: bytes, old: str) -> str:
    squeezed = " ".join(before.decode("utf-8", "replace").split())
    if " ".join(old.split()) in squeezed:
        return f"old does not occur in {path!r} with exactly this whitespace; copy it from read_file"
    return f"old does not occur in {path!r}; read the file again and copy the text exactly"


def _ambiguous(path: str, before: bytes, old: bytes, count: int) -> str:
    lines: list[str] = []
    place = before.find(old)
    while place >= 0 and len(lines) < _LISTED_LINES:
        lines.append(str(before.count(b"\n", 0, place) + 1))
        place = before.find(old, place + len(old))
    more = ", …" if count > _LISTED_LINES else ""
    return (
        f"old occurs {count} times in {path!r} (lines {', '.join(lines)}{more}); "
        "add the lines around it, or set all to true"
    )
