"""Where words stand in a request, and whether a request extends the one before. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.interop.spoken import ENTRIES
from tidings.testing.fake_provider import Received


class Place(NamedTuple):
    """An entry of the conversation and whose it is, and the text that holds the words."""

    entry: int
    role: str
    text: str


def entries(request: Received) -> list[dict[str, Any]]:
    """The conversation of a request."""
    found = request.body[ENTRIES[request.wire]]
    assert isinstance(found, list)
    return found


def places(request: Received, words: str) -> list[Place]:
    """Every text of the conversation that holds `words`, results of tools included."""
    return [
        Place(number, _role(entry), text)
        for number, entry in enumerate(entries(request))
        for text in _texts(entry)
        if words in text
    ]


def outside(request: Received, words: str) -> bool:
    """Whether `words` stand beside the conversation: in the system prompt or a tool's description."""
    rest = {name: value for name, value in request.body.items() if name != ENTRIES[request.wire]}
    return words in str(rest)


def last_calls(request: Received) -> int:
    """The entry with the model's last tool calls; the first one, where each call is an entry."""
    numbers = [number for number, entry in enumerate(entries(request)) if _calls(entry)]
    last = numbers[-1]
    while last - 1 in numbers and entries(request)[last].get("type") == "function_call":
        last -= 1
    return last


def extends(later: Received, earlier: Received) -> bool:
    """Whether `later` begins with all of `earlier`: nothing that was sent has changed."""
    before, after = (_plain(entries(request)) for request in (earlier, later))
    return bool(after[: len(before)] == before)


def _calls(entry: Mapping[str, Any]) -> bool:
    parts = entry.get("content") or entry.get("parts") or []
    inside = [part for part in parts if isinstance(part, Mapping)]
    kinds = {entry.get("type"), *(part.get("type") for part in inside)}
    names = {name for part in (entry, *inside) for name, value in part.items() if value}
    return bool({"tool_use", "function_call"} & kinds or {"tool_calls", "functionCall"} & names)


def _role(entry: Mapping[str, Any]) -> str:
    return str(entry.get("role") or entry.get("type"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _plain(value: Any) -> Any:
    """`value` without marks for caches, and with one spelling of a text."""
    if isinstance(value, Mapping):
        kept = {name: _plain(each) for name, each in value.items() if name != "cache_control"}
        if isinstance(kept.get("content"), str):
            kept["content"] = [{"type": "text", "text": kept["content"]}]
        return kept
    return [_plain(each) for each in value] if isinstance(value, list) else value
