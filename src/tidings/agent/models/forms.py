"""How a user's, an assistant's and a tool's part are written on each wire: one table of `Form`s. Pure.

The values here are already checked; `conversation.py` reads the neutral messages, decides what is
native, and calls these. Nothing here knows of reminders: rendering works on what this gives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.rendering.route import Wire

Block: TypeAlias = Mapping[str, object]
"""`{"type": "text", "text"}` or `{"type": "image", "media_type", "data"}` with base64 data."""


class Call(msgspec.Struct, frozen=True):
    """A tool call in the neutral form."""

    id: str
    name: str
    arguments: Payload


class Result(msgspec.Struct, frozen=True):
    """A tool's result in the neutral form."""

    call_id: str
    name: str
    text: str
    is_error: bool


class Form(Protocol):
    """The three parts of a conversation on one wire."""

    def user(self, content: str | Sequence[Block]) -> Payload:
        """A user message."""
        ...

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        """A turn of the model; `text` or `calls` is not empty."""
        ...

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:
        """The results of the calls in `answered`, the turn before them as this wire has it."""
        ...


class _Anthropic:
    def user(self, content: str | Sequence[Block]) -> Payload:
        if isinstance(content, str):
            return {"role": "user", "content": content}
        return {"role": "user", "content": [self._block(block) for block in content]}

    def _block(self, block: Block) -> Payload:
        if block["type"] == "text":
            return {"type": "text", "text": block["text"]}
        source = {"type": "base64", "media_type": block["media_type"], "data": block["data"]}
        return {"type": "image", "source": source}

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        blocks: list[Payload] = [{"type": "text", "text": text}] if text.strip() else []
        for call in calls:
            use = {"id": _legal_id(call.id), "name": call.name, "input": call.arguments}
            blocks.append({"type": "tool_use", **use})
        return [{"role": "assistant", "content": blocks}]

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:
        """A result names its call as the turn before does."""
        known = {block.get("id") for block in _inside(answered, "content")}
        blocks = []
        for result in results:
            call_id = result.call_id if result.call_id in known else _legal_id(result.call_id)
            block = {"type": "tool_result", "tool_use_id": call_id, "content": result.text}
            blocks.append({**block, "is_error": True} if result.is_error else block)
        return [{"role": "user", "content": blocks}]


class _Chat:
    def user(self, content: str | Sequence[Block]) -> Payload:
        if isinstance(content, str):
            return {"role": "user", "content": content}
        return {"role": "user", "content": [self._block(block) for block in content]}

    def _block(self, block: Block) -> Payload:
        if block["type"] == "text":
            return {"type": "text", "text": block["text"]}
        return {"type": "image_url", "image_url": {"url": _data_url(block)}}

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        message: Payload = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": _json(call.arguments)},
                }
                for call in calls
            ]
        return [message]

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:  # noqa: ARG002
        return [{"role": "tool", "tool_call_id": r.call_id, "content": _said(r)} for r in results]


class _Responses:
    def user(self, content: str | Sequence[Block]) -> Payload:
        if isinstance(content, str):
            return {"role": "user", "content": content}
        return {"role": "user", "content": [self._block(block) for block in content]}

    def _block(self, block: Block) -> Payload:
        if block["type"] == "text":
            return {"type": "input_text", "text": block["text"]}
        return {"type": "input_image", "image_url": _data_url(block), "detail": "auto"}

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        items: list[Payload] = [{"role": "assistant", "content": text}] if text.strip() else []
        for call in calls:
            function = {"call_id": call.id, "name": call.name, "arguments": _json(call.arguments)}
            items.append({"type": "function_call", **function})
        return items

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:  # noqa: ARG002
        return [{"type": "function_call_output", "call_id": r.call_id, "output": _said(r)} for r in results]


class _Gemini:
    def user(self, content: str | Sequence[Block]) -> Payload:
        if isinstance(content, str):
            return {"role": "user", "parts": [{"text": content}]}
        return {"role": "user", "parts": [self._part(block) for block in content]}

    def _part(self, block: Block) -> Payload:
        if block["type"] == "text":
            return {"text": block["text"]}
        return {"inlineData": {"mimeType": block["media_type"], "data": block["data"]}}

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        parts: list[Payload] = [{"text": text}] if text.strip() else []
        for call in calls:
            parts.append({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}})
        return [{"role": "model", "parts": parts}]

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:
        """Responses carry an id only when their call did: the model may have given none."""
        calls = [part.get("functionCall") for part in _inside(answered, "parts")]
        known = {call.get("id") for call in calls if isinstance(call, Mapping)}
        parts: list[Payload] = []
        for result in results:
            response: Payload = {"id": result.call_id} if result.call_id in known else {}
            response["name"] = result.name
            response["response"] = {"error" if result.is_error else "output": result.text}
            parts.append({"functionResponse": response})
        return [{"role": "user", "parts": parts}]


class _Plain:
    def user(self, content: str | Sequence[Block]) -> Payload:
        if isinstance(content, str):
            return {"role": "user", "content": content}
        return {"role": "user", "content": "\n\n".join(self._text(block) for block in content)}

    def _text(self, block: Block) -> str:
        return str(block["text"]) if block["type"] == "text" else f"[image: {block['media_type']}]"

    def assistant(self, text: str, calls: Sequence[Call]) -> list[Payload]:
        message: Payload = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [msgspec.structs.asdict(call) for call in calls]
        return [message]

    def tools(self, results: Sequence[Result], answered: Sequence[Payload]) -> list[Payload]:  # noqa: ARG002
        return [{"role": "tool", "tool_call_id": r.call_id, "content": _said(r)} for r in results]


FORMS: dict[Wire, Form] = {
    "anthropic": _Anthropic(),
    "openai_chat": _Chat(),
    "openai_responses": _Responses(),
    "gemini": _Gemini(),
    "plain": _Plain(),
}


def is_empty(item: Message) -> bool:
    """Whether a native assistant item says nothing: vendors give such turns and refuse them back."""
    if item.get("role") not in ("assistant", "model"):
        return False
    return not (item.get("content") or item.get("parts") or item.get("tool_calls"))


def _inside(items: Sequence[Payload], name: str) -> list[Mapping[str, object]]:
    """The blocks or parts of all items."""
    found: list[Mapping[str, object]] = []
    for item in items:
        inner = item.get(name)
        if isinstance(inner, (list, tuple)):
            found += [each for each in inner if isinstance(each, Mapping)]
    return found


def _legal_id(call_id: str) -> str:
    """Anthropic takes letters, digits, `_` and `-` in ids; other vendors' ids may hold more."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)


def _said(result: Result) -> str:
    """The text of a result; wires without an error flag hear it in words."""
    return f"Tool error: {result.text}" if result.is_error else result.text


def _json(arguments: Payload) -> str:
    return msgspec.json.encode(arguments).decode()


def _data_url(block: Block) -> str:
    return f"data:{block['media_type']};base64,{block['data']}"
