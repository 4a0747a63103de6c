"""Anthropic Messages: `system` and `messages`, user content as blocks, four cache breakpoints.

Tool results come first in the user message after their calls, so a block never goes into such a
message in front of them; a role `system` message stands after a user turn and before an
assistant one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, joined

BREAKPOINTS = 4
"""How many `cache_control` marks one request may carry, tools included."""


class Anthropic:
    """The Anthropic Messages wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),  # noqa: ARG002  this wire has no developer role
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),
        breakpoints: int = 0,
    ) -> Payload:
        """`system` (when there is any) and `messages`."""
        body: Payload = {}
        if system:
            body["system"] = _system(system)
        made: list[Payload] = [{"type": "text", "text": text} for text in blocks]
        if cached:
            used = breakpoints + _count_marks(body.get("system")) + _count_marks(messages)
            _mark(made, sorted(cached)[: max(0, BREAKPOINTS - used)])
        body["messages"] = _with_blocks(messages, made)
        return body

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open unless the model has the last word, or a system message must get its answer first."""
        role = messages[-1].get("role") if messages else None
        if role == "assistant" and not _server_tool(messages[-1]):
            return "the last message is the assistant's: its tool calls or its answer stand open"
        return (
            "the last message is a system message: only an answer may follow" if role == "system" else None
        )

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """User texts as blocks; a system message as one string."""
        if role == "system":
            return {"role": "system", "content": "\n\n".join(texts)}
        return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def _system(pieces: Sequence[Piece]) -> object:
    if all(isinstance(piece, str) for piece in pieces):
        return joined(pieces)
    return [{"type": "text", "text": p} if isinstance(p, str) else dict(p) for p in pieces]


def _mark(blocks: list[Payload], positions: list[int]) -> None:
    for position in positions:
        blocks[position]["cache_control"] = {"type": "ephemeral"}


def _with_blocks(messages: Sequence[Message], blocks: list[Payload]) -> list[Message]:
    if not blocks:
        return list(messages)
    index = first_plain_user(messages)
    if index is None:
        return [{"role": "user", "content": blocks}, *messages]
    message = messages[index]
    content = message.get("content")
    own = block_list(content)
    if own is None:
        own = [{"type": "text", "text": content}] if content else []
    return [*messages[:index], {**message, "content": [*blocks, *own]}, *messages[index + 1 :]]


def _server_tool(message: Message) -> bool:
    blocks = block_list(message.get("content")) or [{}]
    last = blocks[-1]
    kind = last.get("type") if isinstance(last, Mapping) else None
    return isinstance(kind, str) and (kind == "server_tool_use" or kind.endswith("_tool_result"))


def _count_marks(content: object) -> int:
    """The `cache_control` marks in system, messages and the blocks inside them."""
    if isinstance(content, Mapping):
        inner = _count_marks(content.get("content"))
        return inner + (content.get("cache_control") is not None)
    if isinstance(content, (list, tuple)):
        return sum(map(_count_marks, content))
    return 0
