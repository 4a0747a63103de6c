"""What the two OpenAI adapters share: the client, its errors, and how a stream is opened."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from types import ModuleType
from typing import Any

from tidings.agent.models.failure import ProviderFailure, refused, unreachable
from tidings.agent.models.streamed import StreamedModel
from tidings.core.reminder import Payload

_STATUS = {"server_error": 500, "rate_limit_exceeded": 429, "insufficient_quota": 429}
"""Errors inside a stream come with HTTP 200: their code says what they are; others are the request's."""


def failed_in_stream(
    vendor: str, error: Mapping[str, object], secrets: tuple[str | None, ...] = ()
) -> ProviderFailure:
    """An error object that came as an event."""
    code = error.get("code") or error.get("type")
    return refused(vendor, _STATUS.get(str(code), 400), error.get("message"), code=code, secrets=secrets)


class OpenAISdkModel(StreamedModel):
    """A model behind `AsyncOpenAI`; which of its two wires is up to the adapter."""

    module = "openai"
    extra = "openai"

    def make_client(self, sdk: ModuleType) -> Any:
        """A client of our own, without retries of its own."""
        return sdk.AsyncOpenAI(**self._connection)

    async def close_client(self, client: Any) -> None:
        """Close a client that `make_client` made."""
        await client.close()

    def sdk_errors(self) -> tuple[type[Exception], ...]:
        """What the SDK raises."""
        return (self.sdk().OpenAIError,)

    def failure(self, client: Any, error: Exception) -> ProviderFailure:
        """An SDK error in our words."""
        sdk = self.sdk()
        secrets = self.secrets(client)
        if isinstance(error, sdk.APIStatusError):
            return refused(
                self.vendor,
                error.status_code,
                error.message,
                code=error.code or error.type,
                headers=error.response.headers,
                secrets=secrets,
            )
        if isinstance(error, sdk.APIError) and isinstance(error.body, Mapping):
            return failed_in_stream(self.vendor, error.body, secrets)
        return unreachable(self.vendor, error, secrets)

    async def stream(
        self, create: Callable[..., Any], request: dict[str, Any]
    ) -> AsyncGenerator[Payload, None]:
        """Open the stream and give its events as JSON objects."""
        stream = await create(**request)
        async with stream, aclosing(aiter(stream)) as events:
            async for event in events:
                yield event.to_dict(warnings=False)
