"""OpenAI Responses: a body `{"instructions", "input"}` becomes a streamed answer.

Output items are kept as they came, reasoning items included, and go back in the next `input`. That
needs what the vendor stores by default; without storing, pass `store=False` and
`include=["reasoning.encrypted_content"]`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidings.agent.models.arguments import read_call, unless_cut
from tidings.agent.models.failure import incomplete
from tidings.agent.models.openai_sdk import OpenAISdkModel, failed_in_stream
from tidings.agent.models.patience import Patience
from tidings.agent.port import Answer, Stop, ToolSpec, Usage
from tidings.core.reminder import Payload
from tidings.rendering.route import Route, Wire

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CUT_SHORT: dict[object, Stop] = {"max_output_tokens": "length", "content_filter": "refused"}
_LAST = ("response.completed", "response.incomplete")


def to_tools(tools: Sequence[ToolSpec]) -> list[Payload]:
    """Tools as the vendor declares them; not strict, since that allows only some schemas."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        for tool in tools
    ]


def to_usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts; what was cached is part of the input."""
    details = counts.get("input_tokens_details") or {}
    return Usage(
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cached_tokens=details.get("cached_tokens") or 0,
    )


class Items:
    """Gathers the events of a response into its output items."""

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._items: dict[int, dict[str, Any]] = {}
        self._response: dict[str, Any] | None = None

    def add(self, event: dict[str, Any]) -> str:
        """Take one event; gives the text that it streams."""
        kind = event.get("type")
        if kind == "response.output_text.delta":
            return str(event["delta"])
        if kind == "response.output_item.done":
            self._items[event["output_index"]] = event["item"]
        elif kind in _LAST:
            self._response = event["response"]
        elif kind == "response.failed":
            raise failed_in_stream(self._vendor, event["response"].get("error") or {})
        elif kind == "error":
            raise failed_in_stream(self._vendor, event)
        return ""

    def answer(self) -> Answer:
        """The items as an answer.

        Raises:
            ModelError: the stream broke off.
        """
        if self._response is None:
            raise incomplete(self._vendor)
        items = [self._items[at] for at in sorted(self._items)]
        while items and items[-1].get("type") == "reasoning":  # refused back without what it led to
            items.pop()
        parts = [part for item in items if item.get("type") == "message" for part in item["content"]]
        calls = [
            read_call(item["call_id"], item["name"], item["arguments"])
            for item in items
            if item.get("type") == "function_call"
        ]
        stop = self._stop(parts, bool(calls))
        return Answer(
            text="".join(part["text"] for part in parts if part.get("type") == "output_text"),
            tool_calls=unless_cut(calls, stop),
            native=tuple(items),
            usage=to_usage(self._response.get("usage") or {}),
            stop=stop,
        )

    def _stop(self, parts: Sequence[Mapping[str, Any]], calls: bool) -> Stop:
        assert self._response is not None
        if self._response.get("status") == "incomplete":
            details = self._response.get("incomplete_details") or {}
            return _CUT_SHORT.get(details.get("reason"), "length")
        if any(part.get("type") == "refusal" for part in parts):
            return "refused"
        return "tools" if calls else "end"


class OpenAIResponsesModel(OpenAISdkModel):
    """A model on the Responses API. `options` go to `responses.create`: reasoning, store, …"""

    vendor = "openai-responses"
    wire: Wire = "openai_responses"

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
        super().__init__(
            name,
            route=route or f"openai-responses/{name}",
            client=client,
            connection={"api_key": api_key, "base_url": base_url},
            patience=patience or Patience(),
            options={**({} if max_tokens is None else {"max_output_tokens": max_tokens}), **options},
        )

    def request(self, client: Any, body: Payload, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """Body, tools and options."""
        self.check_options(client.responses.create)
        request = {
            "timeout": self.timeout(),
            **self.options,
            **body,
            "model": self.name,
            "stream": True,
        }
        return self.with_tools(request, to_tools(tools))

    def events(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """Send the request and give the stream's events as JSON objects."""
        return self.stream(client.with_options(max_retries=0).responses.create, request)

    def gathering(self) -> Items:
        """An empty gathering for one attempt."""
        return Items(self.vendor)
