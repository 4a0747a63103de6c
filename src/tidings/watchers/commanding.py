"""What to say of a command that was run again: that it fails now, or passes now. Pure.

Only turns are told: from pass to fail with the first failing lines, from fail to pass in one line. All of
them share one dedupe key, so that an older verdict never stands beside a newer one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.providers.quoting import one_line
from tidings.agent.providers.review.commands import verifiers_in
from tidings.agent.providers.review.scan import scan
from tidings.core.redaction import redact
from tidings.watchers.process import Run
from tidings.watchers.rerun import Cause
from tidings.watchers.told import Told

Report: TypeAlias = Literal["turns", "every"]
First: TypeAlias = Literal["failing", "always", "never"]

LINES = 8
"""How many failing lines are shown."""
LINE = 220
MOST_LINES = 4_000
"""How many lines of output are looked through: looking takes its time, and watchers share theirs."""
TTL = 1
TAGS = ("command",)

_TROUBLE = re.compile(
    r"\b(?:error|fail(?:ed|ure|s)?|panic(?:ked)?|exception|fatal|cannot|not found)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^a-z0-9]+")


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, as it may be shown; what it is called, and which of its runs are told."""

    argv: tuple[str, ...]
    name: str
    report: Report = "turns"
    first: First = "failing"

    @property
    def title(self) -> str:
        """The command as a person would type it, without folders of the program and without secrets."""
        program = self.argv[0].rsplit("/", 1)[-1]
        return one_line(redact(shlex.join((program, *self.argv[1:]))), 120)

    @property
    def key(self) -> str:
        """The dedupe key of everything that is said of it, such as `cargo-check:status`."""
        return f"{self.name}:status"


def name_of(argv: Sequence[str]) -> str:
    """A name for a command: its program and first plain word, such as `cargo-check`, but no secret."""
    plain = [word for word in argv if "[redacted" not in word]
    shown = set(redact(" ".join(plain)).split(" "))
    words = [word for word in plain if not word.startswith("-") and set(word.split(" ")) <= shown][:2]
    said = "-".join(word.rsplit("/", 1)[-1] for word in words)
    return _WORD.sub("-", said.lower()).strip("-")[:60] or "command"


def tell(command: Command, before: Run | None, now: Run, cause: Cause) -> Told | None:
    """What to say after a run, if anything."""
    if not _is_news(command, before, now):
        return None
    body = _passing(command, before, cause) if now.passed else _failing(command, before, now, cause)
    return Told(body, command.key, TAGS, TTL)


def _is_news(command: Command, before: Run | None, now: Run) -> bool:
    if before is None:
        return command.first == "always" or (command.first == "failing" and not now.passed)
    return command.report == "every" or before.passed != now.passed


def _passing(command: Command, before: Run | None, cause: Cause) -> str:
    turned = " It failed before." if before is not None and not before.passed else ""
    return f"{command.title} passed{_since(cause)}.{turned}"


def _failing(command: Command, before: Run | None, now: Run, cause: Cause) -> str:
    turned = " It passed before." if before is not None and before.passed else ""
    told = f"{command.title} {how(now)}{_since(cause)}.{turned}"
    lines = failing_lines(command.title, now)
    return "\n".join((told, *(f"- {line}" for line in lines)))


def _since(cause: Cause) -> str:
    if not cause.paths:
        return ""
    return " after your last edit" if cause.own else " after the last edit"


def how(run: Run) -> str:
    """How a run ended badly."""
    match run.end:
        case "timed_out":
            return f"did not end within {run.deadline:g} seconds and was stopped"
        case "not_started":
            return f"cannot be started: {one_line(run.text, LINE)}"
        case _ if run.exit_code is not None and run.exit_code < 0:
            return f"was ended by signal {-run.exit_code}"
        case _:
            return f"failed with exit code {run.exit_code}"


def failing_lines(command: str, run: Run) -> list[str]:
    """The first lines that say what is wrong: as a known verifier writes them, else by their sound."""
    if run.end == "not_started":
        return []
    text = _readable(run.text)
    found = scan(text, verifiers_in(command), command, warnings=False).findings
    lines = [one.summary for one in found] or _sounding(text)
    shown = [one_line(line, LINE) for line in lines[:LINES]]
    more = len(lines) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _readable(text: str) -> str:
    """The first and the last lines of a text that has more than can be looked through."""
    lines = text.splitlines()
    half = MOST_LINES // 2
    return text if len(lines) <= MOST_LINES else "\n".join((*lines[:half], *lines[-half:]))


def _sounding(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if _TROUBLE.search(line)] or lines[-LINES:]
