"""What a model was told, read from the request bodies of the four wires. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidings.testing.fake_provider import Received

ENTRIES = {
    "anthropic": "messages",
    "openai_chat": "messages",
    "openai_responses": "input",
    "gemini": "contents",
}


class Spoken(NamedTuple):
    """A piece of text in a request, and whose it is."""

    role: str
    text: str


SYSTEM = ("system", "instructions", "systemInstruction")


def spoken(request: Received) -> list[Spoken]:
    """Every text of a request, the system's first; a list of parts gives one for each."""
    head = [Spoken("system", text) for name in SYSTEM for text in _texts(request.body.get(name))]
    entries = request.body[ENTRIES[request.wire]]
    return head + [Spoken(str(entry.get("role")), text) for entry in entries for text in _texts(entry)]


def _texts(holder: Any) -> list[str]:
    if isinstance(holder, Mapping):
        holder = holder.get("content", holder.get("parts"))
    parts = [holder] if isinstance(holder, str) else (holder or [])
    return [text for part in parts if (text := _text(part))]


def _text(part: str | Mapping[str, Any]) -> str:
    return part if isinstance(part, str) else str(part.get("text") or "")


def mentions(request: Received, words: str) -> list[Spoken]:
    """The texts in which `words` stand."""
    return [each for each in spoken(request) if words in each.text]
