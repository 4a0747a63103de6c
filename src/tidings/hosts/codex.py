"""Codex CLI: its hook events as a table, and the answers that it reads. Pure.

Nothing follows a batch that was declined, so the first refusal carries the news, and the others refer to
it. `moved_on` finds in the session's rollout file whether the next answer has begun. Nothing follows a
patch by the shell tool either, which Codex applies itself. A Stop takes only a reason, which the model sees
as a hook's prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from tidings.core.reminder import Payload
from tidings.hosts import dialect
from tidings.hosts.happening import NEUTRAL, PUSH, PUSHING, WAKE, WAKING, Delivery, Event, Happening, Odd

EVENTS: dict[str, Event] = {
    "SessionStart": Event(phase="starts"),
    "UserPromptSubmit": Event(seam="iteration_start", phase="prompted", carries=True, asks=True),
    "PreToolUse": Event(seam="pre_tool_dispatch", carries=True, declines=True, answered=True),
    "PostToolUse": Event(seam="post_tool_dispatch", carries=True, asks=True),
    "Stop": Event(seam="iteration_end", carries=True, goes_on=True, answered=True),
    "SubagentStart": Event(phase="child_starts", carries=True),
    "SubagentStop": Event(phase="child_ends"),
    "SessionEnd": Event(seam="loop_exit", phase="ends"),
    WAKE: WAKING,
    PUSH: PUSHING,
    **dict.fromkeys(("PermissionRequest", "PreCompact", "PostCompact", "Interrupt"), Event()),
}
"""Every event that this host has. Approvals are answered with nothing (decision 23)."""

VARIANTS: dict[tuple[str, str], Event] = {
    ("SessionStart", "compact"): Event(seam="iteration_start", phase="compacted", carries=True, asks=True),
}
"""Events that their `source` makes another one."""


PATCHES = replace(EVENTS["PreToolUse"], asks=True)
"""Before a patch by the shell tool: the next request is the next thing that happens."""

_PATCHES = re.compile(r"\s*(?:cd\s[^\n;|]*&&\s*)?apply_?patch\s")


def read(payload: Mapping[str, object]) -> Happening | Odd:
    """What a hook payload says."""
    read = dialect.read("codex", payload, EVENTS, VARIANTS)
    if isinstance(read, Odd) or read.name != "PreToolUse" or not _patches(payload):
        return read
    return replace(read, event=PATCHES)


def _patches(payload: Mapping[str, object]) -> bool:
    """Whether a call of the shell tool is one that Codex takes for a patch."""
    arguments = payload.get("tool_input")
    command = arguments.get("command") if isinstance(arguments, Mapping) else None
    shell = payload.get("tool_name") == "Bash" and isinstance(command, str)
    return shell and _PATCHES.match(str(command)) is not None


def answer(happening: Happening, delivery: Delivery) -> Payload:
    """What the hook answers."""
    if not happening.event.goes_on:
        return dialect.added(happening, delivery)
    return {"decision": "block", "reason": delivery.text} if delivery.text else NEUTRAL


def moved_on(rollout: bytes, declined: Collection[str], calls: Collection[str]) -> bool:
    """Whether a rollout file has one of `calls` behind the result of a declined one: a request followed.

    The other calls of a declined batch stand before its results, also when their hooks come later.
    """
    answered = False
    for line in rollout.splitlines():
        if answered and b'_call"' in line and _names(line, calls):
            return True
        answered = answered or (b'_call_output"' in line and _names(line, declined))
    return False


def _names(line: bytes, calls: Collection[str]) -> bool:
    return any(f'"{call}"'.encode() in line for call in calls)
