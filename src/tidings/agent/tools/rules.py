"""Rules of the approval gate: a call's name and arguments become allow, ask or deny.

Patterns are shell globs over what the model sent, as text. A path is compared in all its spellings
(as sent, tidied, relative to the workspace): a deny needs one to match, an allow needs all. In an
allow rule a wildcard matches no shell control characters, or one allowed command could carry another.
Links are not followed: keeping paths inside the workspace is the tools' own duty. Pure.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from tidings.agent.port import ToolCall
from tidings.errors import CallerError

Action: TypeAlias = Literal["allow", "ask", "deny"]

_CONTROL = re.compile(r"[;&|<>`$(){}\n\r\0]")


class Rule(msgspec.Struct, frozen=True):
    """One rule: what to do with calls whose tool and arguments match.

    `arguments` maps argument names to patterns; all of them must match. `reason` is told to the model.
    """

    action: Action
    tool: str = "*"
    arguments: Mapping[str, str] = {}
    reason: str = ""

    def __str__(self) -> str:
        wanted = ", ".join(f"{name}={pattern}" for name, pattern in self.arguments.items())
        return f"{self.action} {self.tool}" + (f"({wanted})" if wanted else "")


def checked(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules, each with a known action.

    Raises:
        CallerError: an action that is none.
    """
    for rule in rules:
        if rule.action not in get_args(Action):
            raise CallerError(f"rule action is {rule.action!r}; use one of {', '.join(get_args(Action))}")
    return tuple(rules)


def matching(rules: Sequence[Rule], call: ToolCall, root: Path | None = None) -> Rule | None:
    """The rule that decides: any deny that matches, else the first that matches."""
    found = [rule for rule in rules if matches(rule, call, root)]
    return next((rule for rule in found if rule.action == "deny"), found[0] if found else None)


def matches(rule: Rule, call: ToolCall, root: Path | None = None) -> bool:
    """Whether `rule` speaks about `call`."""
    if not fnmatch.fnmatchcase(call.name, rule.tool):
        return False
    return all(
        name in call.arguments and _fits(rule.action, pattern, call.arguments[name], root)
        for name, pattern in rule.arguments.items()
    )


def _fits(action: Action, pattern: str, value: object, root: Path | None) -> bool:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if action != "allow":
        return any(_glob(text, pattern) for text in _spellings(text, root))
    patterns = (pattern, posixpath.normpath(pattern))
    return not (_CONTROL.search(text) and text not in patterns) and all(
        any(_glob(spelling, each) for each in patterns) for spelling in _spellings(text, root)
    )


def _glob(text: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(text, pattern)


def _spellings(text: str, root: Path | None) -> tuple[str, ...]:
    tidy = posixpath.normpath(text)
    if root is None or not posixpath.isabs(tidy):
        return (text, tidy)
    return (text, tidy, posixpath.relpath(tidy, root))
