"""Codex CLI: its hook events as a table, and the answers that it reads. Pure.

Nothing follows a batch that was declined, so the first refusal carries the news, and the others refer to
it. `moved_on` finds in the session's rollout file whether the next answer has begun. A Stop takes only a
reason, which the model sees as a hook's prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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


def read(payload: Mapping[str, object]) -> Happening | Odd:
    """What a hook payload says."""
    return dialect.read("codex", payload, EVENTS, VARIANTS)


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
