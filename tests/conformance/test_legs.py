"""The official conformance suite on our server and on our host, in both eras."""

from __future__ import annotations

import time

import pytest

from tests.conformance import suite
from tests.conformance.results import LegResults
from tests.conformance.verdict import LEGS, Leg, expectations, problems
from tests.interop.install import installed


@pytest.mark.parametrize("leg", LEGS, ids=str)
def test_every_required_scenario_holds_but_for_what_is_listed_with_its_reason(
    leg: Leg, done: list[LegResults]
) -> None:
    for name in suite.NEEDED:
        assert installed()[name].problem is None, f"{name}: {installed()[name].problem}"
    began = time.monotonic()
    folder = suite.emptied(leg)
    scenarios = suite.run(leg, folder)
    found = problems(leg, scenarios, expectations())
    seconds = round(time.monotonic() - began, 1)
    done.append(LegResults(leg=leg, seconds=seconds, problems=found, scenarios=scenarios))
    assert found == [], f"see {folder}"
