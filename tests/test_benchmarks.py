"""The benchmarks still start, and measure what they say. Figures are not judged here."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.__main__ import NAMES, row
from benchmarks.measure import Measurement, met


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_gives_measurements_with_targets(name: str) -> None:
    found = import_module(f"benchmarks.bench_{name}").run(quick=True)
    assert all(isinstance(one, Measurement) and one.value > 0 for one in found)
    assert any(one.target for one in found)
    assert all(one.met == met(one.value, one.target) for one in found)
    assert all(one.name in row(one) for one in found)
