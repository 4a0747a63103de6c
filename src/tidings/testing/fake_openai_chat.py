"""OpenAI Chat Completions as the fake speaks it: what its servers refuse, and how its stream looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidings.core.reminder import Payload
from tidings.testing.fake_steps import Frame, Refuse, Say, arguments_text, sse, words

_ROLES = ("system", "developer", "user", "assistant", "tool")
_KINDS = {401: "authentication_error", 429: "rate_limit_error"}


def openai_error(refuse: Refuse) -> Payload:
    """An error as both OpenAI wires write it; `kind` is its code."""
    kind = _KINDS.get(refuse.status, "invalid_request_error" if refuse.status < 500 else "server_error")
    error = {"message": refuse.message, "type": kind, "param": None, "code": refuse.kind}
    return {"error": error}


class FakeOpenAIChat:
    """The Chat Completions API; thinking is streamed as `reasoning_content`, as other servers do."""

    key_headers: tuple[str, ...] = ("authorization",)

    def streams(self, path: str, body: Payload) -> bool:  # noqa: ARG002
        """Whether the answer is to be streamed."""
        return body.get("stream") is True

    def problem(self, body: Payload) -> str | None:
        """Why the vendor would refuse `body`."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not isinstance(body.get("model"), str):
            return "model and at least one message are required"
        return next(_problems(messages), None)

    def whole(self, say: Say, body: Payload, number: int) -> Payload:
        """The answer in one piece."""
        message: Payload = {"role": "assistant", "content": say.text or None}
        if say.thinking:
            message["reasoning_content"] = say.thinking
        if say.calls:
            message["tool_calls"] = _calls(say, number)
        choice = {"index": 0, "message": message, "finish_reason": _finish(say)}
        return {**_head("chat.completion", body, number), "choices": [choice], "usage": _usage(say)}

    def frames(self, say: Say, body: Payload, number: int) -> list[Frame]:
        """The answer as a stream; usage only when the request asks for it."""

        def chunk(delta: Payload, finish: str | None = None) -> Frame:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            payload: Payload = {**_head("chat.completion.chunk", body, number), "choices": [choice]}
            return sse(payload, text="content" in delta and delta["content"] != "")

        frames = [chunk({"role": "assistant", "content": ""})]
        frames += [chunk({"reasoning_content": word}) for word in words(say.thinking)]
        frames += [chunk({"content": word}) for word in words(say.text)]
        for at, call in enumerate(_calls(say, number)):
            text = call["function"]["arguments"]
            start = {**call, "index": at, "function": {**call["function"], "arguments": ""}}
            frames.append(chunk({"tool_calls": [start]}))
            for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                frames.append(chunk({"tool_calls": [{"index": at, "function": {"arguments": half}}]}))
        frames.append(chunk({}, _finish(say)))
        options = body.get("stream_options")
        if isinstance(options, Mapping) and options.get("include_usage"):
            last = {**_head("chat.completion.chunk", body, number), "choices": [], "usage": _usage(say)}
            frames.append(sse(last))
        return [*frames, Frame(b"data: [DONE]\n\n")]

    def error(self, refuse: Refuse) -> Payload:
        """The body of an HTTP error."""
        return openai_error(refuse)

    def error_frame(self, refuse: Refuse) -> Frame:
        """An error inside a stream."""
        return sse(openai_error(refuse))


def _head(kind: str, body: Payload, number: int) -> Payload:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1, "model": body["model"]}


def _calls(say: Say, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id or f"call_{number}_{at}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call)},
        }
        for at, call in enumerate(say.calls)
    ]


def _finish(say: Say) -> str:
    return say.stop or ("tool_calls" if say.calls else "stop")


def _usage(say: Say) -> Payload:
    return {
        "prompt_tokens": say.usage.input_tokens,
        "completion_tokens": say.usage.output_tokens,
        "total_tokens": say.usage.input_tokens + say.usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": say.usage.cached_tokens},
    }


def _problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        role = message["role"]
        if role not in _ROLES:
            yield f"{where}.role: {role!r} is none of {', '.join(_ROLES)}"
        elif role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{where}: no call {message['tool_call_id']} waits for a tool message"
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            yield f"{where}: calls without a tool message: {', '.join(sorted(waiting))}"
        calls = message.get("tool_calls") or ()
        waiting = {call["id"] for call in calls}
        if not message.get("content") and not calls and not message.get("refusal"):
            yield f"{where}: content may be empty only beside tool calls"
        if not all(isinstance(call["function"]["arguments"], str) for call in calls):
            yield f"{where}: arguments of a call must be a string"
    if waiting:
        yield f"calls without a tool message: {', '.join(sorted(waiting))}"
