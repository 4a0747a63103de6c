"""A second opinion on framing tags, written without looking at `core/text.py`."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping

TAG = re.compile(
    r"<\s*[/!?\\]*\s*(?:system(?:[-_\s]*(?:reminders?|prompt|message|notification))?|developer|tidings"
    r"|context[-_\s]*directives?|directive|task[-_\s]*notification|hook[-_\s]*prompt)(?![\w.-])"
    r"|<\|[\w-]{1,40}\|>"
)
OWN = ("<system-reminder>", "</system-reminder>")


def tags(text: str) -> list[str]:
    """The framing tags that a generous reader would find."""
    plain = _visible(text)
    for _ in range(10):
        plain = _visible(html.unescape(plain))
    return TAG.findall(plain.replace("<![cdata[", "").replace("]]>", ""))


def _visible(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text)
    return "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Mn")).casefold()


def own_tags(text: str) -> int:
    """How many tags of ours stand literally in `text`."""
    return sum(text.count(tag) for tag in OWN)


def strings(value: object) -> Iterator[str]:
    """Every string value in a request body."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


def operator_texts(wire: str, body: Mapping[str, object]) -> list[str]:
    """The texts that stand in a system or developer slot."""
    slots = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    for name in ("messages", "input"):
        entries = body.get(name, ())
        assert isinstance(entries, (list, tuple))
        slots += [m["content"] for m in entries if m.get("role") in ("system", "developer")]
    if wire == "plain":
        slots.append(str(body["prompt"]).partition("User: ")[0])
    return [text for slot in slots for text in strings(slot)]
