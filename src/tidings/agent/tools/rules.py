"""Rules of the approval gate: a call's name and arguments become allow, ask or deny.

Patterns are shell globs over what the model sent, as text. A path is compared by what it means, however
it is spelled (`spelling.py`): a deny needs one spelling to match; an allow for an absolute path needs the
files themselves to match, any other allow the text as it was sent too. In an allow rule a wildcard
matches no shell control characters, or one allowed command could carry another. Links are followed as
they are when the gate is asked; keeping paths inside the workspace is the tools' own duty.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from tidings.agent.port import ToolCall
from tidings.agent.tools import spelling
from tidings.errors import CallerError

Action: TypeAlias = Literal["allow", "ask", "deny"]

COMMANDS = ("command", "cmd", "script")
"""Arguments that are no paths: in an allow rule their words count, not what they could mean as a path."""

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
    """The rules, each with a known action and with patterns.

    Raises:
        CallerError: one has not, or is no rule.
    """
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, Rule) for rule in rules):
        raise CallerError(f"approval `rules` must be a list of td.Rule; got {rules!r:.80}")
    for rule in rules:
        for pattern in (rule.tool, *rule.arguments.values()):
            if not isinstance(pattern, str):
                raise CallerError(f"a pattern of the rule '{rule}' must be a string; got {pattern!r}")
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
        name in call.arguments and _fits(rule.action, name, pattern, call.arguments[name], root)
        for name, pattern in rule.arguments.items()
    )


def _fits(action: Action, name: str, pattern: str, value: object, root: Path | None) -> bool:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if action == "allow":
        return _allows(name, pattern, text, None if root is None else str(root))
    base = os.getcwd() if root is None else str(root)
    patterns = spelling.of_pattern(pattern, base)
    return any(_glob(each, patterns) for each in spelling.of_value(text, base))


def _allows(name: str, pattern: str, text: str, base: str | None) -> bool:
    """Whether an allow rule covers the text and every file that it may mean."""
    written = (pattern, spelling.tidy(pattern))
    if _CONTROL.search(text) and text not in written:
        return False
    files = spelling.files(text, base)
    covered = all(_glob(file, spelling.of_pattern(pattern, base)) for file in files)
    if spelling.is_absolute(pattern) and name not in COMMANDS and _is_path(text):
        return covered and bool(files)
    return covered and _glob(text, written) and _glob(spelling.tidy(text), written)


def _is_path(text: str) -> bool:
    """Whether it may be read as a path: words with blanks between them may be a command instead."""
    return spelling.is_absolute(text) or not any(map(str.isspace, text))


def _glob(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)
