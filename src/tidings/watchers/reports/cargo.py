"""What `cargo test` prints becomes a report; a suite is the file that holds it. Pure."""

from __future__ import annotations

import re

from tidings.agent.providers.review.commands import verifiers_in
from tidings.agent.providers.review.scan import scan
from tidings.watchers.reports.report import Case, Outcome, Report, bounded, case

_RUNNING = re.compile(r"^\s+Running (?:unittests )?(?P<file>\S+) \((?P<binary>\S+)\)$")
_DOCS = re.compile(r"^\s+Doc-tests (?P<crate>\S+)$")
_TEST = re.compile(r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<word>ok|FAILED|ignored)(?:,.*)?$")
_PANICKED = re.compile(r"^thread '(?P<name>.+?)'.* panicked at (?P<place>.+?):?$")
_RESULT = re.compile(r"^test result: (?:ok|FAILED)\.")
_NOT_COMPILED = re.compile(r"^error: could not compile `(?P<crate>[^`]+)`(?: \((?P<what>[^)]*)\))?")
_OUTCOMES: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def read_cargo(text: str) -> Report | None:
    """The report; None when cargo did not print this."""
    broken = _not_compiled(text)
    cases: list[Case] = []
    suite, begun, ended = "tests", 0, 0
    binaries: dict[str, str] = {}
    lines = text.splitlines()
    why = _panics(lines)
    for line in lines:
        if found := _RUNNING.match(line):
            suite = _suite(found["file"], found["binary"], binaries)
        elif found := _DOCS.match(line):
            suite = f"{found['crate']} doc-tests"
        elif line.startswith("running ") and line.rstrip().endswith(("tests", "test")):
            begun += 1
        elif _RESULT.match(line):
            ended += 1
        elif found := _TEST.match(line):
            outcome = _OUTCOMES[found["word"]]
            message = why.get(found["name"], "") if outcome == "failed" else ""
            cases.append(case(suite, found["name"], outcome, message))
    if not begun and not broken:
        return None
    kept, whole = bounded(cases)
    return Report(
        tool="cargo", cases=kept, broken=broken, complete=whole and bool(begun) and begun == ended
    )


def _suite(file: str, binary: str, binaries: dict[str, str]) -> str:
    """The file; with the name of its binary when another crate has a file of that name."""
    name = binary.rsplit("/", 1)[-1].rpartition("-")[0]
    first = binaries.setdefault(file, name)
    return file if first == name else f"{file} ({name})"


def _panics(lines: list[str]) -> dict[str, str]:
    """What each failing test panicked with."""
    why: dict[str, str] = {}
    for at, line in enumerate(lines):
        if found := _PANICKED.match(line):
            said = lines[at + 1].strip() if at + 1 < len(lines) else ""
            why.setdefault(found["name"], f"{found['place']}: {said}")
    return why


def _not_compiled(text: str) -> dict[str, str]:
    """What did not compile, and the first error."""
    broken: dict[str, str] = {}
    for line in text.splitlines():
        if found := _NOT_COMPILED.match(line):
            findings = scan(text, verifiers_in("cargo test"), "cargo", warnings=False).findings
            quoted = re.search(r'test "([^"]+)"', found["what"] or "")
            name = f"tests/{quoted[1]}.rs" if quoted else found["crate"]
            broken[name] = findings[0].summary if findings else "does not compile"
    return broken
