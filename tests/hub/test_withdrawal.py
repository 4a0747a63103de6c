"""Withdrawals as values: what becomes of a question, folded from its records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.core.lifecycle import Selector
from tidings.core.records import Record
from tidings.errors import CallerError
from tidings.hub import board as shelf
from tidings.hub import withdrawal
from tidings.hub.board import Board
from tidings.hub.withdrawal import Chosen, Lapse, Result, Withdrawal, WithdrawalRow


def question(name: str = "w1", session: str = "s", *, clear: bool = False) -> Withdrawal:
    what = {"clear": Selector(tag="t")} if clear else {"revoke": "r1"}
    return Withdrawal(withdrawal_id=name, session_id=session, asked_at_ms=1, until_ms=9, **what)  # type: ignore[arg-type]


def test_an_answer_is_taken_once_and_also_late() -> None:
    start = question(clear=True)
    (told,) = withdrawal.answered(start, "cleared", 3)
    assert told == Record(
        withdrawal.ANSWERED,
        {"withdrawal_id": "w1", "session_id": "s", "result": "cleared", "removed_count": 3, "late": False},
    )
    done = withdrawal.evolve(start, told)
    assert (done.open, done.result, done.removed_count) == (False, "cleared", 3)
    assert (withdrawal.answered(done, "cleared", 7), withdrawal.lapsed(done, "unanswered")) == ([], [])
    (over,) = withdrawal.lapsed(start, "session_left")
    late = withdrawal.evolve(start, over)
    assert (late.open, late.lapsed, withdrawal.lapsed(late, "unanswered")) == (False, "session_left", [])
    (told,) = withdrawal.answered(late, "cleared", 3)
    assert told.payload["late"] is True
    assert withdrawal.evolve(late, told) == replace(done, lapsed="session_left")


@pytest.mark.parametrize(
    ("result", "count"),
    [("revoked", 1), ("already_revoked", 0), ("already_delivered", 0), ("unknown_reminder_id", 0)],
)
def test_a_revoke_takes_back_one_or_none_whatever_is_claimed(result: Result, count: int) -> None:
    (told,) = withdrawal.answered(question(), result, 7)
    assert withdrawal.evolve(question(), told).removed_count == count


@pytest.mark.parametrize(("clear", "result"), [(True, "revoked"), (False, "cleared")])
def test_a_result_that_the_question_cannot_have_is_refused_with_those_it_can(
    clear: bool, result: Result
) -> None:
    with pytest.raises(CallerError, match=f"`result` is '{result}'; answer this withdrawal with .*refused"):
        withdrawal.answered(question(clear=clear), result, 0)


def test_a_question_goes_to_its_host_with_what_it_needs() -> None:
    assert withdrawal.row(question()) == WithdrawalRow(withdrawal_id="w1", until_ms=9, revoke="r1")
    assert withdrawal.row(question(clear=True)) == WithdrawalRow(
        withdrawal_id="w1", until_ms=9, clear=Chosen(tag="t")
    )


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "answer", "lapse"]), st.integers(0, 4), st.booleans()), max_size=40
)


@given(STEPS)
def test_asked_is_open_and_answered_and_lapsed_and_a_replay_gives_the_same(
    steps: list[tuple[str, int, bool]],
) -> None:
    board, written = Board(), list[Record]()
    for kind, number, clear in steps:
        name, session = f"w{number}", f"s{number % 2}"
        found = board.withdrawal(session, name)
        told = []
        if kind == "ask" and found is None:
            told = [withdrawal.asked(question(name, session, clear=clear))]
        elif kind == "answer" and found is not None:
            told = withdrawal.answered(found, "refused", number)
        elif kind == "lapse" and found is not None:
            told = withdrawal.lapsed(found, "unanswered")
        for record in told:
            board.apply(record)
        written += told
    asked = sum(record.kind == withdrawal.ASKED for record in written)
    left = [one for questions in board.asked.values() for one in questions.values()]
    assert len(left) + len(board.withdrawn) == asked
    assert all(one.open for one in left)
    assert not any(one.open for one in board.withdrawn.values())
    again = Board(written)
    assert (again.asked, again.withdrawn) == (board.asked, board.withdrawn)
    assert board.withdrawal("stranger", "w0") is None


def test_only_the_last_that_are_over_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "WITHDRAWN", 2)
    board = Board()
    reason: Lapse = "unanswered"
    for name in ("w1", "w2", "w3"):
        board.apply(withdrawal.asked(question(name)))
        for record in withdrawal.lapsed(board.asked["s"][name], reason):
            board.apply(record)
    assert (list(board.withdrawn), board.asked) == (["w2", "w3"], {})
