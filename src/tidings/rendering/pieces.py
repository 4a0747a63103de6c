"""The system text of a request, gathered in the seed's order, and what all wires share.

parts → primary system → reminders → appendix → suffix, joined by blank lines. Each may be a
string or a list of strings and text blocks; a wire that knows no blocks gets their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError

Piece: TypeAlias = str | Mapping[str, object]
SystemInput: TypeAlias = str | Sequence[Piece] | None


class Wire(Protocol):
    """What a vendor's wire does with planned texts. Stateless; messages are in its own form."""

    def body(
        self,
        system: Sequence[Piece],
        messages: Sequence[Message],
        developer: Sequence[str] = (),
        blocks: Sequence[str] = (),
        cached: frozenset[int] = frozenset(),
        breakpoints: int = 0,
    ) -> Payload:
        """The request body with everything at its seed place."""
        ...

    def closed(self, messages: Sequence[Message]) -> str | None:
        """Why nothing may be appended after `messages`; None when it may."""
        ...

    def message(self, role: str, texts: Sequence[str]) -> Payload:
        """A message of its own with these texts."""
        ...


def gather(name: str, given: SystemInput) -> list[Piece]:
    """`given` as a list of pieces; empty strings are left out.

    Raises:
        CallerError: naming the argument and what it holds.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [given] if given else []
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise CallerError(f"`{name}` must be a string or a list; got {given!r:.80}")
    pieces = [piece for piece in given if piece != ""]
    for index, piece in enumerate(pieces):
        if not isinstance(piece, (str, Mapping)):
            raise CallerError(f"`{name}[{index}]` must be a string or a block; got {piece!r:.80}")
    return pieces


def joined(pieces: Sequence[Piece]) -> str:
    """All pieces as one text, blocks by their text."""
    return "\n\n".join([text for piece in pieces if (text := piece_text(piece))])


def piece_text(piece: Piece) -> str:
    """The text of a string or a text block."""
    if isinstance(piece, str):
        return piece
    found = piece.get("text")
    return found if isinstance(found, str) else ""


def block_list(content: object) -> list[object] | None:
    """`content` as a list of blocks, if it is one."""
    return list(content) if isinstance(content, (list, tuple)) else None


def leading(messages: Sequence[Message]) -> int:
    """How many system and developer messages open the conversation."""
    head = 0
    while head < len(messages) and messages[head].get("role") in ("system", "developer"):
        head += 1
    return head


def open_turn(messages: Sequence[Message]) -> str | None:
    """Why the model's last turn stands open: it has the last word, or a call has no tool message."""
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


def first_plain_user(messages: Sequence[Message], role_of_user: str = "user") -> int | None:
    """The first user message that holds no tool results: where user blocks go (decision 18)."""
    from tidings.core.compaction import holds_tool_result

    for index, message in enumerate(messages):
        if message.get("role") == role_of_user and not holds_tool_result(message):
            return index
    return None
