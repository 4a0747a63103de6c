"""A model by its name: `anthropic/claude-opus-5`, `openai/gpt-5`, `scripted:done`, ….

The name is the route's, so that what rendering assumes and what is called cannot differ. Nothing is
loaded or connected before the first request. `opened` is for whoever takes a name or a model: what it
made itself it closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tidings.agent.models.anthropic import AnthropicModel
from tidings.agent.models.gemini import GeminiModel
from tidings.agent.models.openai_chat import OpenAIChatModel
from tidings.agent.models.openai_responses import OpenAIResponsesModel
from tidings.agent.models.script import scripted
from tidings.agent.models.streamed import StreamedModel
from tidings.agent.port import Model
from tidings.errors import CallerError, RouteError

VENDORS: dict[str, Callable[..., Model]] = {
    "anthropic": AnthropicModel,
    "openai": OpenAIChatModel,
    "openai-responses": OpenAIResponsesModel,
    "openai-compatible": OpenAIChatModel,
    "gemini": GeminiModel,
}

CLOSING = 5.0
"""Seconds that closing a model's connections may take."""

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def opened(given: Model | str) -> AsyncIterator[Model]:
    """The model that is given or named; one made here from its name is closed, however the block ends."""
    if not isinstance(given, str):
        yield given
        return
    made = model(given)
    try:
        yield made
    finally:
        if isinstance(made, StreamedModel):
            await _close(made)


async def _close(made: StreamedModel) -> None:
    """Close it; a failure is told in the log, and takes nobody's answer away."""
    try:
        async with asyncio.timeout(CLOSING):
            await made.close()
    except Exception:
        _logger.exception("the client of %s could not be closed", made.route.name)


def model(name: str, **options: Any) -> Model:
    """The model called `name`; `options` are those of its adapter (api_key, base_url, temperature, …).

    Raises:
        RouteError: no such vendor or script; near matches are named.
        CallerError: an option is missing or wrong.
    """
    if not isinstance(name, str):
        raise RouteError(f"a model name is a string such as 'anthropic/claude-opus-5'; got {name!r:.80}")
    if name.startswith("scripted:"):
        return _scripted(name, options)
    vendor, _, model_name = name.partition("/")
    if vendor not in VENDORS or not model_name:
        raise RouteError(_unknown(name, vendor))
    if vendor == "openai-compatible" and not (options.get("base_url") or options.get("client")):
        raise CallerError(
            f"{name} needs base_url=…, the address of the server, such as http://host:8000/v1"
        )
    return VENDORS[vendor](model_name, **{"route": name, **options})


def _scripted(name: str, options: dict[str, Any]) -> Model:
    unknown = sorted(options.keys() - {"route"})
    if unknown:
        raise CallerError(f"{name} takes only the option route; got {', '.join(unknown)}")
    return scripted(name.removeprefix("scripted:"), options.get("route"))


def _unknown(name: str, vendor: str) -> str:
    from difflib import get_close_matches  # only a mistake pays for loading it

    from tidings.rendering.route import catalogue

    known = [route.name for route in catalogue() if route.name.partition("/")[0] in VENDORS]
    forms = [f"{each}/…" for each in VENDORS] + ["scripted:done"]
    near = get_close_matches(name, known, n=3, cutoff=0.5)
    near = near or get_close_matches(vendor, forms, n=2, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"names look like {', '.join(forms)}."
    return f"unknown model {name!r}: {hint}"
