"""The page of conformance results says what fails, why, and what was not examined."""

from __future__ import annotations

from docs.parts.conformance import conformance_results, conformance_summary, conformance_versions
from tests.conformance.results import LegResults, Results
from tests.conformance.suite import RETRIED
from tests.conformance.verdict import Expected, Leg, Scenario

SCENARIOS = [
    Scenario(name="lists", passed=3),
    Scenario(name="asks", passed=2, failed=("echo", "id")),
    Scenario(name="breaks", failed=("order",), warned=("speed",)),
    Scenario(name="gone"),
    Scenario(name="auth/scope-step-up", passed=9, skipped=1, alone=True),
    Scenario(name="tasks", unscored="extension", failed=("all",)),
    Scenario(name="polling", unscored="pending", warned=("retry",)),
]
LEG = LegResults(leg=Leg("client", "2026-07-28"), seconds=64.9, problems=["asks"], scenarios=SCENARIOS)
RESULTS = Results(system="Linux x86_64", versions={"Python": "3.11.7", "node": "22.1.0"}, legs=[LEG])
EXPECTED = [
    Expected(
        side="client", version="2026-07-28", scenario="asks", checks=("echo", "id"), reason="We ask not."
    )
]


def test_the_summary_counts_only_what_was_examined_and_holds() -> None:
    assert conformance_summary(RESULTS).splitlines()[2:] == ["| client 2026-07-28 | 2 of 5 | 0 of 2 | 65 |"]
    assert conformance_versions(RESULTS).splitlines()[2:] == [
        "| System | Linux x86_64 |",
        "| Python | 3.11.7 |",
        "| node | 22.1.0 |",
    ]


def test_each_failure_stands_above_the_table_with_its_reason_or_as_unexpected() -> None:
    title, told, required, said, other = conformance_results(RESULTS, EXPECTED).split("\n\n")
    assert title == "### Our host, version 2026-07-28"
    assert told.splitlines() == [
        "- Fails as expected: `asks`: `echo`, `id`. We ask not.",
        "- **Fails unexpectedly**: `breaks`: `order`.",
        "- **Nothing was examined**: `gone`.",
        "- Warns in `breaks`: `speed`.",
        f"- `auth/scope-step-up` was run once more by itself: it {RETRIED['auth/scope-step-up']}.",
    ]
    assert required.splitlines()[2:] == [
        "| `lists` | holds | 3 hold |",
        "| `asks` | **fails** | 2 hold, 2 fail |",
        "| `breaks` | **fails** | 1 fail, 1 warn |",
        "| `gone` | nothing examined |  |",
        "| `auth/scope-step-up` | holds | 9 hold, 1 skipped |",
    ]
    assert said == "Run by the suite and not counted by it:"
    assert other.splitlines()[2:] == [
        "| `tasks` | extension | **fails** | 1 fail |",
        "| `polling` | pending | warns | 1 warn |",
    ]
