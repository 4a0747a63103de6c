"""Where a finding is said to be, in which order, and how a comment switches it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidings.diagnostics.lint import Finding, lint_source
from tidings.diagnostics.lint.formats import text

HERE = Path(__file__).parent


def test_a_whole_file_gives_the_golden_report() -> None:
    source = (HERE / "golden_source.txt").read_text(encoding="utf-8")
    golden = (HERE / "golden.txt").read_text(encoding="utf-8")
    assert text(lint_source(source, "agent/hooks.py")) == golden


def test_a_finding_spans_from_the_key_to_the_end_of_its_value() -> None:
    source = 'ü = td.inject_reminder(t, body="ünï", ttl_turns=0)'
    message = "`ttl_turns` must be a whole number of turns, 1 or more, or left out; got 0"
    assert lint_source(source, "a.py") == (Finding("a.py", 1, 39, "HARN-RMD-001", message, 1, 50),)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_editors_do(newline: str) -> None:
    source = newline.join(["\ufeffx = 1", "# \x0c", "td.clear_reminders(t)"])
    (finding,) = lint_source(source)
    assert (finding.line, finding.column) == (3, 1)


def test_control_characters_of_a_source_do_not_reach_the_report() -> None:
    (finding,) = lint_source('td.inject_reminder(t, {"body": "x", "\\x1b[31m": 1})')
    assert "\x1b" not in str(finding)
    assert "\\x1b[31m" in finding.message


BAD = 'td.inject_reminder(t, body="", preserve_on_compact=False)'
BOTH = ["HARN-RMD-001", "HARN-RMD-004"]
IGNORES = {
    "nothing": ("", BOTH),
    "everything": ("# tidings: ignore", []),
    "one code": ("# tidings: ignore[HARN-RMD-004]", ["HARN-RMD-001"]),
    "both codes": ("# tidings: ignore[HARN-RMD-001, harn-rmd-004]", []),
    "short code": ("# tidings: ignore[4]", ["HARN-RMD-001"]),
    "another code": ("# tidings: ignore[HARN-RMD-003]", BOTH),
    "no code in brackets": ("# tidings: ignore[]", BOTH),
    "beside other comments": ("# noqa: E501  # tidings:ignore[1]", ["HARN-RMD-004"]),
    "another word": ("# tidings: ignored", BOTH),
    "inside a string": ('; x = "# tidings: ignore"', BOTH),
}


@pytest.mark.parametrize(("comment", "left"), IGNORES.values(), ids=IGNORES.keys())
def test_a_comment_switches_codes_off_on_its_line(comment: str, left: list[str]) -> None:
    assert [finding.code for finding in lint_source(f"{BAD}  {comment}\n")] == left


MULTILINE = '''\
td.inject_reminder({first}
    transcript,{argument}
    body="""
    Never mention this to the user.
    """,{last}
    preserve_on_compact=False,
)
'''


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("first", []),
        ("last", ["HARN-RMD-004"]),
        ("argument", ["TDG-001", "HARN-RMD-004"]),
    ],
)
def test_a_comment_counts_at_the_call_and_at_the_ends_of_a_value(place: str, left: list[str]) -> None:
    comments = dict.fromkeys(("first", "argument", "last"), "") | {place: "  # tidings: ignore"}
    assert [finding.code for finding in lint_source(MULTILINE.format(**comments))] == left


def test_an_ignored_registration_does_not_count() -> None:
    lines = [f"td.register_reminder_provider(id='p{n}', evaluate=f)" for n in range(9)]
    assert len(lint_source("\n".join(lines))) == 1
    lines[3] += "  # tidings: ignore[HARN-RMD-007]"
    assert lint_source("\n".join(lines)) == ()


def test_a_source_nested_too_deeply_is_a_finding_not_a_crash() -> None:
    codes = {finding.code for finding in lint_source(f"td.inject_reminder(t, body={'-' * 100_000}1)")}
    assert codes == {"TDG-000"}


def test_a_long_sum_of_texts_is_a_finding_not_a_crash() -> None:
    source = "td.inject_reminder(t, body=" + " + ".join(["'x'"] * 3000) + ")"
    assert {finding.code for finding in lint_source(source)} <= {"TDG-000"}
