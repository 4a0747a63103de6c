from __future__ import annotations

import pytest

import tidings as td
from tidings.diagnostics import UnknownCodeError, explain
from tidings.diagnostics.catalogue import BY_CODE, CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.errors import CallerError

SPELLINGS = ["HARN-RMD-005", "harn-rmd-005", "RMD-005", "rmd5", "5", "005", " HARN_RMD_5 "]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_code_is_understood_however_it_is_typed(spelling: str) -> None:
    assert explain(spelling).diagnostic == BY_CODE["HARN-RMD-005"]


@pytest.mark.parametrize("spelling", ["TDG-001", "tdg-1", "tdg1"])
def test_our_own_codes_are_understood_too(spelling: str) -> None:
    assert explain(spelling).diagnostic == BY_CODE["TDG-001"]


@pytest.mark.parametrize("spelling", ["HARN-FACT-005", "harn_fact_5", "FACT-005", "fact5"])
def test_the_codes_of_facts_are_understood_too(spelling: str) -> None:
    assert explain(spelling).diagnostic == BY_CODE["HARN-FACT-005"]


def test_an_explanation_reads_as_text() -> None:
    assert (
        str(td.explain("4"))
        == """\
HARN-RMD-004: discardable reminder without an end

The reminder has no ttl_turns and is not preserved on compaction: it stays in every
request for as long as nothing is compacted, and then vanishes. Both are surprises. The
linter reports it only where preserve_on_compact is written as False; at run time the
effective shape counts, once per session and producer.

This triggers it:

    td.inject_reminder(
        transcript, body="The build is red.", tags=["build"], preserve_on_compact=False
    )

Fix: Give it a ttl_turns, or preserve_on_compact=True if it should outlive compaction.

    td.inject_reminder(transcript, body="The build is red.", tags=["build"], ttl_turns=2)

Severity: warning. Reported at run time and by `tidings lint`.
Specified under: system reminders, "Compaction interaction"."""
    )


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.code)
def test_every_explanation_shows_the_example_and_the_fix(known: Diagnostic) -> None:
    text = str(explain(known.code))
    assert text.startswith(f"{known.code}: {known.title}\n")
    for line in (*known.example.splitlines(), *known.fixed.splitlines()):
        assert line in text


def test_an_unknown_code_names_near_ones() -> None:
    with pytest.raises(UnknownCodeError) as unknown:
        explain("HARN-RMD-015")
    assert unknown.value.code == "HARN-RMD-015"
    assert "HARN-RMD-005" in unknown.value.near
    assert "did you mean" in str(unknown.value)
    assert isinstance(unknown.value, CallerError)


@pytest.mark.parametrize("nonsense", ["", "banana", "HARN", "-1"])
def test_what_resembles_no_code_gets_the_way_to_the_list(nonsense: str) -> None:
    with pytest.raises(UnknownCodeError, match="see `tidings explain`"):
        explain(nonsense)
