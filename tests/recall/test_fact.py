"""The gate: options become a fact, or every problem is named with its code."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.errors import DiagnosticError
from tidings.recall.fact import Evidence, Fact, build_fact, line

NOW = 1_700_000_000_000
GOOD: dict[str, object] = {"kind": "decision", "claim": "We ship on Fridays.", "confidence": 0.9}


def codes(options: object) -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        build_fact(options, now=NOW)  # type: ignore[arg-type]
    return [(problem.code, problem.field) for problem in caught.value.problems]


def test_the_documented_example_becomes_a_fact() -> None:
    options = {
        "kind": "Decision",
        "claim": "Build cancels in-flight tool calls on SIGINT before clearing state.",
        "confidence": 0.92,
        "evidence": [{"kind": "FileRange", "ref": "crates/harn-vm/src/cancel.rs:1"}],
    }
    lines = (
        "decision",
        "Build cancels in-flight tool calls on SIGINT before clearing state.",
        '[{"kind":"file_range","ref":"crates/harn-vm/src/cancel.rs:1"}]',
        "{}",
    )
    assert build_fact(options, now=NOW) == Fact(
        id="fact_" + sha256("\n".join(lines).encode()).hexdigest()[:32],
        kind="decision",
        claim="Build cancels in-flight tool calls on SIGINT before clearing state.",
        confidence=0.92,
        evidence=(Evidence("file_range", "crates/harn-vm/src/cancel.rs:1"),),
        provenance={},
        valid_until=None,
        asserted_at=NOW,
        namespace="project/facts",
        tags=(),
    )


def test_every_field_is_normalised() -> None:
    fact = build_fact(
        {
            "schema": "harn.fact.v1",
            "kind": " HYPOTHESIS ",
            "claim": "  The cache is cold. ",
            "confidence": 1,
            "evidence": ({"kind": "tool output", "ref": " call_7 "},),
            "provenance": {"agent": "planner", "steps": (1, 2.5, None, True)},
            "valid_until": "2030-01-01T00:00:00+01:00",
            "asserted_at": datetime(2026, 1, 1, tzinfo=UTC),
            "namespace": " user/facts ",
            "tags": ["build", " ci ", "build"],
        },
        now=NOW,
    )
    assert msgspec.to_builtins(fact) == {
        "schema": "harn.fact.v1",
        "id": fact.id,
        "kind": "hypothesis",
        "claim": "The cache is cold.",
        "confidence": 1.0,
        "evidence": ({"kind": "tool_output", "ref": "call_7"},),
        "provenance": {"agent": "planner", "steps": [1, 2.5, None, True]},
        "valid_until": 1_893_452_400_000,
        "asserted_at": 1_767_225_600_000,
        "namespace": "user/facts",
        "tags": ("build", "ci"),
    }


@pytest.mark.parametrize(
    "kind", ["file_range", "FileRange", "fileRange", "file-range", "FILE_RANGE", "File Range"]
)
def test_an_evidence_kind_is_understood_in_any_case_and_spelling(kind: str) -> None:
    fact = build_fact({**GOOD, "evidence": [{"kind": kind, "ref": "a.py:1"}]}, now=NOW)
    assert fact.evidence == (Evidence("file_range", "a.py:1"),)


@pytest.mark.parametrize("kind", ["observation", "Claim", "HYPOTHESIS", "Decision", "constraint"])
def test_a_fact_kind_is_understood_in_any_case(kind: str) -> None:
    assert build_fact({**GOOD, "kind": kind}, now=NOW).kind == kind.lower()


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("schema", "harn.fact.v2", "001"),
        ("namespace", " ", "001"),
        ("namespace", "n" * 201, "001"),
        ("tags", "build", "001"),
        ("tags", ["build", ""], "001"),
        ("kind", "rumour", "002"),
        ("kind", 3, "002"),
        ("kind", None, "002"),
        ("claim", "  ", "003"),
        ("claim", None, "003"),
        ("claim", "half a pair \ud800", "003"),
        ("claim", "x" * 10_001, "003"),
        ("confidence", 1.01, "004"),
        ("confidence", -0.1, "004"),
        ("confidence", float("nan"), "004"),
        ("confidence", True, "004"),
        ("confidence", "high", "004"),
        ("confidence", None, "004"),
        ("evidence", {"kind": "file_range", "ref": "a"}, "005"),
        ("evidence", [{"kind": "hearsay", "ref": "a"}], "005"),
        ("evidence", [{"kind": "file_range"}], "005"),
        ("evidence", [{"kind": "file_range", "ref": ""}], "005"),
        ("evidence", [{"kind": "file_range", "ref": "a", "page": 3}], "005"),
        ("provenance", "planner", "006"),
        ("provenance", {1: "a"}, "006"),
        ("provenance", {"a": float("inf")}, "006"),
        ("provenance", {"a": {"b": object()}}, "006"),
        ("valid_until", "tomorrow", "007"),
        ("valid_until", -1, "007"),
        ("valid_until", 1.5, "007"),
        ("asserted_at", "2026-13-01", "009"),
        ("asserted_at", True, "009"),
    ],
)
def test_what_is_wrong_gets_the_code_of_its_field(field: str, value: object, code: str) -> None:
    assert codes({**GOOD, field: value}) == [(f"HARN-FACT-{code}", field)]


def test_all_problems_are_reported_at_once_in_field_order() -> None:
    assert codes(
        {"kind": "x", "confidence": 2, "evidence": 1, "provenance": 1, "valid_until": "", "tagz": []}
    ) == [
        ("HARN-FACT-002", "kind"),
        ("HARN-FACT-003", "claim"),
        ("HARN-FACT-004", "confidence"),
        ("HARN-FACT-005", "evidence"),
        ("HARN-FACT-006", "provenance"),
        ("HARN-FACT-007", "valid_until"),
        ("HARN-FACT-001", "tagz"),
    ]


@pytest.mark.parametrize("options", [None, 3, "claim", ["claim"]])
def test_options_that_are_no_object_are_an_input_problem(options: object) -> None:
    assert codes(options) == [("HARN-FACT-001", "")]


def test_messages_name_the_field_the_value_and_the_fix() -> None:
    with pytest.raises(DiagnosticError) as caught:
        build_fact({**GOOD, "confidence": 7, "claims": "x", "id": "fact_1"}, now=NOW)
    assert str(caught.value) == (
        "store_fact: HARN-FACT-004: `confidence` must be a number from 0 (a guess) to 1 (certain); got 7; "
        "HARN-FACT-001: unknown key `claims`; did you mean `claim`?; "
        "HARN-FACT-001: unknown key `id`; leave it out: "
        "the id follows from kind, claim, evidence and provenance"
    )


def test_provenance_nested_too_deep_is_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"a": deep}
    assert codes({**GOOD, "provenance": deep}) == [("HARN-FACT-006", "provenance")]


def test_the_id_follows_from_content_alone() -> None:
    base = build_fact({**GOOD, "provenance": {"a": 1, "b": 2}}, now=NOW)
    same = {**GOOD, "kind": "Decision", "provenance": {"b": 2, "a": 1}, "confidence": 0.1, "tags": ["x"]}
    assert build_fact({**same, "namespace": "user/facts", "valid_until": 5}, now=NOW + 1).id == base.id
    for field, other in (("kind", "claim"), ("claim", "Other."), ("provenance", {"a": 1})):
        assert build_fact({**GOOD, "provenance": {"a": 1, "b": 2}, field: other}, now=NOW).id != base.id


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_a_moment_is_the_same_written_as_iso_or_as_milliseconds(moment: datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    at = build_fact({**GOOD, "asserted_at": moment.isoformat()}, now=NOW).asserted_at
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at) == moment
    assert build_fact({**GOOD, "asserted_at": at}, now=NOW).asserted_at == at


def test_a_line_shows_kind_confidence_claim_and_evidence() -> None:
    evidence = [{"kind": "file_range", "ref": "a.py:1"}, {"kind": "user_input", "ref": "msg_1"}]
    fact = build_fact({**GOOD, "claim": "One\nline.", "confidence": 0.825, "evidence": evidence}, now=NOW)
    assert line(fact) == (
        "- [decision · confidence 0.82] One line. (evidence: file_range:a.py:1, user_input:msg_1)"
    )
    assert line(build_fact(GOOD, now=NOW)) == "- [decision · confidence 0.90] We ship on Fridays."
