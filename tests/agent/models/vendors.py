"""The four adapters behind their real SDKs, pointed at a fake provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import tidings as td
from tidings.agent.models.anthropic import AnthropicModel
from tidings.agent.models.gemini import GeminiModel
from tidings.agent.models.openai_chat import OpenAIChatModel
from tidings.agent.models.openai_responses import OpenAIResponsesModel
from tidings.agent.models.patience import Patience
from tidings.agent.models.streamed import StreamedModel
from tidings.agent.port import Answer, ModelError, ToolSpec
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.testing.fake_provider import FakeProvider

DEADLINE = 10.0
KEY = "sk-test-0123456789abcdef"
WIRES = ("anthropic", "openai_chat", "openai_responses", "gemini")
ENTRIES = {
    "anthropic": "messages",
    "openai_chat": "messages",
    "openai_responses": "input",
    "gemini": "contents",
}

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


class Naps:
    """Sleeps that take no time and are counted."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def make(
    wire: str, provider: FakeProvider, *, patience: Patience | None = None, **options: Any
) -> StreamedModel:
    """The adapter for `wire`."""
    shared = {"api_key": KEY, "patience": patience or Patience(deadline=DEADLINE, sleep=Naps()), **options}
    if wire == "anthropic":
        return AnthropicModel("claude-opus-5", base_url=provider.url, **shared)
    if wire == "openai_chat":
        return OpenAIChatModel("gpt-5", route="openai/gpt-5", base_url=provider.openai_url, **shared)
    if wire == "openai_responses":
        return OpenAIResponsesModel("gpt-5", base_url=provider.openai_url, **shared)
    return GeminiModel("gemini-2.5-pro", base_url=provider.url, **shared)


def body(model: StreamedModel, messages: Sequence[Message]) -> Payload:
    """A rendered request."""
    wire = model.wire_messages(messages)
    return dict(td.render(model.route, messages=wire, system="Be brief.").body)


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run `work` inside the deadline."""

    async def bounded() -> Any:
        async with asyncio.timeout(DEADLINE):
            return await work()

    return asyncio.run(bounded())


def ask(
    model: StreamedModel,
    messages: Sequence[Message],
    tools: Sequence[ToolSpec] = (),
    on_text: Callable[[str], None] | None = None,
) -> Answer:
    """One request and its answer; the client is closed afterwards."""

    async def work() -> Answer:
        try:
            return await model.answer(body(model, messages), tools, on_text)
        finally:
            await model.close()

    answer = run(work)
    assert isinstance(answer, Answer)
    return answer


def error_of(
    model: StreamedModel, messages: Sequence[Message], heard: list[str] | None = None
) -> ModelError:
    """The error that the request ends in."""
    try:
        answer = ask(model, messages, on_text=heard.append if heard is not None else None)
    except ModelError as error:
        return error
    raise AssertionError(f"an answer instead of an error: {answer}")
