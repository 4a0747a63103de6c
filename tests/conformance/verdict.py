"""What a run of the suite means: which failures were to be expected, and which were not. Pure.

A failure is expected when `expected.json` names its check, with the reason. One that is not named, a
required scenario in which nothing was examined, and a name that fails no more are problems: each fails the
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

EXPECTED = Path(__file__).parent / "expected.json"
Side = Literal["server", "client"]


class Leg(msgspec.Struct, frozen=True):
    """One run of the suite: what is examined, in which version of the protocol."""

    side: Side
    version: str

    def __str__(self) -> str:
        return f"{self.side} {self.version}"


LEGS = (
    Leg("server", "2026-07-28"),
    Leg("server", "2025-11-25"),
    Leg("client", "2026-07-28"),
    Leg("client", "2025-11-25"),
)


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario. `unscored`: why the suite does not count it; `alone`: it was run again by itself."""

    name: str
    unscored: str | None = None
    passed: int = 0
    failed: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    skipped: int = 0
    alone: bool = False

    @property
    def examined(self) -> bool:
        """Whether the suite looked at anything that must hold."""
        return bool(self.passed or self.failed)

    @property
    def holds(self) -> bool:
        """Whether all that was looked at is as it must be."""
        return self.examined and not self.failed


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Checks of one scenario that are known to fail, and why."""

    side: Side
    version: str
    scenario: str
    checks: tuple[str, ...]
    reason: str


def expectations(path: Path = EXPECTED) -> list[Expected]:
    """What `expected.json` names."""
    return msgspec.json.decode(path.read_bytes(), type=list[Expected])


def about(leg: Leg, expected: Iterable[Expected]) -> dict[str, Expected]:
    """The expectations of one leg, by scenario."""
    return {one.scenario: one for one in expected if (one.side, one.version) == (leg.side, leg.version)}


def problems(leg: Leg, scenarios: Sequence[Scenario], expected: Iterable[Expected]) -> list[str]:
    """A line for each thing that is not as it should be; an empty list is a good run."""
    known = about(leg, expected)
    found = [line for one in scenarios if one.unscored is None for line in _of(one, known.get(one.name))]
    names = {one.name for one in scenarios}
    gone = [f"{name}: expected.json names it, the suite does not" for name in known if name not in names]
    return found + gone


def _of(scenario: Scenario, known: Expected | None) -> list[str]:
    if not scenario.examined:
        return [f"{scenario.name}: nothing was examined"]
    named = () if known is None else known.checks
    new = [f"{scenario.name}: {check} failed" for check in scenario.failed if check not in named]
    stale = [
        f"{scenario.name}: {check} is in expected.json and does not fail any more: take it out"
        for check in named
        if check not in scenario.failed
    ]
    return new + stale
