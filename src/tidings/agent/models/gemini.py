"""Gemini through the `google-genai` SDK: `{"systemInstruction", "contents"}` becomes a streamed answer.

Parts are kept as they came, thought signatures included; only neighbouring plain text is joined.
The SDK's own function calling stays off: the loop runs the tools.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import ModuleType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidings.agent.models.arguments import checked_call
from tidings.agent.models.failure import ProviderFailure, incomplete, refused
from tidings.agent.models.patience import Patience
from tidings.agent.models.streamed import StreamedModel
from tidings.agent.port import Answer, Stop, ToolCall, ToolSpec, Usage
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.rendering.route import Route, Wire

if TYPE_CHECKING:
    from google.genai import Client

_STOPS: dict[object, Stop] = {"STOP": "end", "MAX_TOKENS": "length"}
_BROKEN = ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
"""Finish reasons of answers that nobody can use; all others beside `_STOPS` are refusals."""


_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")
"""Where the SDK looks; asked first, because a client that fails to start complains later."""


def to_tools(tools: Sequence[ToolSpec]) -> list[Payload]:
    """Tools as the vendor declares them: one tool with all functions."""
    functions = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
        for tool in tools
    ]
    return [{"functionDeclarations": functions}] if functions else []


def to_usage(counts: Mapping[str, Any]) -> Usage:
    """The vendor's counts; thoughts are output, what was cached is part of the prompt."""

    def count(name: str) -> int:
        return counts.get(name) or 0

    return Usage(
        input_tokens=count("promptTokenCount") + count("toolUsePromptTokenCount"),
        output_tokens=count("candidatesTokenCount") + count("thoughtsTokenCount"),
        cached_tokens=count("cachedContentTokenCount"),
    )


class Parts:
    """Gathers the chunks of a stream into one model content."""

    def __init__(self, vendor: str) -> None:
        self._vendor = vendor
        self._parts: list[dict[str, Any]] = []
        self._calls: list[ToolCall] = []
        self._usage = Usage()
        self._finish: object = None

    def add(self, event: dict[str, Any]) -> str:
        """Take one chunk; gives the text that it streams."""
        if event.get("usageMetadata"):
            self._usage = to_usage(event["usageMetadata"])
        if (event.get("promptFeedback") or {}).get("blockReason"):
            self._finish = "BLOCKED"
        texts = []
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                texts.append(self._part(part))
            self._finish = candidate.get("finishReason") or self._finish
        return "".join(texts)

    def _part(self, part: dict[str, Any]) -> str:
        last = self._parts[-1] if self._parts else {}
        if part.keys() == {"text"} == last.keys():
            last["text"] += part["text"]
        else:
            self._parts.append(dict(part))
        if "functionCall" in part:
            call = part["functionCall"]
            call_id = call.get("id") or f"call_{uuid4().hex[:24]}"
            self._calls.append(checked_call(call_id, call["name"], call.get("args") or {}))
        return "" if part.get("thought") else part.get("text") or ""

    def answer(self) -> Answer:
        """The parts as an answer.

        Raises:
            ModelError: the stream broke off, or the model could not finish its call.
        """
        if self._finish is None:
            raise incomplete(self._vendor)
        if self._finish in _BROKEN:
            raise ProviderFailure(f"{self._vendor} ended with {self._finish}", retryable=True)
        said = [part for part in self._parts if not part.get("thought")]
        stop = _STOPS.get(self._finish, "refused")
        return Answer(
            text="".join(part.get("text") or "" for part in said),
            tool_calls=tuple(self._calls),
            native=({"role": "model", "parts": self._parts},) if said else (),
            usage=self._usage,
            stop="tools" if self._calls and stop == "end" else stop,
        )


