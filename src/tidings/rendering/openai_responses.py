"""OpenAI Responses: `instructions` and `input` items; developer items at the front,
behind the history's own system items.

Items are replayed untouched and in order: reasoning, function calls and their outputs keep their
neighbours. With `previous_response_id` the server keeps history, so what is sent stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, joined, leading


class OpenAIResponses:
    """The Responses wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),  # noqa: ARG002  this wire has no marks
        breakpoints: int = 0,  # noqa: ARG002  this wire has no marks
    ) -> Payload:
        """`instructions` (when there are any) and `input`."""
        body: Payload = {"instructions": joined(system)} if system else {}
        reminders: list[Message] = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
            for text in developer
        ]
        head = leading(messages)
        rest = _with_blocks(messages[head:], list(blocks))
        body["input"] = [*messages[:head], *reminders, *rest]
        return body

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open unless the last item is the model's, or a call still waits for its output."""
        if not messages:
            return None
        last = messages[-1]
        if last.get("role") == "assistant" or str(last.get("type")).endswith(("reasoning", "_call")):
            return "the last item is the model's: its tool calls or its answer stand open"
        linked = [(m.get("call_id"), _is_output(m)) for m in messages if m.get("call_id")]
        answered = {call_id for call_id, is_output in linked if is_output}
        waits = any(call_id not in answered for call_id, _ in linked)
        return "a tool call waits for its output" if waits else None

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """A message item with one text part each."""
        content = [{"type": "input_text", "text": text} for text in texts]
        return {"type": "message", "role": role, "content": content}


def _is_output(item: Message) -> bool:
    return str(item.get("type")).endswith("_output")


def _with_blocks(messages: Sequence[Message], texts: list[str]) -> list[Message]:
    if not texts:
        return list(messages)
    blocks = [{"type": "input_text", "text": text} for text in texts]
    index = first_plain_user(messages)
    if index is None:
        return [{"type": "message", "role": "user", "content": blocks}, *messages]
    message = messages[index]
    own = block_list(message.get("content"))
    if own is None:
        content = message.get("content")
        own = [{"type": "input_text", "text": content}] if content else []
    return [*messages[:index], {**message, "content": [*blocks, *own]}, *messages[index + 1 :]]
