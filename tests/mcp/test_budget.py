"""A server that says too much loses the excess, and one record says how much that was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.errors import CallerError
from tidings.mcp.budget import Budget, Meter, Verdict


def test_a_burst_fits_and_what_follows_waits_for_the_minute() -> None:
    meter = Meter(Budget(per_minute=2), now=0.0)
    assert [meter.spend(10, 0.0).fits for _ in range(4)] == [True, True, False, False]
    assert meter.spend(10, 29.9).fits is False
    assert meter.spend(10, 60.0) == Verdict(True, dropped=3)
    assert (meter.spend(10, 60.0).dropped, meter.dropped) == (0, 3)


def test_only_the_first_refusal_of_a_spell_is_to_be_recorded_at_once() -> None:
    meter = Meter(Budget(per_minute=1), now=0.0)
    meter.spend(1, 0.0)
    told = []
    for _ in range(3):
        meter.spend(1, 0.0)
        told.append(meter.first_refused)
    assert told == [True, False, False]


def test_bytes_count_too() -> None:
    meter = Meter(Budget(per_minute=100, bytes_per_minute=100), now=0.0)
    assert [meter.spend(60, 0.0).fits, meter.spend(60, 0.0).fits, meter.spend(40, 0.0).fits] == [
        True,
        False,
        True,
    ]


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    meter = Meter(Budget(per_minute=1), now=100.0)
    meter.spend(1, 100.0)
    assert meter.spend(1, 40.0).fits is False
    assert meter.spend(1, 90.0).fits is False


@pytest.mark.parametrize("value", [0, -1, True])
def test_a_budget_is_at_least_one(value: int) -> None:
    with pytest.raises(CallerError, match="budget `per_minute` must be 1 or more"):
        Budget(per_minute=value)


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 50)), max_size=60))
def test_no_minute_carries_more_than_twice_the_budget(steps: list[tuple[float, int]]) -> None:
    budget = Budget(per_minute=5, bytes_per_minute=100)
    meter = Meter(budget, now=0.0)
    now, passed = 0.0, []
    for wait, size in steps:
        now += wait
        if meter.spend(size, now).fits:
            passed.append((now, size))
    for start, _ in passed:
        window = [size for at, size in passed if start <= at < start + 60]
        assert len(window) <= 2 * budget.per_minute
        assert sum(window) <= 2 * budget.bytes_per_minute
