"""OpenAI Chat Completions and servers that speak it: `{"messages"}` becomes a streamed answer.

The assistant message is put together from the deltas. What other servers add to it and want back
(reasoning text, signatures on tool calls) is kept with it, see `_KEPT`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidings.agent.models.arguments import read_call, unless_cut
from tidings.agent.models.failure import incomplete
from tidings.agent.models.openai_sdk import OpenAISdkModel
from tidings.agent.models.patience import Patience
from tidings.agent.port import Answer, Stop, ToolSpec, Usage
from tidings.core.reminder import Payload
from tidings.rendering.route import Route, Wire

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_STOPS: dict[object, Stop] = {
    "stop": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "content_filter": "refused",
}

NO_KEY = "none"
"""Sent to other servers unless a key is given: the one in OPENAI_API_KEY is not for them."""

_KEPT = ("refusal", "reasoning_content", "reasoning", "reasoning_details")
"""Parts of the assistant message beside content and tool calls that go back as they came."""


def to_tools(tools: Sequence[ToolSpec]) -> list[Payload]:
    """Tools as the vendor declares them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }
        for tool in tools
    ]


def to_usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts; what was cached is part of the prompt."""
    details = counts.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=counts.get("prompt_tokens") or 0,
        output_tokens=counts.get("completion_tokens") or 0,
        cached_tokens=details.get("cached_tokens") or 0,
    )


class Deltas:
    """Gathers the chunks of a completion into one assistant message."""

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._text = ""
        self._kept: dict[str, Any] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage = Usage()
        self._finish: object = None

    def add(self, event: dict[str, Any]) -> str:
        """Take one chunk; gives the text that it streams."""
        if event.get("usage"):
            self._usage = to_usage(event["usage"])
        text = ""
        for choice in event["choices"][:1]:
            delta = choice.get("delta") or {}
            text = delta.get("content") or ""
            self._text += text
            for call in delta.get("tool_calls") or ():
                self._call(call)
            for name in _KEPT:
                if delta.get(name) is not None:
                    self._kept[name] = _more(self._kept.get(name), delta[name])
            self._finish = choice.get("finish_reason") or self._finish
        return text

    def _call(self, delta: dict[str, Any]) -> None:
        """Calls grow by their index; servers that send none send whole calls."""
        index = delta.get("index")
        at = len(self._calls) if index is None else int(index)
        call = self._calls.setdefault(at, {"type": "function", "function": {"name": "", "arguments": ""}})
        function = delta.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""
        call.update({k: v for k, v in delta.items() if k not in ("index", "function") and v is not None})

    def answer(self) -> Answer:
        """The message as an answer.

        Raises:
            ModelError: the stream broke off.
        """
        if self._finish is None:
            raise incomplete(self._vendor)
        calls = [{"id": f"call_{uuid4().hex[:24]}", **self._calls[at]} for at in sorted(self._calls)]
        message: Payload = {"role": "assistant", "content": self._text or None, **self._kept}
        if calls:
            message["tool_calls"] = calls
        said = self._text or calls or self._kept.get("refusal")
        asked = [
            read_call(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
        ]
        return Answer(
            text=self._text,
            tool_calls=unless_cut(asked, self._stop()),
            native=(message,) if said else (),
            usage=self._usage,
            stop=self._stop(),
        )

    def _stop(self) -> Stop:
        stop = _STOPS.get(self._finish, "end")
        if stop == "end" and self._calls:
            return "tools"
        return "refused" if stop == "end" and self._kept.get("refusal") else stop


def _more(before: Any, piece: Any) -> Any:
    if isinstance(piece, str):
        return (before or "") + piece
    return [*(before or ()), *piece] if isinstance(piece, list) else piece


class OpenAIChatModel(OpenAISdkModel):
    """A model on Chat Completions; `base_url` for any server that speaks it.

    `options` go to `chat.completions.create`: temperature, reasoning_effort, extra_body, …
    """

    wire: Wire = "openai_chat"

    def __init__(
        self,
        name: str,
        *,
        route: Route | str | None = None,
        client: AsyncOpenAI | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        max_tokens: int | None = None,
        patience: Patience | None = None,
        **options: object,
    ) -> None:
        known = route if isinstance(route, str) else route.name if route is not None else ""
        compatible = known.startswith("openai-compatible/") or (not known and base_url is not None)
        self.vendor = "openai-compatible" if compatible else "openai"
        limit = "max_tokens" if compatible else "max_completion_tokens"
        if compatible and api_key is None:
            api_key = NO_KEY
        super().__init__(
            name,
            route=route or f"{self.vendor}/{name}",
            client=client,
            connection={"api_key": api_key, "base_url": base_url},
            patience=patience or Patience(),
            options={**({} if max_tokens is None else {limit: max_tokens}), **options},
        )

    def request(self, client: Any, body: Payload, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """Body, tools and options; usage comes in the last chunk."""
        self.check_options(client.chat.completions.create)
        request = {
            "timeout": self.timeout(),
            "stream_options": {"include_usage": True},
            **self.options,
            **body,
            "model": self.name,
            "stream": True,
        }
        return self.with_tools(request, to_tools(tools))

    def events(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """Send the request and give the stream's events as JSON objects."""
        return self.stream(client.with_options(max_retries=0).chat.completions.create, request)

    def gathering(self) -> Deltas:
        """An empty gathering for one attempt."""
        return Deltas(self.vendor)
