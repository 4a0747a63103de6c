"""OpenAI Chat Completions: one `messages` list; system first, developer messages after it.

Each tool message follows the assistant message that called it, so nothing is put between. Content
that is a string stays a string: servers that speak this wire often know nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, joined
from tidings.rendering.plan import Fragment


class OpenAIChat:
    """The Chat Completions wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),
        blocks: Sequence[Fragment] = (),
        breakpoints: int = 0,  # noqa: ARG002  this wire has no marks
    ) -> Payload:
        """`messages`, the system text as its first message."""
        first: list[Message] = [{"role": "system", "content": joined(system)}] if system else []
        head = 0
        while head < len(messages) and messages[head].get("role") in ("system", "developer"):
            head += 1
        reminders: list[Message] = [{"role": "developer", "content": text} for text in developer]
        rest = _with_blocks(messages[head:], [fragment.text for fragment in blocks])
        return {"messages": [*first, *messages[:head], *reminders, *rest]}

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open when every call of the last assistant message has its tool message."""
        answered: set[object] = set()
        for message in reversed(messages):
            if message.get("role") == "tool":
                answered.add(message.get("tool_call_id"))
                continue
            if message.get("role") != "assistant":
                return None
            calls = block_list(message.get("tool_calls")) or []
            ids = {call.get("id") for call in calls if isinstance(call, dict)}
            if ids and ids <= answered:
                return None
            return "the last assistant message waits: its tool calls or its answer stand open"
        return None

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """One message with all texts."""
        return {"role": role, "content": "\n\n".join(texts)}


def _with_blocks(messages: Sequence[Message], texts: list[str]) -> list[Message]:
    if not texts:
        return list(messages)
    index = first_plain_user(messages)
    if index is None:
        return [{"role": "user", "content": "\n\n".join(texts)}, *messages]
    message = messages[index]
    own = block_list(message.get("content"))
    if own is None:
        content: object = "\n\n".join([*texts, str(message.get("content") or "")]).rstrip("\n")
    else:
        content = [*({"type": "text", "text": text} for text in texts), *own]
    return [*messages[:index], {**message, "content": content}, *messages[index + 1 :]]
