"""`[…]` in a path pattern becomes one of a regular expression, read as git reads it.

`!` and `^` turn it round, a `]` that comes first is meant, a backslash escapes, `[:digit:]` names a
class, a range that runs backwards holds its beginning. One that is never closed matches nothing at all.
Called by `glob.py`.
"""

from __future__ import annotations

import re

NOTHING = "(?!)"

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t-\\r ",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def read_bracket(glob: str, at: int) -> tuple[str, int]:
    """The expression for the bracket whose `[` stands before `at`, and the place behind it."""
    negated = glob[at : at + 1] in ("!", "^")
    start = at = at + negated
    parts: list[str] = []
    while at < len(glob) and (glob[at] != "]" or at == start):
        said, at = _member(glob, at)
        if said is None:
            return NOTHING, len(glob)
        parts.append(said)
    if at >= len(glob):
        return NOTHING, len(glob)
    inside = "".join(parts)
    return (f"[^/{inside}]" if negated else f"(?!/)[{inside}]"), at + 1


def _member(glob: str, at: int) -> tuple[str | None, int]:
    """One member: a class, a range or a character; None when the whole pattern can match nothing."""
    if glob.startswith("[:", at):
        end = glob.find("]", at + 2)
        if end < 0:
            return None, at
        if end > at + 2 and glob[end - 1] == ":":
            return _CLASSES.get(glob[at + 2 : end - 1]), end + 1
        return re.escape("["), at + 1
    first, at = _character(glob, at)
    if first is None:
        return None, at
    if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
        last, at = _character(glob, at + 1)
        if last is None:
            return None, at
        return f"{re.escape(first)}-{re.escape(max(first, last))}", at
    return re.escape(first), at


def _character(glob: str, at: int) -> tuple[str | None, int]:
    """A character, perhaps behind a backslash; None at the end of the pattern."""
    if glob[at] == "\\":
        at += 1
    return (glob[at], at + 1) if at < len(glob) else (None, at)
