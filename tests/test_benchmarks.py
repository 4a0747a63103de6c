"""The benchmarks still start, and measure what they say. Figures are not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.__main__ import NAMES, row
from benchmarks.bench_loop import Fast, run_bare, run_loop
from benchmarks.measure import Measurement, measurement, met
from tidings.agent.port import Answer

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_prints_measurements_with_their_targets(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in (0, 1)
    rows = done.stdout.splitlines()
    assert rows
    assert any("<=" in line or ">=" in line for line in rows)


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (0.4, ">= 0.4", True),
        (0.39, ">= 0.4", False),
        (16.0, "<= 16", True),
        (16.1, "<= 16", False),
        (1.0, "", None),
    ],
)
def test_a_target_is_met_or_missed(value: float, target: str, expected: bool | None) -> None:
    assert met(value, target) is expected


def test_a_row_shows_figure_target_and_verdict() -> None:
    one = measurement("speed", 2.0, target="<= 3", detail="so fast")
    assert one == Measurement("speed", 2.0, "x", "<= 3", True, "so fast")
    assert row(one).split() == ["speed", "2.00", "x", "<=", "3", "met", "so", "fast"]


class Listening(Fast):
    """The model of the loop's benchmark, which also keeps what it is asked."""

    def __init__(self, turns: int) -> None:
        super().__init__(turns)
        self.bodies: list[bytes] = []

    async def answer(self, body: object, *_: object) -> Answer:
        self.bodies.append(msgspec.json.encode(body))
        return await super().answer(body)


def test_the_loop_and_the_bare_one_build_the_same_bodies(tmp_path: Path) -> None:
    ours, bare = Listening(12), Listening(12)
    run_loop(ours, tmp_path)
    run_bare(bare)
    assert len(ours.bodies) == 12
    assert ours.bodies == bare.bodies
