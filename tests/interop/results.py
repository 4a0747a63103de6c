"""What came of an interop run: one row for each test, the versions, and why something was not run.

A row's part is the file of its test, its behaviour the test's name, read as a sentence. A run of some files
only replaces their rows. `docs/parts/interop.py` prints what `Run.write` leaves.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.interop.install import Package, installed, wanted

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
Outcome = Literal["passed", "failed", "skipped"]


class Row(msgspec.Struct, kw_only=True):
    """One behaviour with one peer. `note` says why it was skipped."""

    part: str
    peer: str
    behaviour: str
    outcome: Outcome
    seconds: float = 0.0
    note: str = ""


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    system: str
    python: str
    packages: list[Package]
    rows: list[Row]


class Run:
    """Collects rows while pytest runs."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Take in what one phase of a test gave."""
        row = self._rows.setdefault(item.nodeid, _row(item))
        row.seconds = round(row.seconds + report.duration, 1)
        if report.outcome != "passed":
            row.outcome = report.outcome
        if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
            row.note = report.longrepr[2].removeprefix("Skipped: ")

    def not_run(self) -> list[str]:
        """A line for each reason why tests of a part were skipped for a peer."""
        skipped = [row for row in self._rows.values() if row.outcome == "skipped"]
        reasons = Counter((row.part, row.peer, row.note) for row in skipped)
        return [
            f"{part} with {peer}: {n} of its tests ({note})" for (part, peer, note), n in reasons.items()
        ]

    def write(self, path: Path = RESULTS) -> None:
        """Write everything as JSON; a run in which nothing ran leaves the file as it is."""
        if all(row.outcome == "skipped" for row in self._rows.values()):
            return
        state = installed()
        results = Results(
            system=f"{platform.system()} {platform.machine()}",
            python=platform.python_version(),
            packages=[state[name] for name in wanted()],
            rows=[*_others(path, {row.part for row in self._rows.values()}), *self._rows.values()],
        )
        path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def _others(path: Path, parts: Set[str]) -> list[Row]:
    """The rows of earlier runs, of parts whose files are there and did not run now."""
    if not path.exists():
        return []
    known = {part_of(each) for each in HERE.rglob("test_*.py")} - parts
    earlier = msgspec.json.decode(path.read_bytes(), type=Results).rows
    return [row for row in earlier if row.part in known]


def part_of(path: Path) -> str:
    """The part that a file of tests is."""
    return str(path.relative_to(HERE).with_name(path.stem.removeprefix("test_")))


def _row(item: pytest.Item) -> Row:
    name, _, parameter = item.name.partition("[")
    return Row(
        part=part_of(item.path),
        peer=parameter.removesuffix("]") or "tidings acp",
        behaviour=name.removeprefix("test_").replace("_", " "),
        outcome="passed",
    )
