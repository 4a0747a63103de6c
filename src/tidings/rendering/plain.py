"""Plain text: one `prompt`, for completion models, demos and logs.

System text first, then each message as a paragraph behind its role. Parts without text are written
as JSON, so that nothing of the history is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.pieces import Piece, block_list, first_plain_user, open_turn, piece_text

_SAID = ("role", "type", "content", "parts")


class Plain:
    """The plain text wire."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),  # noqa: ARG002  this wire has no marks
        breakpoints: int = 0,  # noqa: ARG002  this wire has no marks
    ) -> Payload:
        """`prompt`."""
        paragraphs = [text for piece in system if (text := piece_text(piece))]
        paragraphs += developer
        texts = list(blocks)
        index = first_plain_user(messages)
        if index is None:
            paragraphs += [f"User: {text}" for text in texts]
        for position, message in enumerate(messages):
            own = [*texts, _text(message)] if position == index else [_text(message)]
            role = str(message.get("role") or message.get("type") or "message").capitalize()
            paragraphs.append(f"{role}: " + "\n\n".join(own))
        return {"prompt": "\n\n".join(paragraphs)}

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Open when every call of the last assistant message has its tool message."""
        return open_turn(messages)

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """A paragraph of its own."""
        return {"role": role, "content": "\n\n".join(texts)}


def _text(message: Message) -> str:
    content = message.get("content", message.get("parts"))
    parts = block_list(content) or ([] if content is None else [content])
    more = {name: value for name, value in message.items() if name not in _SAID and value is not None}
    return "\n".join(map(_part, [*parts, more] if more else parts))


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else msgspec.json.encode(part).decode()
