"""A model that follows a script: for tests, docs and demos, without network or key.

Each request takes the next step: a text, tool calls, a whole answer, an error to raise, or a function
of the request body that gives one of these. Every body is recorded. `script.py` reads scripts from
files.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias, Union

import msgspec

from tidings.agent.conversation import to_wire
from tidings.agent.port import Answer, ModelError, ToolCall, ToolSpec, Usage
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.rendering import route as routes
from tidings.rendering.route import Route

ROUTE = "openai-compatible/scripted"
"""Where a scripted model pretends to live, unless told otherwise."""

Said: TypeAlias = str | ToolCall | Sequence[ToolCall] | Answer | ModelError
Step: TypeAlias = Union[Said, Callable[[Payload], Said]]  # noqa: UP007  evaluated at run time


def call(name: str, /, **arguments: object) -> ToolCall:
    """A tool call for a script; it gets its id when it is made."""
    return ToolCall("", name, dict(arguments))


class ScriptedModel:
    """Answers with `steps`, one per request; `.requests` are the bodies it received.

    After the last step it raises, or says that step again and again with `repeat=True`.
    """

    def __init__(self, steps: Sequence[Step], *, route: Route | str = ROUTE, repeat: bool = False) -> None:
        if not isinstance(steps, (list, tuple)):
            raise CallerError(f"`steps` must be a list; got {steps!r:.80}")
        self.steps: tuple[Step, ...] = tuple(steps)
        self.repeat = repeat
        self.requests: list[Payload] = []
        self.tools: list[tuple[ToolSpec, ...]] = []
        self._route = routes.route(route) if isinstance(route, str) else route

    @property
    def route(self) -> Route:
        """What it can take."""
        return self._route

    def wire_messages(self, messages: Sequence[Message]) -> list[Payload]:
        """The loop's neutral messages in the wire's own form."""
        return to_wire(self._route.wire, messages)

    async def answer(
        self,
        body: Payload,
        tools: Sequence[ToolSpec] = (),
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Record the request and take the next step; its text is heard word by word.

        Raises:
            ModelError: the step is an error, or the script is over.
        """
        number = len(self.requests)
        self.requests.append(msgspec.to_builtins(body))
        self.tools.append(tuple(tools))
        answer = _answer(self._said(number, body), number)
        for piece in pieces(answer.text):
            if on_text is not None:
                on_text(piece)
            await asyncio.sleep(0)
        return answer

    def _said(self, number: int, body: Payload) -> Said:
        if not self.steps or (number >= len(self.steps) and not self.repeat):
            raise ModelError(
                f"the script is over: it has {len(self.steps)} steps, this is request {number + 1}"
            )
        step = self.steps[min(number, len(self.steps) - 1)]
        return step(body) if callable(step) else step


def _answer(said: Said, number: int) -> Answer:
    if isinstance(said, ModelError):
        raise said
    if isinstance(said, Answer):
        return _identified(said, number)
    if isinstance(said, str):
        return Answer(text=said, usage=Usage(output_tokens=len(pieces(said))))
    calls = tuple(said) if isinstance(said, (list, tuple)) else (said,)
    if not calls or not all(isinstance(each, ToolCall) for each in calls):
        raise CallerError(f"a step is text, tool calls, an Answer or a ModelError; got {said!r:.80}")
    return _identified(Answer(tool_calls=calls, stop="tools"), number)


def _identified(answer: Answer, number: int) -> Answer:
    """Calls without an id get one that no other call of this script has."""
    calls = tuple(
        each if each.id else msgspec.structs.replace(each, id=f"call_{number + 1}_{at + 1}")
        for at, each in enumerate(answer.tool_calls)
    )
    return msgspec.structs.replace(answer, tool_calls=calls)


def pieces(text: str) -> list[str]:
    """`text` as it might stream: words with the blanks before them."""
    return re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+\Z", text)
