"""Which files a host's own tools wrote, by an event: what the agent did itself it need not be told. Pure.

Only tools that say what they write are read; what a shell command writes cannot be known. That goes for a
patch, too, that Codex applies at a command of its shell tool: no hook is told when that is done. Paths are
as the host gave them, absolute or from its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tidings.hosts.fields import CALLS, LONGEST_PATH
from tidings.hosts.happening import Host

WRITERS: dict[Host, dict[str, tuple[str, ...]]] = {
    "claude-code": {
        "Edit": ("file_path",),
        "MultiEdit": ("file_path",),
        "Write": ("file_path",),
        "NotebookEdit": ("notebook_path",),
    },
    "codex": {"apply_patch": ("command",)},
    "gemini": {"write_file": ("file_path",), "replace": ("file_path",)},
    "opencode": {"edit": ("filePath",), "write": ("filePath",), "apply_patch": ("patchText",)},
}
"""The tools of each host that write files, and the arguments that say which."""

_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>.+?)\s*$", re.MULTILINE)


def written(host: Host, payload: Mapping[str, object]) -> tuple[str, ...]:
    """The files that the calls of an event wrote."""
    return tuple(dict.fromkeys(path for call in _calls(payload) for path in _paths(host, call)))


def _calls(payload: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    batch = payload.get("tool_calls")
    if isinstance(batch, list):
        yield from (call for call in batch[:CALLS] if isinstance(call, Mapping))
    elif "tool_response" in payload:
        yield payload


def _paths(host: Host, call: Mapping[str, object]) -> Iterator[str]:
    arguments = call.get("tool_input")
    names = WRITERS[host].get(str(call.get("tool_name")), ())
    for name in names if isinstance(arguments, Mapping) else ():
        value = arguments.get(name) if isinstance(arguments, Mapping) else None
        if not isinstance(value, str):
            continue
        patched = [found["path"] for found in _PATCHED.finditer(value)]
        for path in patched or [value]:
            if 0 < len(path) <= LONGEST_PATH and path.isprintable():
                yield path
