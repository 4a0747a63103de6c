"""Gemini generateContent: `systemInstruction` and `contents` of parts, roles user and model.

Function responses answer the calls of the content before them; a text part may follow them in the
same content. Thought signatures are kept verbatim because parts are never rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, joined


class Gemini:
    """The generateContent wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),  # noqa: ARG002  this wire has no developer role
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),  # noqa: ARG002  this wire has no marks
        breakpoints: int = 0,  # noqa: ARG002  this wire has no marks
    ) -> Payload:
        """`systemInstruction` (when there is any) and `contents`."""
        body: Payload = {}
        if system:
            body["systemInstruction"] = {"parts": [{"text": joined(system)}]}
        body["contents"] = _with_parts(messages, [{"text": text} for text in blocks])
        return body

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open unless the model has the last word."""
        if messages and messages[-1].get("role") == "model":
            return "the last content is the model's: its calls or its answer stand open"
        return None

    def message(self, role: str, texts: Sequence[str]) -> Payload:  # noqa: ARG002  always user
        """A user content with one part each."""
        return {"role": "user", "parts": [{"text": text} for text in texts]}


def _with_parts(messages: Sequence[Message], parts: list[Payload]) -> list[Message]:
    if not parts:
        return list(messages)
    index = first_plain_user(messages)
    if index is None:
        return [{"role": "user", "parts": parts}, *messages]
    message = messages[index]
    own = block_list(message.get("parts")) or []
    return [*messages[:index], {**message, "parts": [*parts, *own]}, *messages[index + 1 :]]
