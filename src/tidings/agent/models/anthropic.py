"""Claude through the `anthropic` SDK: a body `{"system", "messages"}` becomes a streamed answer.

The assistant's content blocks are put together from the raw stream exactly as they were sent, so
that thinking blocks and their signatures can go back verbatim. Server tools pass through as blocks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from tidings.agent.models.arguments import read_call, unless_cut
from tidings.agent.models.failure import ProviderFailure, incomplete, refused, unreachable
from tidings.agent.models.patience import Patience
from tidings.agent.models.streamed import StreamedModel
from tidings.agent.port import Answer, Stop, ToolCall, ToolSpec, Usage
from tidings.core.reminder import Payload
from tidings.rendering.route import Route, Wire

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

MAX_TOKENS = 16_384
"""The vendor requires a limit; this one is ours."""

_STOPS: dict[object, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Errors inside a stream come with HTTP 200: their type says what they are."""

_UNLISTED = ("temperature", "top_p", "top_k")
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_MAY_NOT_END = ("thinking", "redacted_thinking")


def to_tools(tools: Sequence[ToolSpec]) -> list[Payload]:
    """Tools as the vendor declares them."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools
    ]


def to_usage(counts: Payload) -> Usage:
    """The vendor counts what was read from or written to its cache apart from the input."""
    read, written, new, out = (_number(counts, name) for name in _COUNTS)
    return Usage(input_tokens=new + read + written, output_tokens=out, cached_tokens=read)


_COUNTS = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens", "output_tokens")


def _number(counts: Payload, name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def _unlisted(options: dict[str, Any]) -> dict[str, Any]:
    """Sampling options, which the SDK no longer lists, as part of `extra_body`."""
    moved = {name: options.pop(name) for name in _UNLISTED if options.get(name) is not None}
    return {**options, "extra_body": {**moved, **(options.get("extra_body") or {})}} if moved else options


class Blocks:
    """Gathers the events of a Messages stream into content blocks."""

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, str] = {}
        self._counts: dict[str, object] = {}
        self._stop: object = None
        self._complete = False

    def add(self, event: dict[str, Any]) -> str:
        """Take one event; gives the text that it streams."""
        match event.get("type"):
            case "message_start":
                self._counts.update(event["message"].get("usage") or {})
            case "content_block_start":
                return self._begin(event["index"], dict(event["content_block"]))
            case "content_block_delta":
                return self._grow(event["index"], event["delta"])
            case "message_delta":
                self._counts.update({k: v for k, v in (event.get("usage") or {}).items() if v is not None})
                self._stop = event["delta"].get("stop_reason") or self._stop
            case "message_stop":
                self._complete = True
        return ""

    def _begin(self, index: int, block: dict[str, Any]) -> str:
        self._blocks[index] = block
        return str(block["text"]) if block["type"] == "text" else ""

    def _grow(self, index: int, delta: dict[str, Any]) -> str:
        kind = delta["type"]
        block = self._blocks[index]
        if kind in _GROWING:
            name = _GROWING[kind]
            block[name] = (block.get(name) or "") + delta[name]
            return str(delta["text"]) if kind == "text_delta" else ""
        if kind == "input_json_delta":
            self._json[index] = self._json.get(index, "") + delta["partial_json"]
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        else:
            raise ValueError(f"content_block_delta of unknown type {kind!r}")
        return ""

    def answer(self) -> Answer:
        """The blocks as an answer.

        Raises:
            ModelError: the stream broke off.
        """
        if not self._complete:
            raise incomplete(self._vendor)
        calls: list[ToolCall] = []
        content = [self._finished(index, calls) for index in sorted(self._blocks)]
        while content and content[-1]["type"] in _MAY_NOT_END:
            content.pop()
        stop = _STOPS.get(self._stop, "end")
        return Answer(
            text="".join(block["text"] for block in content if block["type"] == "text"),
            tool_calls=unless_cut(calls, stop),
            native=({"role": "assistant", "content": content},) if content else (),
            usage=to_usage(self._counts),
            stop="tools" if calls and stop == "end" else stop,
        )

    def _finished(self, index: int, calls: list[ToolCall]) -> dict[str, Any]:
        """The block with its streamed input; unreadable input is wrapped: the wire wants an object."""
        block = self._blocks[index]
        text = self._json.get(index)
        if text is None and block["type"] != "tool_use":
            return block
        if text is None:
            text = msgspec.json.encode(block.get("input") or {}).decode()
        call = read_call(str(block.get("id")), str(block.get("name")), text)
        if block["type"] == "tool_use":
            calls.append(call)
        given = call.arguments if call.problem is None else {"INVALID_JSON": text}
        return {**block, "input": given}


class AnthropicModel(StreamedModel):
    """A Claude model. `options` go to `messages.create`: temperature, thinking, extra_headers, …"""

    vendor = "anthropic"
    wire: Wire = "anthropic"
    module = "anthropic"
    extra = "anthropic"

    def __init__(
        self,
        name: str,
        *,
        route: Route | str | None = None,
        client: AsyncAnthropic | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        max_tokens: int = MAX_TOKENS,
        patience: Patience | None = None,
        **options: object,
    ) -> None:
        super().__init__(
            name,
            route=route or f"anthropic/{name}",
            client=client,
            connection={"api_key": api_key, "base_url": base_url},
            patience=patience or Patience(),
            options=_unlisted({"max_tokens": max_tokens, **options}),
        )

    def make_client(self, sdk: ModuleType) -> Any:
        """A client of our own, without retries of its own."""
        return sdk.AsyncAnthropic(**self._connection)

    async def close_client(self, client: Any) -> None:
        """Close a client that `make_client` made."""
        await client.close()

    def request(self, client: Any, body: Payload, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """Body, tools and options."""
        self.check_options(client.messages.create)
        request = {"timeout": self.timeout(), **self.options, **body, "model": self.name, "stream": True}
        return self.with_tools(request, to_tools(tools))

    async def events(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """Send the request and give the stream's events as JSON objects."""
        stream = await self._opened(client.with_options(max_retries=0), request)
        async with stream, aclosing(aiter(stream)) as events:
            async for event in events:
                yield event.to_dict(warnings=False)

    async def _opened(self, client: Any, request: dict[str, Any]) -> Any:
        try:
            return await client.messages.create(**request)
        except TypeError as error:  # how this SDK says that there is no key
            if "authentication" not in str(error):
                raise
            said = "no API key; set ANTHROPIC_API_KEY or pass api_key=…"
            raise ProviderFailure(f"{self.vendor}: {said}", status=401) from None

    def gathering(self) -> Blocks:
        """An empty gathering for one attempt."""
        return Blocks(self.vendor)

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """What the SDK raises."""
        return (self.sdk().AnthropicError,)

    def failure(self, client: Any, error: Exception) -> ProviderFailure:
        """An SDK error in our words."""
        sdk = self.sdk()
        if isinstance(error, sdk.APIStatusError):
            status = error.status_code if error.status_code >= 400 else _STATUS.get(str(error.type), 500)
            said = error.api_message or error.message
            return refused(
                self.vendor,
                status,
                said,
                code=error.type,
                headers=error.response.headers,
                secrets=self.secrets(client),
            )
        return unreachable(self.vendor, error, self.secrets(client))
