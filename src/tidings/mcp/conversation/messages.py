"""The loop's messages as a conversation: who said what in words, what is new, what was answered. Pure.

Tool calls and results, images, and the notes that the loop writes in the user's place are no words of the
user or the assistant and never leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.agent.run import CONTINUE
from tidings.mcp.conversation.wire import Turn

MOST_TURNS = 64
"""How far back the history is looked at; what is sent is bounded by the settings."""


def text_of(message: Mapping[str, object]) -> str:
    """The words of a message; images are left out."""
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, (list, tuple)):
        return ""
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    return "\n".join(str(block.get("text", "")) for block in blocks).strip()


def turns_of(messages: Sequence[Mapping[str, object]]) -> tuple[Turn, ...]:
    """The last words of user and assistant."""
    return tuple(
        Turn(str(message["role"]), text)
        for message in messages[-MOST_TURNS:]
        if message.get("role") in ("user", "assistant") and (text := text_of(message)) and text != CONTINUE
    )


def spoken_last(messages: Sequence[Mapping[str, object]], most: int) -> list[str]:
    """What the user said after everything else, at most in the last `most` messages."""
    said: list[str] = []
    for message in reversed(messages[max(len(messages) - most, 0) :]):
        text = text_of(message)
        if message.get("role") != "user":
            break
        if text and text != CONTINUE:
            said.insert(0, text)
    return said


def is_answered(messages: Sequence[Mapping[str, object]]) -> bool:
    """Whether the assistant had its last word before the newest user messages, with no call open."""
    said = [message for message in messages if message.get("role") != "user"]
    return bool(said) and said[-1].get("role") == "assistant" and not said[-1].get("tool_calls")
