"""The built-in coding set: the tools for working in one folder, ready for a dispatcher.

Each tool is a method of a small class in its own module, bound to the same `Folder`. Whoever builds an
agent passes the tuple on, whole or in part, with tools of their own.
"""

from __future__ import annotations

from pathlib import Path

from tidings.agent.tools.command import MAX_TIMEOUT, Command
from tidings.agent.tools.folder import Folder
from tidings.agent.tools.function import tool
from tidings.agent.tools.reading import Reading
from tidings.agent.tools.searching import TIMEOUT, Searching
from tidings.agent.tools.tool import Tool
from tidings.agent.tools.writing import Writing

_MARGIN = 30.0
"""Seconds by which a tool's own timeout comes before the dispatcher's, so that its output survives."""


def workspace_tools(root: Path | str) -> tuple[Tool, ...]:
    """`read_file`, `write_file`, `edit_file`, `search`, `list_files` and `run_command` for `root`.

    Raises:
        CallerError: `root` is not a folder.
    """
    folder = Folder(root)
    writing, searching = Writing(folder), Searching(folder)
    return (
        tool(Reading(folder).read_file, read_only=True),
        tool(writing.write_file),
        tool(writing.edit_file),
        tool(searching.search, read_only=True, deadline=TIMEOUT + _MARGIN),
        tool(searching.list_files, read_only=True, deadline=TIMEOUT + _MARGIN),
        tool(Command(folder).run_command, deadline=MAX_TIMEOUT + _MARGIN),
    )