class GeminiModel(StreamedModel):
    """A Gemini model. `options` go to `GenerateContentConfig`: temperature, thinking_config, …"""

    vendor = "gemini"
    wire: Wire = "gemini"
    module = "google.genai"
    extra = "gemini"

    def __init__(
        self,
        name: str,
        *,
        route: Route | str | None = None,
        client: Client | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        max_tokens: int | None = None,
        patience: Patience | None = None,
        **options: object,
    ) -> None:
        super().__init__(
            name,
            route=route or f"gemini/{name}",
            client=client,
            connection={"api_key": api_key, "base_url": base_url},
            patience=patience or Patience(),
            options={**({} if max_tokens is None else {"max_output_tokens": max_tokens}), **options},
        )

    def make_client(self, sdk: ModuleType) -> Any:
        """A client of our own, without retries of its own."""
        http: dict[str, object] = {"retry_options": {"attempts": 1}}
        if "base_url" in self._connection:
            http["base_url"] = self._connection["base_url"]
        key = self._connection.get("api_key")
        if key is None and not any(os.environ.get(name) for name in _KEYS):
            raise ValueError("no API key; set GEMINI_API_KEY or pass api_key=…")
        return sdk.Client(http_options=http, **({} if key is None else {"api_key": key}))

    async def close_client(self, client: Any) -> None:
        """Close a client that `make_client` made, both its halves."""
        await client.aio.aclose()
        client.close()

    def secrets(self, client: Any) -> tuple[str | None, ...]:
        """What must never be shown: the client's key."""
        key = self._connection.get("api_key") or getattr(client._api_client, "api_key", None)
        return (key if isinstance(key, str) else None,)

    def request(self, client: Any, body: Payload, tools: Sequence[ToolSpec]) -> dict[str, Any]:  # noqa: ARG002
        """Contents, and everything else as the SDK's config.

        Raises:
            CallerError: an option that the SDK does not know.
        """
        settings: dict[str, Any] = {
            "automatic_function_calling": {"disable": True},
            "http_options": {"timeout": int(self.patience.deadline * 1000)},
            **self.options,
        }
        if "systemInstruction" in body:
            settings["system_instruction"] = body["systemInstruction"]
        try:
            config = self.sdk().types.GenerateContentConfig(**self.with_tools(settings, to_tools(tools)))
        except ValueError as error:
            said = " ".join(str(error).split())[:300]
            raise CallerError(f"gemini knows no such option, see GenerateContentConfig: {said}") from None
        return {"model": self.name, "contents": body["contents"], "config": config}

    async def events(self, client: Any, request: dict[str, Any]) -> AsyncGenerator[Payload, None]:
        """Send the request and give the stream's chunks as JSON objects."""
        stream = await client.aio.models.generate_content_stream(**request)
        try:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    yield chunk.model_dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
        except self.sdk_errors() as error:
            await _close_response(error)
            raise

    def gathering(self) -> Parts:
        """An empty gathering for one attempt."""
        return Parts(self.vendor)

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """What the SDK raises for an answer; the rest is the network's."""
        return (self.sdk().errors.APIError,)

    def failure(self, client: Any, error: Any) -> ProviderFailure:
        """An SDK error in our words."""
        headers = getattr(error.response, "headers", None) or {}
        delay = _retry_delay(error.details)
        return refused(
            self.vendor,
            error.code or 500,
            error.message or error.status,
            headers={"retry-after": delay, **headers} if delay else headers,
            secrets=self.secrets(client),
        )


async def _close_response(error: Any) -> None:
    """The SDK leaves the response open when an error comes inside the stream."""
    response = getattr(error.response, "response_stream", None)
    if response is not None and hasattr(response, "aclose"):
        await response.aclose()


def _retry_delay(details: object) -> str | None:
    """The seconds of a `RetryInfo` inside the error: `"34s"`."""
    error = details.get("error") if isinstance(details, Mapping) else None
    entries = error.get("details") if isinstance(error, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and "retryDelay" in entry:
            return str(entry["retryDelay"]).removesuffix("s")
    return None
