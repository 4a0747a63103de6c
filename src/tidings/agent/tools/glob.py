"""Path patterns, in the manner of .gitignore: text becomes a compiled pattern, rules become a verdict.

Reads what git reads: comments, `!`, trailing and leading slashes, `**`, brackets, escapes, nested files,
the last match decides. Two things differ: git's `?` and `[…]` stand for a byte, and its `a**/` is of any
depth against its own manual. No pattern takes long, whoever wrote it: what follows a star is matched at
its first place and never again. Runs in the search process; standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from tidings.agent.tools.brackets import NOTHING, read_bracket

Name: TypeAlias = list[str]

MAX_ALTERNATIVES = 64

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_TRAILING_SPACES = re.compile(r"(?<!\\)((?:\\\\)*) +$")


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
    for line in text.removeprefix("\ufeff").split("\n"):
        rule = _without_spaces(line.removesuffix("\r"))
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
    names = _names(glob.removeprefix("/"))
    if "/" not in glob:
        return re.compile(rf"(?:.*/)?{_name(names[0])}", re.DOTALL)
    return re.compile(_path(names), re.DOTALL)


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


def _without_spaces(line: str) -> str:
    """Blanks at the end mean nothing unless the first is escaped; tabs always mean themselves."""
    found = _TRAILING_SPACES.search(line)
    return line if found is None else line[: found.end(1)]


def _names(glob: str) -> list[Name]:
    """The names of a path, each as what stands between its stars."""
    names, at = [[""]], 0
    while at < len(glob):
        character = glob[at]
        at += 1
        if character == "\\":
            character, at = glob[at : at + 1], at + 1
            said = re.escape(character) if character else NOTHING
        elif character == "[":
            said, at = read_bracket(glob, at)
        else:
            said = "[^/]" if character == "?" else re.escape(character)
            if character == "*":
                names[-1].append("")
                continue
        if said == "/":
            names.append([""])
        else:
            names[-1][-1] += said
    return names


def _path(names: list[Name]) -> str:
    """Names with slashes between them; one of nothing but stars stands for any number of folders."""
    groups = [""]
    for name in names[:-1]:
        if _is_any_depth(name):
            groups.append("")
        else:
            groups[-1] += f"{_name(name)}/"
    last = ".+" if _is_any_depth(names[-1]) else _name(names[-1])
    first, *others = groups
    if not others:
        return first + last
    middle = "".join(rf"(?>(?:[^/]+/)*?{group})" for group in others[:-1] if group)
    return rf"{first}{middle}(?:[^/]+/)*{others[-1]}{last}"


def _is_any_depth(name: Name) -> bool:
    return len(name) > 2 and not any(name)


def _name(name: Name) -> str:
    """One name: what stands behind a star is matched at the first place where it fits."""
    first, *others = name
    if not others:
        return first or NOTHING
    inner = "".join(rf"(?>[^/]*?{piece})" for piece in others[:-1] if piece)
    return rf"(?>{first}{inner}[^/]*{others[-1]}(?=/|\Z))"
