"""The tools of a served session, heard: what a call will change, when it starts and what came of it.

Wrapping a tool leaves what it does and what the model is told as they are. Called by `session.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from tidings.agent.port import Outcome
from tidings.agent.tools.attempt import presentable
from tidings.agent.tools.folder import Folder, is_binary
from tidings.agent.tools.tool import Run, Tool, ToolContext, ToolError
from tidings.bridge.served.updates import absolute, diff_content
from tidings.core.reminder import Payload

LARGEST_OLD = 256 * 1024
"""Bytes of a file that is shown as the old side of a diff."""

Heard: TypeAlias = Callable[[str, Outcome | None], None]
"""Hears a call's id when it starts (None), and again with what came of it."""


def heard(tool: Tool, hear: Heard) -> Tool:
    """`tool`, with `hear` told of every call that runs."""

    def bind(arguments: Payload) -> Run:
        run = tool.bind(arguments)

        async def listened(context: ToolContext) -> Outcome:
            hear(context.call_id, None)
            outcome = await run(context)
            hear(context.call_id, presentable(outcome, context.max_output))
            return outcome

        return listened

    return replace(tool, bind=bind)


def changes(name: str, arguments: Payload, folder: Folder) -> list[Payload]:
    """The diff that a call of `write_file` or `edit_file` asks for, before it runs; empty when unknown."""
    path = arguments.get("path")
    if not isinstance(path, str):
        return []
    place = absolute(str(folder.root), path)
    old, new, content = arguments.get("old"), arguments.get("new"), arguments.get("content")
    if name == "edit_file" and isinstance(old, str) and isinstance(new, str):
        return [diff_content(place, old, new)]
    if name == "write_file" and isinstance(content, str):
        return _rewritten(folder, path, place, content)
    return []


def _rewritten(folder: Folder, path: str, place: str, content: str) -> list[Payload]:
    try:
        found = folder.resolve(path)
        if not found.exists():
            return [diff_content(place, None, content)]
        if not found.is_file() or found.stat().st_size > LARGEST_OLD:
            return []
        before = found.read_bytes()
    except (ToolError, OSError):  # the call itself will say what is wrong with the path
        return []
    return [] if is_binary(before) else [diff_content(place, before.decode("utf-8", "replace"), content)]
