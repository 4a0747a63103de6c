"""Which known verifiers a shell command runs. Pure, and never runs anything.

The command line is split at `;`, `&&`, `||`, `|` and newlines; in each part, assignments and wrappers
such as `timeout 60`, `npx` or `python -m` are passed over. `echo pytest` and `cat pytest.log` run no
verifier.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tidings.agent.providers.review.verifiers import VERIFIERS, Verifier
from tidings.agent.providers.situation import mapping

LONGEST = 8192
"""Characters of a command line that are looked at."""

_PARTS = re.compile(r"&&|\|\||[;|\n&()]")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_OPTION = re.compile(r"^-")
_DURATION = re.compile(r"^\d+(?:\.\d+)?[smhd]?$")
_WRAPPERS = frozenset(
    (
        "sudo", "time", "env", "nice", "nohup", "exec", "command", "then", "do", "npx", "bunx", "timeout",
        "xvfb-run", "stdbuf", "!",
    )
)  # fmt: skip
"""Words that run what follows their options and durations."""
_RUNNERS = {
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("rye", "run"),
    ("uv", "tool"), ("pnpm", "exec"), ("npm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bundle", "exec"),
    ("coverage", "run"),
}  # fmt: skip
"""Two words that run what follows."""
_SHELLS = ("bash", "sh", "zsh", "dash")
_PYTHON = re.compile(r"^python[\d.]*$")
_BENIGN = (
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "diff",
    "cmp",
    "test",
    "[",
    "which",
    "git diff",
    "git grep",
)
"""Commands whose exit code 1 is an answer, not an error."""

_BY_COMMAND: dict[tuple[str, ...], Verifier] = {
    tuple(command.split()): verifier for verifier in VERIFIERS for command in verifier.commands
}
_COMMAND_KEYS = ("command", "cmd", "argv", "script", "command_line")
COMMANDS = frozenset(_COMMAND_KEYS)
"""Where a command line may stand."""
ARGUMENTS = ("arguments", "args", "input", "tool_input", "params")
"""Where the arguments of a call may stand."""


def command_of(payload: Mapping[str, object]) -> str:
    """The command line that a tool was given, or the tool's own name as a command."""
    places = [mapping(payload[key]) for key in ARGUMENTS if key in payload]
    for place in (*places, payload, mapping(payload.get("result"))):
        for key in () if COMMANDS.isdisjoint(place) else _COMMAND_KEYS:
            value = place.get(key)
            if value is None:
                continue
            if isinstance(value, str) and value.strip():
                return value[:LONGEST]
            if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
                return shlex.join(value)[:LONGEST]
    return named(payload)


def named(payload: Mapping[str, object]) -> str:
    """The name of the tool as a command."""
    name = payload.get("tool_name", payload.get("tool"))
    return name.replace("_", " ")[:200] if isinstance(name, str) else ""


@lru_cache(maxsize=256)
def verifiers_in(command: str) -> tuple[Verifier, ...]:
    """The verifiers that `command` runs, each once; remembered, because the same tools are called often."""
    found = (_verifier(words) for words in _calls(command))
    return tuple(dict.fromkeys(verifier for verifier in found if verifier is not None))


def is_benign(command: str) -> bool:
    """Whether the last call of `command` uses exit code 1 as an answer, as grep does."""
    calls = _calls(command)
    if not calls:
        return False
    return any(calls[-1][: len(b.split())] == b.split() for b in _BENIGN)


def _verifier(words: Sequence[str]) -> Verifier | None:
    """The verifier that these words start: the program with its subcommand, else the program alone."""
    for subcommand in _subcommands(words[1:]):
        if (words[0], subcommand) in _BY_COMMAND:
            return _BY_COMMAND[words[0], subcommand]
    return _BY_COMMAND.get((words[0],))


def _subcommands(words: Sequence[str]) -> Iterator[str]:
    """The first plain word; the next one too if the first may be the value of an option."""
    after_option = False
    for word in words:
        if word.startswith(("-", "+")):
            after_option = word.startswith("-")
            continue
        yield word
        if not after_option:
            return
        after_option = False


def _calls(command: str, depth: int = 0) -> list[list[str]]:
    calls: list[list[str]] = []
    for part in _split(command[:LONGEST]):
        words = _unwrapped(part)
        if not words:
            continue
        script = _inner(words)
        if script is not None and depth < 3:
            calls += _calls(script, depth + 1)
        else:
            calls.append(words)
    return calls


def _split(command: str) -> list[list[str]]:
    """The words of each part; quoted separators are kept where the shell would keep them."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote: split it plainly
        return [part.split() for part in _PARTS.split(command)]
    parts: list[list[str]] = [[]]
    for word in words:
        if word and set(word) <= set(";&|()"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on, its folder left out."""
    at = 0
    while at < len(words):
        word = words[at].rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(words[at]):
            at += 1
        elif word in _WRAPPERS:
            at = _past_options(words, at + 1)
        elif (word, *words[at + 1 : at + 2]) in _RUNNERS:
            at = _past_options(words, at + 2)
        elif _PYTHON.match(word) and "-m" in words[at + 1 : at + 5]:
            at = words.index("-m", at) + 1
        else:
            return [word, *words[at + 1 :]]
    return []


def _past_options(words: list[str], at: int) -> int:
    while at < len(words) and (_OPTION.match(words[at]) or _DURATION.match(words[at])):
        at += 1
    return at


def _inner(words: list[str]) -> str | None:
    """The script of `bash -c '…'`."""
    if words[0] not in _SHELLS:
        return None
    for at, word in enumerate(words[1:], 1):
        if _OPTION.match(word) and "c" in word and at + 1 < len(words):
            return words[at + 1]
    return None
