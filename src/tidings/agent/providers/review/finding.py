"""A finding: one piece of concrete evidence, where it comes from, and what kind it is."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.providers.quoting import one_line

Source: TypeAlias = Literal[
    "runtime_error",
    "verifier",
    "parse_errors",
    "undefined_names",
    "lint",
    "test",
    "typecheck",
    "verifier_output",
]
Level: TypeAlias = Literal["error", "warning"]

SOURCES: tuple[Source, ...] = (
    "runtime_error",
    "verifier",
    "parse_errors",
    "undefined_names",
    "lint",
    "test",
    "typecheck",
    "verifier_output",
)
"""The order in which findings are listed."""

SUMMARY = 220
"""Characters of a summary."""

_PARSE = re.compile(
    r"syntax ?error|invalid-syntax|\[syntax\]|pars(?:e|ing) error|unclosed delimiter|unexpected token"
    r"|indentationerror|unterminated|\bTS1\d{3}\b|\bE9\d\d\b|^expected .{1,30} before |^'[^']+' expected$"
    r"|^expected one of ",
    re.IGNORECASE,
)
_UNDEFINED = re.compile(
    r"\bF82\d\b|name-defined|reportUndefinedVariable|\bE0(?:425|433|412|405)\b|\bundefined: "
    r"|\bTS(?:2304|2552)\b|\bno-undef\b|\bundeclared\b|cannot find symbol|\bNameError\b"
    r"|implicit declaration|undefined (?:name|variable|identifier|reference)|not found in this scope",
    re.IGNORECASE,
)


class Finding(msgspec.Struct, frozen=True):
    """One verified problem; `provenance` says which command or field showed it."""

    source: Source
    provenance: str
    summary: str

    def line(self) -> str:
        """The finding as it stands in the reminder."""
        return f"- [verified:{self.source}] {self.summary} (provenance: {self.provenance})"


def classify(words: str, otherwise: Source) -> Source:
    """What kind of problem `words` describe."""
    if _PARSE.search(words):
        return "parse_errors"
    return "undefined_names" if _UNDEFINED.search(words) else otherwise


def is_strong(words: str) -> bool:
    """Whether `words` name a parse error or an undefined name, whatever severity they claim."""
    return classify(words, "lint") != "lint"


def finding(source: Source, provenance: str, summary: object) -> Finding:
    """A finding with its texts made harmless and cut to length."""
    return Finding(source, one_line(provenance, 120), one_line(summary, SUMMARY))
