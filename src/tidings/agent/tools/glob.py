"""Path patterns, in the manner of .gitignore: text becomes a compiled pattern, rules become a verdict.

Close to git where it matters (comments, `!`, trailing and leading slashes, `**`, nested files, the last
match decides), not a copy of it. Runs in the search process; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_ALTERNATIVES = 64

_TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[!?\]?[^\]]*\]|\\.|.", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class IgnoreRule(NamedTuple):
    """One line of an ignore file; `base` is the folder it stands in, "" for the root."""

    base: str
    pattern: re.Pattern[str]
    folders_only: bool
    negated: bool

    def speaks_of(self, path: str, is_folder: bool) -> bool:
        """Whether the line matches this path, given relative to the root."""
        if self.folders_only and not is_folder:
            return False
        inside = f"{self.base}/" if self.base else ""
        return path.startswith(inside) and self.pattern.fullmatch(path[len(inside) :]) is not None


def read_rules(text: str, base: str) -> Iterator[IgnoreRule]:
    """The rules of an ignore file that stands in the folder `base`."""
    for line in text.splitlines():
        rule = line.rstrip()
        if not rule or rule.startswith("#"):
            continue
        negated = rule.startswith("!")
        body = rule.removeprefix("!")
        if body.strip("/"):
            yield IgnoreRule(base, compile_glob(body.removesuffix("/")), body.endswith("/"), negated)


def is_ignored(rules: Iterable[IgnoreRule], path: str, is_folder: bool) -> bool:
    """Whether the last rule that speaks of `path` says so."""
    ignored = False
    for rule in rules:
        if rule.speaks_of(path, is_folder):
            ignored = not rule.negated
    return ignored


def compile_glob(glob: str) -> re.Pattern[str]:
    """A pattern without a slash matches at any depth, one with a slash from its base."""
    anchored = "/" in glob
    body = "".join(_translated(token) for token in _TOKEN.findall(glob.removeprefix("/")))
    return re.compile(body if anchored else rf"(?:.*/)?{body}", re.DOTALL)


def alternatives(glob: str) -> list[str]:
    """`*.{ts,tsx}` as one pattern for each choice; beyond a bound the braces stay as they are."""
    done: list[str] = []
    todo = [glob]
    while todo:
        each = todo.pop()
        match = _BRACES.search(each)
        if match is None or len(done) + len(todo) >= MAX_ALTERNATIVES:
            done.append(each)
            continue
        before, after = each[: match.start()], each[match.end() :]
        todo += [f"{before}{choice}{after}" for choice in match[1].split(",")]
    return done


def _translated(token: str) -> str:
    match token:
        case "**/":
            return "(?:.*/)?"
        case "/**":
            return "/.*"
        case "?":
            return "[^/]"
        case _ if token.startswith("*"):
            return "[^/]*"
        case _ if token.startswith("[") and len(token) > 2:
            return _bracket(token)
        case _:
            return re.escape(token[-1])


def _bracket(token: str) -> str:
    body = token[1:-1]
    negated = body.startswith("!")
    inner = re.escape(body.removeprefix("!")).replace(r"\-", "-")
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return re.escape(token)
    return f"[{'^/' if negated else ''}{inner}]"
