"""What jest and vitest write becomes a report: their JSON, which is the same, or their text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tidings.agent.providers.quoting import one_line
from tidings.watchers.reports.report import MESSAGE, Case, Outcome, Report, bounded, case

_STATUSES: dict[str, Outcome] = {
    "passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped", "todo": "skipped",
    "disabled": "skipped",
}  # fmt: skip
_MARKS: dict[str, Outcome] = {
    "✓": "passed",
    "√": "passed",
    "✕": "failed",
    "×": "failed",
    "○": "skipped",
    "↓": "skipped",
}
_TIME = re.compile(r"\s+\(?\d+(?:\.\d+)?\s?m?s\)?$")

_JEST_FILE = re.compile(r"^(?P<word>PASS|FAIL) (?P<file>\S+)(?: \(.*\))?$")
_JEST_TEST = re.compile(r"^(?P<indent>\s+)(?P<mark>[✓√✕×○]) (?:skipped )?(?P<name>.+?)$")
_JEST_GROUP = re.compile(r"^(?P<indent>\s{2,})(?P<name>[^\s●✓√✕×○].*)$")
_JEST_DETAIL = re.compile(r"^\s*● (?P<name>.+)$")
_JEST_TOTALS = re.compile(r"^Tests:\s+.*\btotal$")

_VITEST_FILE = re.compile(r"^\s(?P<mark>[✓√❯×]) (?P<file>\S+\.\w+) \(\d+ tests?.*\)")
_VITEST_TEST = re.compile(r"^\s+(?P<mark>[✓√×↓]) (?:(?P<file>\S+\.\w+) > )?(?P<name>\S.*?)$")
_VITEST_DETAIL = re.compile(r"^\s*FAIL\s+(?P<file>\S+\.\w+)(?: > (?P<name>.+)| \[ .+ \])$")
_VITEST_TOTALS = re.compile(r"^\s+(?:Tests|Test Files)\s+.*\(\d+\)$|^\s+Tests\s+no tests$")


class _Assertion(msgspec.Struct):
    """One test of the JSON."""

    status: str = ""
    fullName: str = ""  # noqa: N815 the wire's own name
    title: str = ""
    failureMessages: list[str] = []  # noqa: N815


class _File(msgspec.Struct):
    """One file of the JSON."""

    name: str = ""
    status: str = ""
    message: str = ""
    assertionResults: list[_Assertion] = []  # noqa: N815


class _Document(msgspec.Struct):
    """The JSON of a run."""

    testResults: list[_File]  # noqa: N815


def read_js_json(text: str, root: str = "") -> Report | None:
    """The report; None when there is no such JSON in the text. Files are named relative to `root`."""
    start = text.find('{"num')
    if start < 0:
        return None
    line, _, _ = text[start:].partition("\n")
    for chosen in (text[start:].strip(), line):
        try:
            document = msgspec.json.decode(chosen, type=_Document)
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
        return _from_document(document, root)
    return None


def _from_document(document: _Document, root: str) -> Report:
    cases: list[Case] = []
    broken: dict[str, str] = {}
    for file in document.testResults:
        name = file.name.removeprefix(root.rstrip("/") + "/") if root else file.name
        if file.status == "failed" and not file.assertionResults:
            broken[name] = _reason(file.message)
        cases += [_case(name, one) for one in file.assertionResults if one.status in _STATUSES]
    kept, whole = bounded(cases)
    return Report(tool="javascript", cases=kept, broken=broken, complete=whole)


def _case(file: str, one: _Assertion) -> Case:
    why = one.failureMessages[0].split("\n")[0] if one.failureMessages else ""
    return case(file, one.fullName.strip() or one.title, _STATUSES[one.status], why)


def _reason(message: str) -> str:
    """The line that names the error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"\b\w*(?:Error|ERROR)\b", line)]
    return one_line((named or lines or ["could not be run"])[0], MESSAGE)


def read_jest_text(text: str) -> Report | None:
    """The report; None when jest did not print this."""
    lines = text.splitlines()
    if not any(map(_JEST_TOTALS.match, lines)):
        return None
    kept, whole = bounded(_jest_cases(lines))
    broken = dict(_jest_broken(lines))
    passed = {
        found["file"] for line in lines if (found := _JEST_FILE.match(line)) and found["word"] == "PASS"
    }
    named = {one.suite for one in kept if one.outcome == "passed"}
    return Report(
        tool="jest",
        cases=kept,
        broken=broken,
        passed=frozenset(passed),
        only_failures=not named,
        complete=whole,
    )


def _jest_cases(lines: list[str]) -> Iterator[Case]:
    """The lines of --verbose; without it, the headings of the failures."""
    groups: list[tuple[int, str]] = []
    file, verbose = "", False
    for line in lines:
        if found := _JEST_FILE.match(line):
            file, groups = found["file"], []
        elif (found := _JEST_TEST.match(line)) and file:
            verbose = True
            depth = len(found["indent"])
            names = [name for indent, name in groups if indent < depth]
            yield case(file, " ".join((*names, _TIME.sub("", found["name"]))), _MARKS[found["mark"]])
        elif (found := _JEST_DETAIL.match(line)) and file and not verbose:
            name = found["name"]
            if " › " in name or not name.startswith(("Test suite failed", "Console")):
                yield case(file, name.replace(" › ", " "), "failed")
        elif found := _JEST_GROUP.match(line):
            depth = len(found["indent"])
            groups = [*(one for one in groups if one[0] < depth), (depth, found["name"].strip())]


def _jest_broken(lines: list[str]) -> Iterator[tuple[str, str]]:
    file, inside = "", False
    for line in lines:
        if found := _JEST_FILE.match(line):
            file, inside = found["file"], False
        elif "● Test suite failed to run" in line and file:
            inside = True
            yield file, "could not be run"
        elif inside and re.match(r"\s+\w*Error: ", line):
            inside = False
            yield file, one_line(line, MESSAGE)


def read_vitest_text(text: str) -> Report | None:
    """The report; None when vitest did not print this."""
    lines = text.splitlines()
    if not any(map(_VITEST_TOTALS.match, lines)):
        return None
    kept, whole = bounded((*_vitest_named(lines), *_vitest_failed(lines)))
    return Report(
        tool="vitest",
        cases=kept,
        broken=dict(_vitest_broken(lines)),
        passed=frozenset(_vitest_passed(lines)),
        only_failures=not any(one.outcome == "passed" for one in kept),
        complete=whole,
    )


def _vitest_named(lines: list[str]) -> Iterator[Case]:
    """The lines of the verbose reporter."""
    for line in lines:
        found = _VITEST_TEST.match(line)
        if found and found["file"] and not _VITEST_FILE.match(line):
            name = _TIME.sub("", found["name"]).replace(" > ", " ")
            yield case(found["file"], name, _MARKS[found["mark"]])


def _vitest_failed(lines: list[str]) -> Iterator[Case]:
    """The headings of the failures, with the line below."""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        found = _VITEST_DETAIL.match(line)
        if found and found["name"] is not None:
            yield case(found["file"], found["name"].replace(" > ", " "), "failed", below.strip())


def _vitest_broken(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        found = _VITEST_DETAIL.match(line)
        if found and found["name"] is None:
            yield found["file"], one_line(below, MESSAGE)


def _vitest_passed(lines: list[str]) -> Iterator[str]:
    for line in lines:
        found = _VITEST_FILE.match(line)
        if found and _MARKS.get(found["mark"]) == "passed":
            yield found["file"]
