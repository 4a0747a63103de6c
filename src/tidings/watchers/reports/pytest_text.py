"""What pytest prints becomes a report: its short summary, `-rA`, or the lines of `-v`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidings.watchers.reports.report import Case, Outcome, Report, bounded, case

_TOTALS = re.compile(r"^(?:=+ )?(?P<what>(?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s\b")
_SUMMARY = re.compile(
    r"^(?P<verdict>PASSED|FAILED|ERROR|XFAIL|XPASS) (?P<id>\S+\.py(?:::.*?)?)(?: - (?P<why>.*))?$"
)
_VERBOSE = re.compile(
    r"^(?P<id>\S+\.py::.+?) (?P<verdict>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: .*)?$"
)
_XDIST = re.compile(r"^\[gw\d+\] \[ *\d+%\] (?P<verdict>[A-Z]+) (?P<id>\S+\.py::.+)$")
_INTERRUPTED = re.compile(r"^!+ (?:Interrupted|KeyboardInterrupt|_pytest\.outcomes\.Exit|stopping after)")
_ERROR_LINE = re.compile(r"^E\s+(?P<what>\w*(?:Error|Exception|Warning)\b.*)$")
_COLLECTING = re.compile(r"^_+ ERROR collecting (?P<file>\S+) _+$")

_OUTCOMES: dict[str, Outcome] = {
    "PASSED": "passed", "XPASS": "passed", "FAILED": "failed", "ERROR": "failed", "SKIPPED": "skipped",
    "XFAIL": "skipped",
}  # fmt: skip


def read_pytest(text: str) -> Report | None:
    """The report; None when pytest did not print this. A passing test may print anything: totals decide."""
    lines = text.splitlines()
    totals = [found["what"] for line in lines if (found := _TOTALS.match(line))]
    if not totals:
        return None
    bad = _count(totals[-1], "failed") + _count(totals[-1], "errors?")
    broken = dict(_broken(lines)) if bad else {}
    kept, whole = bounded(one for one in _cases(lines) if one.name and (bad or one.outcome != "failed"))
    named = sum(one.outcome == "failed" for one in kept) + len(broken)
    return Report(
        tool="pytest",
        cases=kept,
        broken=broken,
        only_failures=sum(one.outcome == "passed" for one in kept) < _count(totals[-1], "passed"),
        complete=whole and named >= bad and not any(map(_INTERRUPTED.match, lines)),
    )


def _cases(lines: list[str]) -> Iterator[Case]:
    for line in lines:
        found = _SUMMARY.match(line) or _XDIST.match(line) or _VERBOSE.match(line)
        if found is None or found["verdict"] not in _OUTCOMES:
            continue
        suite, _, name = found["id"].partition("::")
        why = found.groupdict().get("why") or ""
        yield case(suite, name, _OUTCOMES[found["verdict"]], why)


def _broken(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The files that could not be collected, and why."""
    why: dict[str, str] = {}
    at = ""
    for line in lines:
        if found := _COLLECTING.match(line):
            at = found["file"]
        elif at and (error := _ERROR_LINE.match(line)):
            why[at] = error["what"]
        summary = _SUMMARY.match(line)
        if summary and summary["verdict"] == "ERROR" and "::" not in summary["id"]:
            yield summary["id"], summary["why"] or why.get(summary["id"], "cannot be collected")


def _count(totals: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}\b", totals)
    return int(found[1]) if found else 0
