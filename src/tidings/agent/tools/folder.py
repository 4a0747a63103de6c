"""The folder that the built-in tools work in: no path leads out of it.

A path may be relative or absolute, with `..` and with links; what it finally means must lie inside.
The check and the use are two steps: whoever can change links in between (a command that was let run)
is not held by this. Called by the tools of the coding set.
"""

from __future__ import annotations

from pathlib import Path

from tidings.agent.tools.tool import ToolError
from tidings.errors import CallerError

MAX_FILE = 20_000_000
"""Bytes of the largest file that is read or edited as a whole."""

_SNIFFED = 8192


class Folder:
    """A root folder, with links resolved once."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()
        if not self.root.is_dir():
            raise CallerError(f"workspace root {str(root)!r} is not a folder; create it first")

    def resolve(self, path: str) -> Path:
        """Where `path` leads, links resolved; it need not exist.

        Raises:
            ToolError: it leads outside, or cannot be a path.
        """
        try:
            found = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise ToolError(f"path {path!r} cannot be used: {error}") from error
        if not found.is_relative_to(self.root):
            raise ToolError(f"path {path!r} leads outside the workspace; use one inside {str(self.root)!r}")
        if any(part.is_symlink() for part in (found, *found.parents)):  # what is resolved holds no other
            raise ToolError(f"path {path!r} cannot be used: a link on it leads back to itself")
        return found

    def name(self, path: Path) -> str:
        """The path as the model knows it: relative to the root."""
        return path.relative_to(self.root).as_posix()

    def read(self, path: str) -> tuple[Path, bytes]:
        """A regular file and what is in it.

        Raises:
            ToolError: no such file, not a regular one, too large, or not readable.
        """
        found = self.resolve(path)
        try:
            if not found.exists():
                raise ToolError(f"there is no file {path!r}; list_files shows what there is")
            if not found.is_file():
                raise ToolError(f"{path!r} is not a regular file")
            if (size := found.stat().st_size) > MAX_FILE:
                raise ToolError(
                    f"{path!r} has {size} bytes, more than {MAX_FILE}; use search or run_command"
                )
            return found, found.read_bytes()
        except OSError as error:
            raise ToolError(f"{path!r} cannot be read: {error.strerror}") from error


def is_binary(content: bytes) -> bool:
    """Whether this is no text: a zero byte near the beginning."""
    return b"\0" in content[:_SNIFFED]
