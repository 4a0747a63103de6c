"""Claude Code: its hook events as a table, and the answers that it reads. Pure.

PreToolUse declines while something urgent waits, and PostToolBatch, which follows also when every call was
declined, tells it. Text added at Stop makes the agent go on.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.reminder import Payload
from tidings.hosts import dialect
from tidings.hosts.happening import WAKE, WAKING, Delivery, Event, Happening, Odd

EVENTS: dict[str, Event] = {
    "SessionStart": Event(phase="starts"),
    "UserPromptSubmit": Event(seam="iteration_start", phase="prompted", carries=True, asks=True),
    "PreToolUse": Event(seam="pre_tool_dispatch", declines=True),
    "PostToolBatch": Event(seam="post_tool_dispatch", carries=True, answered=True, asks=True),
    "Stop": Event(seam="iteration_end", carries=True, goes_on=True, answered=True),
    "SubagentStart": Event(phase="child_starts", carries=True),
    "SubagentStop": Event(phase="child_ends"),
    "SessionEnd": Event(seam="loop_exit", phase="ends"),
    WAKE: WAKING,
    **dict.fromkeys(
        (
            "PostToolUse", "PostToolUseFailure", "Notification", "UserPromptExpansion", "StopFailure",
            "PreCompact", "PostCompact", "PreModelSwitch", "PostModelSwitch", "PermissionRequest",
            "PermissionDenied", "Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation",
            "ElicitationResult", "ConfigChange", "WorktreeCreate", "WorktreeRemove", "InstructionsLoaded",
            "CwdChanged", "FileChanged", "DirectoryAdded", "MessageDisplay",
        ),
        Event(),
    ),
}  # fmt: skip
"""Every event that this host has. Approvals are answered with nothing (decision 23)."""

VARIANTS: dict[tuple[str, str], Event] = {
    ("SessionStart", "compact"): Event(seam="iteration_start", phase="compacted", carries=True, asks=True),
}
"""Events that their `source` makes another one."""


def read(payload: Mapping[str, object]) -> Happening | Odd:
    """What a hook payload says."""
    return dialect.read("claude-code", payload, EVENTS, VARIANTS)


def answer(happening: Happening, delivery: Delivery) -> Payload:
    """What the hook answers."""
    return dialect.added(happening, delivery)
