"""What each vendor accepts beyond its types (facts/hosts.md, section 9), as one checker per wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]


def check(wire: str, body: Body) -> None:
    """Raise AssertionError, naming the rule, unless the vendor would take `body`."""
    _CHECKS[wire](body)


def cache_marks(content: object) -> int:
    """The cache marks anywhere in `content`."""
    if isinstance(content, Mapping):
        return ("cache_control" in content) + sum(map(cache_marks, content.values()))
    return sum(map(cache_marks, content)) if isinstance(content, (list, tuple)) else 0


def _anthropic(body: Body) -> None:
    messages = body["messages"]
    assert cache_marks(body) <= 4, "at most four cache marks"
    for index, message in enumerate(messages):
        following = messages[index + 1] if index + 1 < len(messages) else None
        if message["role"] == "system":
            _mid_system(messages, index)
        if message["role"] == "assistant":
            _results_follow(message, following, "tool_use")
        if message["role"] == "user":
            _results_come_first(messages, index)
            assert message["content"], "no empty user message"
            assert all(b.get("text", "-").strip() for b in _blocks(message)), "no blank text block"


def _mid_system(messages: Sequence[Body], index: int) -> None:
    assert index > 0, "a system message never opens the conversation"
    before = messages[index - 1]
    server_tool = _blocks(before) and _blocks(before)[-1].get("type") == "server_tool_use"
    assert before["role"] == "user" or server_tool, "a system message follows a user turn"
    after = messages[index + 1] if index + 1 < len(messages) else None
    assert after is None or after["role"] == "assistant", "only an answer follows a system message"
    assert isinstance(messages[index]["content"], str), "a system message holds text only"


def _blocks(message: Body) -> list[Body]:
    content = message["content"]
    return list(content) if isinstance(content, (list, tuple)) else []


def _results_follow(message: Body, following: Body | None, kind: str) -> None:
    calls = [block["id"] for block in _blocks(message) if block["type"] == kind]
    if calls and following is not None:
        found = [b.get("tool_use_id") for b in _blocks(following)[: len(calls)]]
        assert sorted(map(str, found)) == sorted(calls), "tool results directly follow their calls"


def _results_come_first(messages: Sequence[Body], index: int) -> None:
    kinds = [block["type"] for block in _blocks(messages[index])]
    results = kinds.count("tool_result")
    assert kinds[:results] == ["tool_result"] * results, "tool results come first"
    if results:
        assert index > 0, "tool results follow their calls"
        assert messages[index - 1]["role"] == "assistant", "nothing between calls and results"


def _chat(body: Body) -> None:
    waiting: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, "a tool message answers an open call"
            waiting.discard(message["tool_call_id"])
            continue
        assert not waiting, "every call is answered before anything else"
        waiting = {call["id"] for call in message.get("tool_calls") or ()}
    roles = [message["role"] for message in body["messages"]]
    assert roles[:2] != ["system", "system"], "many servers take one opening system message"


def _responses(body: Body) -> None:
    waiting: set[str] = set()
    after_reasoning = False
    for item in body["input"]:
        kind = item.get("type", "message")
        if after_reasoning:
            own = kind in ("function_call", "reasoning") or item.get("role") == "assistant"
            assert own, "reasoning keeps its neighbour"
        after_reasoning = kind == "reasoning"
        if kind == "function_call":
            waiting.add(item["call_id"])
        elif kind == "function_call_output":
            assert item["call_id"] in waiting, "an output answers an open call"
            waiting.discard(item["call_id"])
        else:
            assert not waiting, "every call is answered before anything else"


def _gemini(body: Body) -> None:
    calls: list[str] = []
    for content in body["contents"]:
        assert content["role"] in ("user", "model"), "roles are user and model"
        assert content["parts"], "no empty content"
        responses = [p["functionResponse"]["id"] for p in content["parts"] if "functionResponse" in p]
        assert responses == calls, "function responses match the calls of the content before"
        kinds = ["functionResponse" in part for part in content["parts"]]
        assert kinds == sorted(kinds, reverse=True), "function responses come first"
        calls = [p["functionCall"]["id"] for p in content["parts"] if "functionCall" in p]
        assert content["role"] == "model" or not calls, "only the model calls"


def _plain(body: Body) -> None:
    assert isinstance(body["prompt"], str)


_CHECKS: dict[str, Callable[[Body], None]] = {
    "anthropic": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "gemini": _gemini,
    "plain": _plain,
}


def stream(body: Body) -> str:
    """The bytes that a growing request keeps: its message array without the closing bracket."""
    if "prompt" in body:
        return str(body["prompt"])
    name = next(name for name in ("messages", "input", "contents") if name in body)
    return json.dumps(body[name], ensure_ascii=False).removesuffix("]")
