"""The two ports of the loop, a model and a tool, and the values that pass through them.

A model takes a rendered request body in its own wire form and gives an `Answer`; a tool takes
arguments and gives an `Outcome`. Adapters live in `models/` and `tools/`; tests use the scripted
model and plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.rendering.route import Route

Stop: TypeAlias = Literal["end", "tools", "length", "refused", "paused"]


class ToolCall(msgspec.Struct, frozen=True):
    """The model asks for a tool. `problem` says why its arguments could not be read, if so."""

    id: str
    name: str
    arguments: Payload
    problem: str | None = None


class ToolSpec(msgspec.Struct, frozen=True):
    """What the model is told about a tool: JSON Schema for its arguments."""

    name: str
    description: str
    schema: Payload


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more answers, as the provider counted them; cached ones are part of input."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said.

    `native` is the assistant's turn in the wire's own form (a list: some wires use several items),
    to be sent back verbatim: thinking blocks, reasoning items and signatures live there.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    native: tuple[Payload, ...] = ()
    usage: Usage = Usage()
    stop: Stop = "end"


class ModelError(TidingsError):
    """The provider did not give a usable answer; nothing fired and no ttl was spent.

    `retryable` says whether the same request may succeed later; `status` is the HTTP status, if any.
    """

    def __init__(self, message: str, *, retryable: bool = False, status: int | None = None) -> None:
        self.retryable = retryable
        self.status = status
        super().__init__(message)


class Model(Protocol):
    """A model behind a route."""

    @property
    def route(self) -> Route:
        """What it can take."""
        ...

    def wire_messages(self, messages: Sequence[Message]) -> list[Payload]:
        """The loop's neutral messages in the wire's own form."""
        ...

    async def answer(
        self,
        body: Payload,
        tools: Sequence[ToolSpec] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Send a rendered request; `on_text` hears text as it streams.

        Raises:
            ModelError: no usable answer.
        """
        ...


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave. `original_size` counts the characters before truncation."""

    text: str
    ok: bool = True
    truncated: bool = False
    original_size: int | None = None
    data: Mapping[str, object] = {}
