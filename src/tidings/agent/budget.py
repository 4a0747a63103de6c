"""How full the context window is, and the shorter conversation that a compaction makes. Pure.

Use is measured from the provider's own count of the last request and answer; without one there is
nothing to measure and nothing fires.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidings.agent.port import Usage
from tidings.core.compaction import truncated
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.route import Route

SUMMARY_PROMPT = (
    "Summarise the conversation so far for your own later use: the task, what was decided and why, what "
    "was done and found, what is open. Be complete and short. Answer with the summary alone."
)


class Use(msgspec.Struct, frozen=True):
    """How full the window is: the payload of `on_budget_threshold`."""

    tokens_used: int
    context_window: int
    ratio: float


def pressure(usage: Usage, route: Route, window: int | None = None) -> Use | None:
    """The use after the last answer; None before the first, or when no window is known."""
    size = window or route.context_window
    used = usage.input_tokens + usage.output_tokens
    return Use(used, size, used / size) if size and used else None


DROPPED = "[Not from the user: nobody typed this. Earlier messages were dropped to make room.]"


def shortened(messages: Sequence[Message], keep: int) -> list[Message]:
    """The last messages; what opens the conversation stays a user's part, as every wire wants it."""
    tail = list(truncated(messages, keep))
    head = [m for m in tail if m.get("role") in ("system", "developer")]
    if len(tail) > len(head) and tail[len(head)].get("role") == "user":
        return tail
    return [*head, {"role": "user", "content": DROPPED}, *tail[len(head) :]]


def summarised(messages: Sequence[Message], keep: int, summary: str) -> list[Message]:
    """The summary in place of the older messages; a tool call keeps its result."""
    tail = list(truncated(messages, keep))
    head = [m for m in tail if m.get("role") in ("system", "developer")]
    rest = [m for m in tail if m.get("role") not in ("system", "developer")]
    told: Message = {"role": "user", "content": f"Summary of the conversation so far:\n\n{summary}"}
    while rest and rest[0].get("role") == "tool":
        rest = rest[1:]
    return [*head, told, *rest]


def open_calls(messages: Sequence[Message]) -> list[Payload]:
    """The tool calls of the last assistant message that no result follows."""
    answered: set[object] = set()
    for message in reversed(messages):
        if message.get("role") == "tool":
            answered.add(message.get("tool_call_id"))
        elif message.get("role") == "assistant":
            calls = message.get("tool_calls")
            given = calls if isinstance(calls, (list, tuple)) else ()
            return [dict(call) for call in given if call.get("id") not in answered]
        else:
            return []
    return []


def system_text(body: Payload) -> object:
    """The system part of a request body, whatever its wire: what a prompt cache begins with."""
    for name in ("system", "instructions", "systemInstruction"):
        if name in body:
            return body[name]
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else {}
    return first.get("content") if first.get("role") == "system" else ""
