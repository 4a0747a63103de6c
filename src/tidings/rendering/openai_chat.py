"""OpenAI Chat Completions: one `messages` list; system first, developer messages after it.

Each tool message follows the assistant message that called it, so nothing is put between. Content
that is a string stays a string: servers that speak this wire often know nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, joined, leading, open_turn


class OpenAIChat:
    """The Chat Completions wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),  # noqa: ARG002  this wire has no marks
        breakpoints: int = 0,  # noqa: ARG002  this wire has no marks
    ) -> Payload:
        """`messages`, the system text as its first message."""
        head = leading(messages)
        opening = _with_system(messages[:head], joined(system))
        reminders: list[Message] = [{"role": "developer", "content": text} for text in developer]
        rest = _with_blocks(messages[head:] if head else messages, list(blocks))
        return {"messages": [*opening, *reminders, *rest]}

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open when every call of the last assistant message has its tool message."""
        return open_turn(messages)

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """One message with all texts."""
        return {"role": role, "content": "\n\n".join(texts)}


def _with_system(head: Sequence[Message], text: str) -> list[Message]:
    """The system text behind the history's own, in one message: many servers take only one."""
    if not text:
        return list(head)
    if not head or head[0].get("role") != "system":
        return [{"role": "system", "content": text}, *head]
    own = block_list(head[0].get("content"))
    if own is None:
        content: object = _joined(str(head[0].get("content") or ""), text)
    else:
        content = [*own, {"type": "text", "text": text}]
    return [{**head[0], "content": content}, *head[1:]]


def _with_blocks(messages: Sequence[Message], texts: list[str]) -> Sequence[Message]:
    if not texts:
        return messages
    index = first_plain_user(messages)
    if index is None:
        return [{"role": "user", "content": "\n\n".join(texts)}, *messages]
    message = messages[index]
    own = block_list(message.get("content"))
    if own is None:
        content: object = _joined(*texts, str(message.get("content") or ""))
    else:
        content = [*({"type": "text", "text": text} for text in texts), *own]
    return [*messages[:index], {**message, "content": content}, *messages[index + 1 :]]


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
