"""A docstring becomes what a model is told: the first paragraph, and a line for each argument.

Understands the "Args:" section that most Python code uses (also headed "Arguments:" or
"Parameters:"); anything else in the docstring is for people. Called by `function.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

_HEADING = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_ANY_HEADING = re.compile(r"[A-Z]\w*:\s*")
_ARGUMENT = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")


class Described(msgspec.Struct, frozen=True):
    """What a docstring says: in general, and of each argument."""

    summary: str = ""
    arguments: Mapping[str, str] = {}


def describe(docstring: str | None) -> Described:
    """The first paragraph in one line, and the argument lines; takes what `inspect.getdoc` gives."""
    lines = (docstring or "").splitlines()
    return Described(_summary(lines), _arguments(lines))


def _summary(lines: list[str]) -> str:
    ends = (place for place, line in enumerate(lines) if not line or _ANY_HEADING.fullmatch(line))
    end = next(ends, len(lines))
    return " ".join(line.strip() for line in lines[:end])


def _arguments(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    section = list(_section(lines))
    depth = min((_indent(line) for line in section), default=0)
    current: list[str] = []
    for line in section:
        match = _ARGUMENT.fullmatch(line.strip()) if _indent(line) == depth else None
        if match:
            current = found[match["name"]] = [match["text"].strip()]
        else:
            current.append(line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


def _section(lines: list[str]) -> Iterator[str]:
    """The indented, non-blank lines below the heading."""
    inside = False
    for line in lines:
        if inside and line.strip():
            if not _indent(line):
                return
            yield line
        inside = inside or _HEADING.fullmatch(line) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
