"""Three timeouts in a row, a pause that grows, one try."""

from __future__ import annotations

import pytest

from tidings.errors import CallerError
from tidings.mcp.conversation.breaker import Breaker, Patience, answered, asked, timed_out

PATIENCE = Patience(timeouts=3, first=30, factor=2, longest=100)


def after(*times: float) -> Breaker:
    breaker = Breaker()
    for now in times:
        breaker = timed_out(asked(breaker), now, PATIENCE)
    return breaker


def test_two_timeouts_leave_it_closed_and_the_third_opens_it() -> None:
    assert after(1, 2).lets_through(2)
    assert after(1, 2, 3) == Breaker(row=3, opened=1, until=33)
    assert not after(1, 2, 3).lets_through(32.9)


def test_after_the_pause_one_try_is_let_through_and_no_second() -> None:
    breaker = after(1, 2, 3)
    assert breaker.lets_through(33)
    assert not asked(breaker).lets_through(33)


def test_a_try_that_times_out_opens_it_for_longer_up_to_a_bound() -> None:
    assert [after(1, 2, 3).until, after(1, 2, 3, 33).until] == [33, 93]
    assert after(1, 2, 3, 33, 100, 300).until == 400


def test_an_answer_closes_it_and_begins_a_new_row() -> None:
    assert answered(asked(after(1, 2, 3))) == Breaker()
    assert timed_out(answered(after(1, 2)), 5, PATIENCE) == Breaker(row=1)


@pytest.mark.parametrize("field", ["timeouts", "first", "factor", "longest"])
def test_patience_without_measure_is_refused(field: str) -> None:
    with pytest.raises(CallerError, match=f"patience `{field}` must be a number above 0; got 0"):
        Patience(**{field: 0})
