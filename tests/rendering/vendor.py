"""The vendors' own SDK types, strictly: what they do not know is refused, at every depth.

`Iterable` fields validate lazily in pydantic, so `_walk` reads everything; Anthropic's unions hold
response models that take unknown keys, so those count as errors too.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, TypeAdapter

with warnings.catch_warnings():  # vendor imports only: they deprecate their own names
    warnings.simplefilter("ignore", DeprecationWarning)
    from anthropic.types import MessageParam, TextBlockParam
    from google.genai import types as gemini
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses import ResponseInputParam


def check(wire: str, body: Mapping[str, object]) -> None:
    """Raise unless the vendor's types take `body`, every key of it."""
    json.dumps(body)
    _CHECKS[wire](body)


@lru_cache
def _adapter(type_: object) -> TypeAdapter[object]:
    return TypeAdapter(type_, config=ConfigDict(extra="forbid"))


def _validate(type_: object, value: object) -> None:
    _walk(_adapter(type_).validate_python(value))


def _walk(value: object) -> None:
    if isinstance(value, BaseModel):
        assert not value.model_extra, f"unknown keys {value.model_extra} in {value!r}"
        for name in type(value).model_fields:
            _walk(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            _walk(inner)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for inner in value:
            _walk(inner)


def _anthropic(body: Mapping[str, object]) -> None:
    assert body.keys() <= {"system", "messages"}
    _validate(list[MessageParam], body["messages"])
    if "system" in body:
        _validate(str | list[TextBlockParam], body["system"])


def _chat(body: Mapping[str, object]) -> None:
    assert body.keys() == {"messages"}
    _validate(list[ChatCompletionMessageParam], body["messages"])


def _responses(body: Mapping[str, object]) -> None:
    assert body.keys() <= {"instructions", "input"}
    _validate(ResponseInputParam, body["input"])
    assert isinstance(body.get("instructions", ""), str)


def _gemini(body: Mapping[str, object]) -> None:
    assert body.keys() <= {"systemInstruction", "contents"}
    for content in (body.get("systemInstruction"), *body["contents"]):  # type: ignore[misc]
        if content is not None:
            gemini.Content.model_validate_json(json.dumps(content))
    gemini.GenerateContentConfig.model_validate(
        {"systemInstruction": body["systemInstruction"]} if "systemInstruction" in body else {}
    )


def _plain(body: Mapping[str, object]) -> None:
    assert body.keys() == {"prompt"}
    assert isinstance(body["prompt"], str)


_CHECKS: dict[str, Callable[[Mapping[str, object]], None]] = {
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "gemini": _gemini,
    "plain": _plain,
}
