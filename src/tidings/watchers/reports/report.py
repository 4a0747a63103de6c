"""A test report: which test of which suite passed, failed or was skipped, and what could not even start.

The readers beside this page make it from what a runner wrote. A suite is what the runner groups by: a file
for pytest, cargo, jest and vitest, a package for go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.providers.quoting import one_line
from tidings.core.redaction import redact

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
TestId: TypeAlias = tuple[str, str]
"""Suite and name."""

MOST_CASES = 50_000
MESSAGE = 200
NAME = 160


class Case(msgspec.Struct, frozen=True):
    """One test that ran or was skipped."""

    suite: str
    name: str
    outcome: Outcome
    message: str = ""

    @property
    def id(self) -> TestId:
        """What it is known by from run to run."""
        return (self.suite, self.name)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    `broken` suites could not be read, built or set up, and say why. `only_failures`: the runner names just
    the failing tests, so a suite in `passed` (or any, when the runner lists none) has no other. `complete`:
    the run came to its end.
    """

    tool: str
    cases: tuple[Case, ...] = ()
    broken: dict[str, str] = {}
    passed: frozenset[str] | None = None
    only_failures: bool = False
    complete: bool = True


def case(suite: str, name: str, outcome: Outcome, message: str = "") -> Case:
    """A case with its words made harmless, without secrets, cut to length; only failures say why."""
    why = one_line(redact(message), MESSAGE) if message and outcome == "failed" else ""
    return Case(one_line(suite, 300), one_line(name, NAME), outcome, why)


def bounded(cases: Iterable[Case]) -> tuple[tuple[Case, ...], bool]:
    """The cases, the last of each name, as many as fit; and whether all did."""
    found: dict[TestId, Case] = {}
    for one in cases:
        if one.id in found or len(found) < MOST_CASES:
            found[one.id] = one
        else:
            return tuple(found.values()), False
    return tuple(found.values()), True
