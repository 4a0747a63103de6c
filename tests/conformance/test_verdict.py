"""What fails a run of the conformance suite, and what the suite's own files are read as. Needs no suite."""

from __future__ import annotations

from tests.conformance.suite import Check, counted, scored
from tests.conformance.verdict import Expected, Leg, Scenario, problems

LEG = Leg("client", "2026-07-28")
KNOWN = Expected(
    side="client", version="2026-07-28", scenario="asks", checks=("answers",), reason="we answer nothing"
)
GOOD = Scenario(name="asks", passed=1, failed=("answers",))


def test_a_failure_that_is_listed_is_no_problem_and_any_other_is() -> None:
    other = Scenario(name="lists", passed=2, failed=("order",))
    assert problems(LEG, [GOOD], [KNOWN]) == []
    assert problems(LEG, [GOOD, other], [KNOWN]) == ["lists: order failed"]
    assert problems(LEG, [GOOD], []) == ["asks: answers failed"]


def test_a_list_that_is_longer_than_it_need_be_is_a_problem() -> None:
    mended = Scenario(name="asks", passed=2)
    assert problems(LEG, [mended], [KNOWN]) == [
        "asks: answers is in expected.json and does not fail any more: take it out"
    ]
    assert problems(LEG, [], [KNOWN]) == ["asks: expected.json names it, the suite does not"]


def test_what_is_expected_in_one_leg_is_not_expected_in_another() -> None:
    assert problems(Leg("client", "2025-11-25"), [GOOD], [KNOWN]) == ["asks: answers failed"]
    assert problems(Leg("server", "2026-07-28"), [GOOD], [KNOWN]) == ["asks: answers failed"]


def test_a_required_scenario_without_findings_is_a_problem_and_an_unscored_one_never() -> None:
    empty = [Scenario(name="gone"), Scenario(name="left out", skipped=3, warned=("order",))]
    assert problems(LEG, empty, []) == ["gone: nothing was examined", "left out: nothing was examined"]
    unscored = Scenario(name="tasks", unscored="extension", failed=("everything",))
    assert problems(LEG, [unscored], []) == []


def test_checks_are_counted_by_what_became_of_them() -> None:
    told = {"a": "SUCCESS", "b": "FAILURE", "c": "WARNING", "d": "SKIPPED", "e": "INFO"}
    checks = [Check(*one) for one in (*told.items(), ("b", "FAILURE"))]
    assert counted("all", checks) == Scenario(name="all", passed=1, failed=("b",), warned=("c",), skipped=1)


def test_the_requirements_of_a_version_are_read_for_one_side_with_what_is_not_scored() -> None:
    text = (
        "# server\nserver:\n  - tools-list\n\nclient:\n  - auth/basic\n\nnot_scored:\n"
        "  - scenario: auth/dpop\n    leg: client\n    reason: extension\n"
        "  - scenario: polling\n    leg: server\n    reason: pending\n    note: >-\n      on hold\n"
    )
    assert scored(text, "client") == {"auth/basic": None, "auth/dpop": "extension"}
    assert scored(text, "server") == {"tools-list": None, "polling": "pending"}
