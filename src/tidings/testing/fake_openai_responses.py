"""OpenAI Responses as the fake speaks it: what its servers refuse, and how its stream looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidings.core.reminder import Payload
from tidings.testing.fake_openai_chat import openai_error
from tidings.testing.fake_steps import Call, Frame, Refuse, Say, arguments_text, sse, words

_ROLES = ("system", "developer", "user", "assistant")
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_OUTPUTS = ("message", "reasoning", *_CALLS)


class FakeOpenAIResponses:
    """The Responses API. It remembers the reasoning it gave, to see whether it comes back untouched."""

    key_headers: tuple[str, ...] = ("authorization",)

    def __init__(self) -> None:
        self._thought: dict[str, Payload] = {}

    def streams(self, path: str, body: Payload) -> bool:  # noqa: ARG002
        """Whether the answer is to be streamed."""
        return body.get("stream") is True

    def problem(self, body: Payload) -> str | None:
        """Why the vendor would refuse `body`."""
        items = body.get("input")
        if not isinstance(items, list) or not items or not isinstance(body.get("model"), str):
            return "model and at least one input item are required"
        return next(self._problems(items), None)

    def _problems(self, items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        outputs = [item["call_id"] for item in items if item.get("type") in _RESULTS]
        calls: set[str] = set()
        for at, item in enumerate(items):
            where = f"input[{at}]"
            kind = item.get("type", "message")
            if kind == "message":
                yield from _message(where, item)
            elif kind in _CALLS:
                calls.add(item["call_id"])
                if item["call_id"] not in outputs:
                    yield f"{where}: the call {item['call_id']} has no output"
            elif kind in _RESULTS:
                if item["call_id"] not in calls:
                    yield f"{where}: no call {item['call_id']} before this output"
            elif kind == "reasoning":
                yield from self._reasoning(where, item, items[at + 1 : at + 2])
            else:
                yield f"{where}: unknown item type {kind!r}"

    def _reasoning(
        self, where: str, item: Mapping[str, Any], following: Sequence[Mapping[str, Any]]
    ) -> Iterator[str]:
        if self._thought.get(item["id"]) != item:
            yield f"{where}: reasoning item {item['id']} is unknown or was changed"
        own = [each for each in following if each.get("type") in _OUTPUTS and each.get("role") != "user"]
        if not own:
            yield f"{where}: reasoning item {item['id']} has lost the item that followed it"

    def _items(self, say: Say, number: int) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if say.thinking:
            summary = [{"type": "summary_text", "text": say.thinking}]
            thought = {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
            items.append({**thought, "encrypted_content": f"gAAA+/{number}="})
            self._thought[f"rs_{number}"] = items[-1]
        if say.text:
            part = {"type": "output_text", "text": say.text, "annotations": []}
            message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
            items.append({**message, "status": "completed", "content": [part]})
        items += [_call(call, number, at) for at, call in enumerate(say.calls)]
        return items

    def whole(self, say: Say, body: Payload, number: int) -> Payload:
        """The answer in one piece."""
        return _response(say, body, number, self._items(say, number))

    def frames(self, say: Say, body: Payload, number: int) -> list[Frame]:
        """The answer as a stream."""
        items = self._items(say, number)
        started = {**_response(say, body, number, []), "status": "in_progress", "usage": None}
        events: list[Payload] = [{"type": "response.created", "response": started}]
        for at, item in enumerate(items):
            events += _item_events(at, item)
        response = _response(say, body, number, items)
        events.append({"type": f"response.{response['status']}", "response": response})
        return [
            sse({**event, "sequence_number": n}, str(event["type"]), text="output_text.delta" in str(event))
            for n, event in enumerate(events)
        ]

    def error(self, refuse: Refuse) -> Payload:
        """The body of an HTTP error."""
        return openai_error(refuse)

    def error_frame(self, refuse: Refuse) -> Frame:
        """A response that failed."""
        error = {"code": refuse.kind or "server_error", "message": refuse.message}
        response = {
            "id": "resp_failed",
            "object": "response",
            "status": "failed",
            "output": [],
            "error": error,
        }
        event = {"type": "response.failed", "sequence_number": 1, "response": response}
        return sse(event, "response.failed")


def _call(call: Call, number: int, at: int) -> dict[str, Any]:
    common = {"name": call.name, "call_id": call.id or f"call_{number}_{at}", "status": "completed"}
    if call.freeform:
        return {
            "type": "custom_tool_call",
            "id": f"ctc_{number}_{at}",
            **common,
            "input": arguments_text(call),
        }
    inside = {"namespace": call.namespace} if call.namespace else {}
    function = {"type": "function_call", "id": f"fc_{number}_{at}", **inside, **common}
    return {**function, "arguments": arguments_text(call)}


def _item_events(at: int, item: dict[str, Any]) -> list[Payload]:
    events: list[Payload] = []
    where = {"output_index": at, "item_id": item["id"]}
    if item["type"] == "message":
        part = item["content"][0]
        text = {**where, "content_index": 0, "logprobs": []}
        start = {**item, "status": "in_progress", "content": []}
        events = [{"type": "response.output_item.added", "output_index": at, "item": start}]
        events += [{"type": "response.output_text.delta", **text, "delta": w} for w in words(part["text"])]
        events.append({"type": "response.output_text.done", **text, "text": part["text"]})
    elif item["type"] == "function_call":
        start = {**item, "status": "in_progress", "arguments": ""}
        whole = {**where, "name": item["name"], "arguments": item["arguments"]}
        delta = {"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]}
        events = [{"type": "response.output_item.added", "output_index": at, "item": start}, delta]
        events.append({"type": "response.function_call_arguments.done", **whole})
    elif item["type"] == "custom_tool_call":
        start = {**item, "status": "in_progress", "input": ""}
        delta = {"type": "response.custom_tool_call_input.delta", **where, "delta": item["input"]}
        events = [{"type": "response.output_item.added", "output_index": at, "item": start}, delta]
        events.append({"type": "response.custom_tool_call_input.done", **where, "input": item["input"]})
    return [*events, {"type": "response.output_item.done", "output_index": at, "item": item}]


def _response(say: Say, body: Payload, number: int, items: list[dict[str, Any]]) -> Payload:
    """`say.stop` is the reason why a response is incomplete."""
    details = None if say.stop is None else {"reason": say.stop}
    usage = {
        "input_tokens": say.usage.input_tokens,
        "input_tokens_details": {"cached_tokens": say.usage.cached_tokens},
        "output_tokens": say.usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": say.usage.input_tokens + say.usage.output_tokens,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "completed" if details is None else "incomplete",
        "incomplete_details": details,
        "output": items,
        "usage": usage,
    }


def _message(where: str, item: Mapping[str, Any]) -> Iterator[str]:
    if item.get("role") not in _ROLES:
        yield f"{where}.role: {item.get('role')!r} is none of {', '.join(_ROLES)}"
    if not item.get("content"):
        yield f"{where}: content may not be empty"
