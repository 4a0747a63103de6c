"""Two runs of a test suite become what turned: red, green, flaky, broken, mended. Pure.

`History` remembers the last outcomes of every test that was seen; `turned` reads a new report against it. A
test that keeps turning is called flaky once, then left alone until it has settled. What a run did not get
to is as it was.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from tidings.watchers.reports.report import Case, Report, TestId

How: TypeAlias = Literal["red", "green", "flaky"]

MOST_TESTS = 100_000
"""How many tests are remembered; beyond that new ones are told when they fail, and not followed."""
REMEMBERED = 6
"""How many outcomes of each test."""
FLIPS = 3
"""How many turns among them make a test flaky."""
SETTLED = 3
"""How many equal outcomes in a row make it settled again."""


class Turn(msgspec.Struct, frozen=True):
    """One test that is told."""

    how: How
    case: Case


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of one suite. `broken`: why it cannot be run. `failing`: how many of its tests fail."""

    name: str
    turns: tuple[Turn, ...] = ()
    broken: str | None = None
    mended: bool = False
    failing: int = 0


class History:
    """What is known from earlier runs. `first` until there was one."""

    def __init__(self) -> None:
        self.first = True
        self.broken: dict[str, str] = {}
        self._seen: dict[TestId, str] = {}
        self._flaky: set[TestId] = set()

    def take(self, report: Report) -> list[Suite]:
        """What turned with `report`, suite by suite; remembers it."""
        turns = [turn for one in self._outcomes(report) if (turn := self._turn(one)) is not None]
        broken = {name: why for name, why in report.broken.items() if self.broken.get(name) is None}
        mended = [name for name in self.broken if self._is_mended(name, report)]
        for name in mended:
            del self.broken[name]
        self.broken |= report.broken
        self.first = False
        return self._by_suite(turns, broken, mended)

    def _outcomes(self, report: Report) -> list[Case]:
        """What the report says, and what it means for failing tests that it does not name."""
        named = {one.id for one in report.cases}
        if not report.complete or not report.only_failures or report.broken:
            return list(report.cases)
        silent = [
            Case(suite, name, "passed")
            for (suite, name), seen in self._seen.items()
            if seen[-1] == "f" and (suite, name) not in named and _ran(suite, report)
        ]
        return [*report.cases, *silent]

    def _turn(self, one: Case) -> Turn | None:
        if one.outcome == "skipped":
            return None
        letter = "f" if one.outcome == "failed" else "p"
        before = self._seen.get(one.id, "")
        seen = (before + letter)[-REMEMBERED:]
        if before or len(self._seen) < MOST_TESTS:
            self._seen[one.id] = seen
        if one.id in self._flaky:
            return self._settle(one, seen)
        if letter == before[-1:] or (not before and letter == "p"):
            return None
        if sum(a != b for a, b in pairwise(seen)) >= FLIPS:
            self._flaky.add(one.id)
            return Turn("flaky", one)
        return Turn("red" if letter == "f" else "green", one)

    def _settle(self, one: Case, seen: str) -> Turn | None:
        if len(set(seen[-SETTLED:])) > 1:
            return None
        self._flaky.discard(one.id)
        self._seen[one.id] = seen[-1]
        return Turn("red" if seen[-1] == "f" else "green", one)

    def _is_mended(self, name: str, report: Report) -> bool:
        if name in report.broken:
            return False
        whole = report.complete and not report.broken
        return whole or any(one.suite == name for one in report.cases)

    def _by_suite(self, turns: list[Turn], broken: dict[str, str], mended: list[str]) -> list[Suite]:
        names = dict.fromkeys((*(turn.case.suite for turn in turns), *broken, *mended))
        failing: dict[str, int] = {}
        for (suite, _), seen in self._seen.items():
            if seen[-1] == "f":
                failing[suite] = failing.get(suite, 0) + 1
        return [
            Suite(
                name=name,
                turns=tuple(turn for turn in turns if turn.case.suite == name),
                broken=broken.get(name),
                mended=name in mended,
                failing=failing.get(name, 0),
            )
            for name in names
        ]


def _ran(suite: str, report: Report) -> bool:
    """Whether the suite took part: runners that list what passed say so."""
    listed = report.passed
    return listed is None or suite in listed or any(one.suite == suite for one in report.cases)
