"""What turned between two runs, and what is said of it."""

from __future__ import annotations

from tidings.watchers.comparing import FLIPS, SETTLED, History
from tidings.watchers.reports.report import Case, Outcome, Report
from tidings.watchers.testing import FEW, NAMED, TAGS, tell
from tidings.watchers.told import Told


def case(name: str, outcome: Outcome, suite: str = "tests/test_a.py") -> Case:
    return Case(suite, name, outcome, "boom" if outcome == "failed" else "")


def report(*cases: Case, **more: object) -> Report:
    return Report(tool="t", cases=cases, **more)  # type: ignore[arg-type]


def bodies(history: History, found: Report) -> list[str]:
    first = history.first
    return [told.body for told in tell(history.take(found), first=first)]


def after(*earlier: Report) -> History:
    history = History()
    for one in earlier:
        history.take(one)
    return history


RED = report(case("test_x", "failed"), case("test_y", "passed"))
GREEN = report(case("test_x", "passed"), case("test_y", "passed"))


def test_a_suite_that_is_green_again_is_told_in_the_words_of_seed_000() -> None:
    history = after(report(case("answers", "failed", "tests/api_test.rs")))
    found = report(case("answers", "passed", "tests/api_test.rs"))
    assert tell(history.take(found)) == [
        Told("tests/api_test.rs now passes. (answers)", "test:tests/api_test.rs", TAGS, 2)
    ]


def test_a_test_that_turns_red_is_named_with_its_reason() -> None:
    assert bodies(after(GREEN), RED) == ["tests/test_a.py: 1 test turned red.\n- test_x: boom"]


def test_the_first_run_tells_what_fails_and_no_more() -> None:
    assert bodies(History(), RED) == ["tests/test_a.py: 1 test fails.\n- test_x: boom"]
    assert bodies(History(), GREEN) == []


def test_what_stays_red_or_green_is_not_told_again() -> None:
    assert bodies(after(RED), RED) == []
    assert bodies(after(GREEN), GREEN) == []


def test_green_and_red_and_still_failing_tests_of_a_suite_are_one_reminder() -> None:
    before = report(case("a", "failed"), case("b", "passed"), case("c", "failed"))
    now = report(case("a", "passed"), case("b", "failed"), case("c", "failed"))
    assert bodies(after(before), now) == [
        "tests/test_a.py: 1 test turned red, 1 test turned green, 1 still fails.\n"
        "- red: b: boom\n- green: a"
    ]


def test_a_skipped_or_missing_test_is_as_it_was() -> None:
    history = after(RED)
    assert bodies(history, report(case("test_x", "skipped"))) == []
    assert bodies(history, report(case("test_y", "passed"))) == []
    assert bodies(history, GREEN) == ["tests/test_a.py now passes. (test_x)"]


def test_a_runner_that_names_only_failures_means_that_the_others_passed() -> None:
    history = after(report(case("test_x", "failed"), only_failures=True))
    assert bodies(history, report(only_failures=True)) == ["tests/test_a.py now passes. (test_x)"]


def test_that_is_not_believed_of_a_suite_that_did_not_run_or_of_a_run_that_broke_off() -> None:
    red = report(case("test_x", "failed"), only_failures=True)
    elsewhere = report(only_failures=True, passed=frozenset({"tests/test_b.py"}))
    assert bodies(after(red), elsewhere) == []
    assert bodies(after(red), report(only_failures=True, complete=False)) == []
    assert bodies(after(red), report(only_failures=True, broken={"b.py": "no"})) == [
        "b.py cannot be run: no"
    ]


def test_a_suite_that_cannot_be_collected_is_told_once_and_its_tests_are_not_forgotten() -> None:
    history = after(RED)
    broken = report(broken={"tests/test_a.py": "SyntaxError: invalid syntax"}, complete=False)
    assert bodies(history, broken) == ["tests/test_a.py cannot be run: SyntaxError: invalid syntax"]
    assert bodies(history, broken) == []
    assert bodies(history, RED) == ["tests/test_a.py: it can be run again, 1 still fails."]
    assert bodies(history, GREEN) == ["tests/test_a.py now passes. (test_x)"]


def test_a_suite_that_can_be_collected_again_is_told() -> None:
    history = after(GREEN, report(broken={"tests/test_a.py": "SyntaxError"}, complete=False))
    assert bodies(history, GREEN) == ["tests/test_a.py can be run again."]


def test_a_test_that_keeps_turning_is_called_flaky_once_and_left_alone_until_it_settles() -> None:
    history = after(GREEN)
    said = [bodies(history, found) for _ in range(3) for found in (RED, GREEN)]
    assert said[FLIPS - 1] == [
        "tests/test_a.py: 1 test turned again: probably flaky.\n- test_x: boom",
    ]
    assert said[FLIPS:] == [[], [], []]
    settled = [bodies(history, GREEN) for _ in range(SETTLED)]
    assert settled == [[], ["tests/test_a.py now passes. (test_x)"], []]


def test_many_names_are_cut_and_many_suites_become_one_summary() -> None:
    many = report(*(case(f"t{n}", "failed") for n in range(NAMED + 4)))
    assert bodies(after(GREEN), many)[0].splitlines()[-1] == "- and 4 more"
    wide = report(*(case("t", "failed", f"tests/test_{n}.py") for n in range(FEW + 3)))
    (told,) = tell(after(GREEN).take(wide))
    assert told.dedupe_key == "test:many"
    assert told.body.splitlines()[:2] == [
        "In 11 test suites: 11 tests turned red.",
        "- tests/test_0.py: 1 failing",
    ]
    assert told.body.splitlines()[-1] == "- and 3 more"


def test_a_secret_in_the_name_of_a_test_is_not_told() -> None:
    red = report(case("test_login[password='hunter2']", "failed"))
    assert "hunter2" not in bodies(after(GREEN), red)[0]
