"""The catalogue's own examples are proof: each bad one triggers its code, each fixed one nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tidings as td
from tidings.core.producers import build
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.diagnostics.catalogue import BY_CODE, CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.diagnostics.lint import lint_source
from tidings.errors import DiagnosticError
from tidings.recall.fact import FIELDS
from tidings.recall.question import PREDICATE

LINTED = [diagnostic for diagnostic in CATALOGUE if "lint" in diagnostic.reported_by]
FACTS = [diagnostic for diagnostic in CATALOGUE if diagnostic.code.startswith("HARN-FACT")]


def code_of(diagnostic: Diagnostic) -> str:
    return diagnostic.code


def run(example: str) -> dict[str, Any]:
    """Run an example as its reader would; registering only keeps what is registered."""
    kept: dict[str, Any] = {}
    package = SimpleNamespace(
        inject_reminder=td.inject_reminder,
        route=td.route,
        store_fact=td.store_fact,
        recall_facts=td.recall_facts,
        register_reminder_provider=lambda **given: kept.update(given),
    )
    names: dict[str, Any] = {"td": package, "transcript": td.Transcript(session_id="s")}
    exec(compile(example, "<example>", "exec"), names)
    return {**names, **kept}


def test_the_catalogue_has_the_codes_of_reminders_of_facts_and_our_own_in_order() -> None:
    families = (("HARN-RMD", range(1, 9)), ("HARN-FACT", range(1, 10)), ("TDG", range(3)))
    expected = [f"{family}-{number:03d}" for family, numbers in families for number in numbers]
    assert [diagnostic.code for diagnostic in CATALOGUE] == expected


@pytest.mark.parametrize("diagnostic", LINTED, ids=code_of)
def test_an_example_triggers_its_code_and_nothing_else(diagnostic: Diagnostic) -> None:
    assert {finding.code for finding in lint_source(diagnostic.example)} == {diagnostic.code}


@pytest.mark.parametrize("diagnostic", CATALOGUE, ids=code_of)
def test_a_fixed_example_triggers_nothing(diagnostic: Diagnostic) -> None:
    assert lint_source(diagnostic.fixed) == ()


@pytest.mark.parametrize("diagnostic", CATALOGUE, ids=code_of)
def test_every_text_of_an_entry_says_something(diagnostic: Diagnostic) -> None:
    texts = (diagnostic.title, diagnostic.meaning, diagnostic.fix, diagnostic.section)
    assert all(text.strip() for text in texts)
    assert diagnostic.example.endswith("\n")
    assert diagnostic.fixed.endswith("\n")


@pytest.mark.parametrize("code", ["HARN-RMD-001", "HARN-RMD-005"])
def test_the_runtime_refuses_the_example_with_the_same_code(code: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        run(BY_CODE[code].example)
    assert refused.value.code == code
    run(BY_CODE[code].fixed)


def params(code: str) -> Callable[[str], Any]:
    if code == "HARN-RMD-002":
        return lambda example: run(example)["notification"]["params"]
    return lambda example: run(example)["evaluate"](None)["reminder"]


@pytest.mark.parametrize(("code", "producer"), [("HARN-RMD-002", "bridge"), ("HARN-RMD-006", "provider")])
def test_the_gate_of_a_producer_refuses_its_example(code: str, producer: Any) -> None:
    take = params(code)
    with pytest.raises(DiagnosticError) as refused:
        build(producer, take(BY_CODE[code].example), id="r")
    assert refused.value.code == code
    build(producer, take(BY_CODE[code].fixed), id="r")


def warnings_of(example: str) -> list[object]:
    with td.open_log("memory:") as log, td.active_log(log):
        run(example)
        records = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.warning")
        return [record.payload["code"] for record in records]


def test_the_runtime_warns_of_the_endless_example_only() -> None:
    endless = BY_CODE["HARN-RMD-004"]
    assert warnings_of(endless.example) == ["HARN-RMD-004"]
    assert warnings_of(endless.fixed) == []


@pytest.mark.parametrize("diagnostic", FACTS, ids=code_of)
def test_facts_refuse_the_example_with_exactly_its_code_and_take_the_fixed_one(
    diagnostic: Diagnostic, tmp_path: Path
) -> None:
    with td.facts_store(tmp_path / "facts.db") as store:
        with pytest.raises(DiagnosticError) as refused:
            run(diagnostic.example)
        assert [problem.code for problem in refused.value.problems] == [diagnostic.code]
        assert store.count("project/facts") == 0
        run(diagnostic.fixed)
        assert store.count("project/facts") == (0 if diagnostic.code == "HARN-FACT-008" else 1)


def test_every_code_that_facts_can_raise_is_in_the_catalogue() -> None:
    assert {*(field.code for field in FIELDS), PREDICATE} == {known.code for known in FACTS}
