"""Anthropic Messages as the fake speaks it: what its servers refuse, and how its stream looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidings.core.reminder import Payload
from tidings.testing.fake_steps import Frame, Refuse, Say, arguments_text, sse, words

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_MARKS = 4


class FakeAnthropic:
    """The Messages API. It remembers the thinking it gave, to see whether it comes back."""

    key_headers: tuple[str, ...] = ("authorization", "x-api-key")

    def __init__(self) -> None:
        self._thought: dict[str, Payload] = {}
        self._led_to: dict[str, str] = {}

    def streams(self, path: str, body: Payload) -> bool:  # noqa: ARG002
        """Whether the answer is to be streamed."""
        return body.get("stream") is True

    def problem(self, body: Payload) -> str | None:
        """Why the vendor would refuse `body`."""
        messages = body.get("messages")
        if not isinstance(body.get("max_tokens"), int) or not isinstance(body.get("model"), str):
            return "max_tokens and model are required"
        if not isinstance(messages, list) or not messages:
            return "messages: at least one message is required"
        if _marks(body) > _MARKS:
            return f"at most {_MARKS} blocks may carry cache_control, found {_marks(body)}"
        return next(self._problems(messages), None)

    def _problems(self, messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        for at, message in enumerate(messages):
            where = f"messages.{at}"
            before = messages[at - 1] if at else None
            after = messages[at + 1] if at + 1 < len(messages) else None
            if message["role"] not in ("user", "assistant", "system"):
                yield f"{where}: unknown role {message['role']!r}"
            elif at == 0 and message["role"] != "user":
                yield f"{where}: the first message must have the role user"
            yield from _content(where, message)
            if message["role"] == "system":
                yield from _system(where, message, before, after)
            elif message["role"] == "user":
                yield from _results(where, message, before)
            else:
                yield from _answered(where, message, after)
                yield from self._thinking(where, message)

    def _thinking(self, where: str, message: Mapping[str, Any]) -> Iterator[str]:
        blocks = _blocks(message)
        signatures = [block.get("signature") for block in blocks if block["type"] == "thinking"]
        for block in blocks:
            if block["type"] == "thinking" and self._thought.get(str(block.get("signature"))) != block:
                yield f"{where}: a thinking block was changed, or its signature is unknown"
            led_from = self._led_to.get(str(block.get("id")))
            if led_from is not None and led_from not in signatures:
                yield f"{where}: the thinking block before {block['id']} is missing"
        if blocks and blocks[-1]["type"] == "thinking":
            yield f"{where}: the last block may not be thinking"

    def _content(self, say: Say, number: int) -> list[tuple[Payload, list[Payload]]]:
        """Each block as it starts, and its deltas."""
        made: list[tuple[Payload, list[Payload]]] = []
        signature = f"signature/{number}+{len(say.thinking)}=="
        if say.thinking:
            thought: Payload = {"type": "thinking", "thinking": say.thinking, "signature": signature}
            self._thought[signature] = thought
            deltas: list[Payload] = [{"type": "thinking_delta", "thinking": w} for w in words(say.thinking)]
            deltas.append({"type": "signature_delta", "signature": signature})
            made.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
        if say.text:
            pieces: list[Payload] = [{"type": "text_delta", "text": w} for w in words(say.text)]
            made.append(({"type": "text", "text": ""}, pieces))
        for at, call in enumerate(say.calls):
            call_id = call.id or f"toolu_{number}_{at}"
            if say.thinking:
                self._led_to[call_id] = signature
            text = arguments_text(call)
            halves = (text[: len(text) // 2], text[len(text) // 2 :])
            start: Payload = {"type": "tool_use", "id": call_id, "name": call.name, "input": {}}
            made.append((start, [{"type": "input_json_delta", "partial_json": half} for half in halves]))
        return made

    def frames(self, say: Say, body: Payload, number: int) -> list[Frame]:
        """The answer as a stream."""
        frames = [_event("message_start", message=_message(say, body, number)), _event("ping")]
        for at, (start, deltas) in enumerate(self._content(say, number)):
            frames.append(_event("content_block_start", index=at, content_block=start))
            for delta in deltas:
                text = delta["type"] == "text_delta"
                frames.append(_event("content_block_delta", text=text, index=at, delta=delta))
            frames.append(_event("content_block_stop", index=at))
        stop = {"stop_reason": _stop(say), "stop_sequence": None}
        frames.append(_event("message_delta", delta=stop, usage={"output_tokens": say.usage.output_tokens}))
        return [*frames, _event("message_stop")]

    def whole(self, say: Say, body: Payload, number: int) -> Payload:
        """The answer in one piece."""
        self._content(say, number)
        content: list[Payload] = list(self._thought.values())[-1:] if say.thinking else []
        if say.text:
            content.append({"type": "text", "text": say.text})
        for at, call in enumerate(say.calls):
            use = {"id": call.id or f"toolu_{number}_{at}", "name": call.name, "input": call.arguments}
            content.append({"type": "tool_use", **use})
        return {**_message(say, body, number), "content": content, "stop_reason": _stop(say)}

    def error(self, refuse: Refuse) -> Payload:
        """The body of an HTTP error."""
        kind = refuse.kind or _KINDS.get(refuse.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refuse.message}, "request_id": "req_1"}

    def error_frame(self, refuse: Refuse) -> Frame:
        """An error inside a stream."""
        return sse(self.error(refuse), "error")


def _event(kind: str, *, text: bool = False, **fields: object) -> Frame:
    return sse({"type": kind, **fields}, kind, text=text)


def _message(say: Say, body: Payload, number: int) -> Payload:
    usage = {
        "input_tokens": say.usage.input_tokens - say.usage.cached_tokens,
        "cache_read_input_tokens": say.usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop(say: Say) -> str:
    return say.stop or ("tool_use" if say.calls else "end_turn")


def _blocks(message: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    content = message.get("content") if message is not None else None
    return content if isinstance(content, list) else []


def _marks(value: object) -> int:
    if isinstance(value, Mapping):
        return ("cache_control" in value) + sum(map(_marks, value.values()))
    return sum(map(_marks, value)) if isinstance(value, list) else 0


def _content(where: str, message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [b.get("text", "-") for b in _blocks(message)]
    if not content:
        yield f"{where}: content may not be empty"
    elif not all(str(text).strip() for text in texts):
        yield f"{where}: text may not be blank"


def _system(where: str, message: Mapping[str, Any], before: Any, after: Any) -> Iterator[str]:
    last = _blocks(before)[-1]["type"] if _blocks(before) else ""
    server_tool = last == "server_tool_use" or (last != "tool_result" and last.endswith("_tool_result"))
    if before is None or not (before["role"] == "user" or server_tool):
        yield f"{where}: a system message follows a user turn"
    if after is not None and after["role"] != "assistant":
        yield f"{where}: only an assistant message may follow a system message"
    if any(block["type"] != "text" for block in _blocks(message)):
        yield f"{where}: a system message holds text only"


def _results(where: str, message: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[str]:
    kinds = [block["type"] for block in _blocks(message)]
    count = kinds.count("tool_result")
    if kinds[:count] != ["tool_result"] * count:
        yield f"{where}: tool results come first in their message"
    calls = {block["id"] for block in _blocks(before) if block["type"] == "tool_use"}
    for block in _blocks(message):
        if block["type"] == "tool_result" and block["tool_use_id"] not in calls:
            yield f"{where}: no tool_use {block['tool_use_id']} in the message before"


def _answered(where: str, message: Mapping[str, Any], after: Mapping[str, Any] | None) -> Iterator[str]:
    results = {block.get("tool_use_id") for block in _blocks(after)}
    for block in _blocks(message):
        if block["type"] == "tool_use" and block["id"] not in results:
            yield f"{where}: tool_use {block['id']} has no tool_result directly after it"
