"""Structured diagnostics in a result: lists of errors that a tool gives as data become findings. Pure.

`parse_errors` and `undefined_names` always count; `errors` and `failures` unless they say that there are
none; `diagnostics`, `issues` and `findings` only with an error's severity or unmistakable words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tidings.agent.providers.review.finding import Finding, Source, classify, finding, is_strong
from tidings.agent.providers.situation import first, mapping, number, text

KEYS: dict[str, Source] = {
    "parse_errors": "parse_errors",
    "undefined_names": "undefined_names",
    "lint_errors": "lint",
    "type_errors": "typecheck",
    "failures": "test",
    "errors": "verifier_output",
    "diagnostics": "verifier_output",
    "issues": "lint",
    "findings": "verifier_output",
}
"""The fields that are looked at, and the source of what they hold."""

ALWAYS = frozenset(("parse_errors", "undefined_names", "lint_errors", "type_errors"))
GRADED = frozenset(("diagnostics", "issues", "findings"))
ERRORS = frozenset(("error", "fatal", "fail", "failed", "failure", "critical", "err", "high"))
WARNINGS = frozenset(("warning", "warn", "medium"))
MILD = frozenset(
    ("info", "information", "informational", "hint", "note", "help", "style", "low", "suggestion")
)

DEPTH = 5
_WIDTH = 200
_CLEAN = re.compile(r"^(?:0|no|none|zero)\b[\s\w]*$", re.IGNORECASE)
_MESSAGE = ("message", "msg", "text", "summary", "title", "reason", "detail", "description", "error")
_LEVEL = ("severity", "level", "category", "type")


def structured(value: object, path: str = "", *, warnings: bool, depth: int = 0) -> Iterator[Finding]:
    """The findings that the fields of `KEYS` hold, wherever they stand in `value`."""
    if depth > DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in list(value.items())[:_WIDTH]:
            place = f"{path}.{key}" if path else str(key)
            if key in KEYS:
                yield from _field(str(key), item, place, warnings=warnings)
            elif key not in ("arguments", "args", "input", "tool_input"):
                yield from structured(item, place, warnings=warnings, depth=depth + 1)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value[:_WIDTH]):
            yield from structured(item, f"{path}[{at}]", warnings=warnings, depth=depth + 1)


def _field(key: str, value: object, path: str, *, warnings: bool) -> Iterator[Finding]:
    count = number(value)
    if count is not None:
        if count > 0 and key not in GRADED:
            yield finding(KEYS[key], path, f"{count:.0f} {key.replace('_', ' ')} reported")
        return
    for where, item in _items(value):
        words = _words(item, where)
        if words and _counts(key, item, words, warnings=warnings):
            yield finding(_source(key, words), path, words)


def _items(value: object) -> Iterator[tuple[str, object]]:
    """Each diagnostic with the place it is filed under: a list, one alone, or a mapping by file."""
    if isinstance(value, Mapping) and not any(key in value for key in _MESSAGE):
        for name, items in list(value.items())[:_WIDTH]:
            for item in items if isinstance(items, (list, tuple)) else (items,):
                yield str(name), item
    elif isinstance(value, (list, tuple)):
        for item in value[:_WIDTH]:
            yield "", item
    elif isinstance(value, (str, Mapping)):
        yield "", value


def _counts(key: str, item: object, words: str, *, warnings: bool) -> bool:
    level = severity(item)
    clean = bool(_CLEAN.match(item.strip() if isinstance(item, str) else words))
    if key in ALWAYS:
        return not clean
    if level == "mild":
        return False
    if level == "warning":
        return warnings or _is_unmistakable(key, item, words)
    if key in GRADED:
        return level == "error" or _is_unmistakable(key, item, words)
    return not clean


def _is_unmistakable(key: str, item: object, words: str) -> bool:
    """Whether the words alone are evidence: about a place in code, as an issue tracker's are not."""
    about_code = key == "diagnostics" if isinstance(item, str) else bool(_place(mapping(item)))
    return about_code and is_strong(words)


def severity(item: object) -> str:
    """error, warning, mild, or nothing when the item does not say; numbers as in LSP or ESLint."""
    fields = mapping(item)
    for key in _LEVEL:
        value = fields.get(key)
        if isinstance(value, str) and (word := value.strip().lower()) in ERRORS | WARNINGS | MILD:
            return "error" if word in ERRORS else "warning" if word in WARNINGS else "mild"
        if isinstance(value, int) and not isinstance(value, bool):
            levels = {2: "error", 1: "warning"} if "ruleId" in fields else {1: "error", 2: "warning"}
            return levels.get(value, "mild")
    return ""


def _words(item: object, where: str) -> str:
    if isinstance(item, str):
        told = item.strip()
        return f"{where}: {told}" if where and told else told
    fields = mapping(item)
    message = text(first(*(fields.get(key) for key in _MESSAGE if text(fields.get(key)))))
    code = first(fields.get("code"), fields.get("ruleId"), fields.get("rule"))
    label = str(code) if isinstance(code, (str, int)) and not isinstance(code, bool) else ""
    place = _place(fields) or where
    name = text(fields.get("name")) if not message else ""
    told = ": ".join(part for part in (label, message or name) if part)
    return f"{place}: {told}" if place and told else told


def _place(fields: Mapping[str, object]) -> str:
    keys = ("file", "path", "filename", "filePath", "uri")
    file = text(first(*(fields.get(key) for key in keys)))
    start = mapping(mapping(fields.get("range")).get("start"))
    spot = mapping(fields.get("location"))
    line = number(first(fields.get("line"), spot.get("row"), spot.get("line")))
    if line is None and (zero_based := number(start.get("line"))) is not None:
        line = zero_based + 1
    return f"{file}:{line:.0f}" if file and line is not None else file


def _source(key: str, words: str) -> Source:
    return KEYS[key] if key in ALWAYS else classify(words, KEYS[key])
