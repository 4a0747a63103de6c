"""Which events of each host call us, and how: the groups that go into its settings. Data.

Only events that mean something are hooked: a hook costs the agent a moment. Deadlines are a few seconds,
because the command gives up after one by itself.
"""

from __future__ import annotations

import re

from tidings.core.reminder import Payload
from tidings.hosts.happening import Host
from tidings.hosts.writes import WRITERS

SECONDS = 5
LAST_SECONDS = 3
"""What Codex grants at most to a hook at the end of a session; a longer one makes it complain."""
WAKE_SECONDS = 12 * 3600

EVENTS: dict[Host, tuple[str, ...]] = {
    "claude-code": (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop",
        "SubagentStart", "SubagentStop", "SessionEnd",
    ),
    "codex": (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStart",
        "SubagentStop", "SessionEnd",
    ),
    "gemini": (
        "SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd",
    ),
}  # fmt: skip
"""The events that are hooked. opencode has a plugin instead."""

MATCHERS: dict[tuple[Host, str], str] = {
    ("claude-code", "PostToolUse"): "|".join(WRITERS["claude-code"]),
    ("gemini", "BeforeTool"): "*",
    ("gemini", "AfterTool"): "*",
}
"""Events of which only some tools matter, or that need to be told that all do. What a tool of Claude Code
wrote is told at once: the batch that it belongs to may go on for long."""

_OURS = re.compile(
    r"\btidings['\"]?\s+hook\s+(?:claude-code|codex|gemini)\b"
    r"|\btidings/cli/hook/call\.py['\"]?\s+(?:claude-code|codex|gemini)\b"
)


def groups(host: Host, command: str, wake: str | None = None) -> dict[str, Payload]:
    """The group of each event; `wake` is the command that waits beside an idle session."""
    made = {event: _group(host, event, command) for event in EVENTS[host]}
    if wake is not None:
        beside: Payload = {"type": "command", "command": wake, "timeout": WAKE_SECONDS, "asyncRewake": True}
        made["Stop"] = {"hooks": [*_handlers(host, "Stop", command), beside]}
    return made


def _group(host: Host, event: str, command: str) -> Payload:
    matched = MATCHERS.get((host, event))
    some: Payload = {} if matched is None else {"matcher": matched}
    return {**some, "hooks": _handlers(host, event, command)}


def _handlers(host: Host, event: str, command: str) -> list[Payload]:
    handler: Payload = {"type": "command", "command": command, "timeout": SECONDS}
    if host == "gemini":
        return [{"name": "tidings", **handler, "timeout": SECONDS * 1000}]
    if host == "codex" and event == "SessionEnd":
        return [{**handler, "timeout": LAST_SECONDS}]
    return [handler]


def is_ours(handler: Payload) -> bool:
    """Whether a handler of a settings file is one that we put there."""
    command = handler.get("command")
    return isinstance(command, str) and _OURS.search(command) is not None
