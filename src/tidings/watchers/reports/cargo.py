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
_CRASHED = re.compile(r"^\s+process didn't exit successfully: .*\((?P<what>[^()]+)\)$")
_OUTCOMES: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def read_cargo(text: str) -> Report | None:
    """The report; None when cargo did not print this."""
    lines = text.splitlines()
    found = _Lines(_panics(lines))
    for line in lines:
        found.read(line)
    broken = {**_not_compiled(text), **found.crashed}
    if not found.begun and not broken:
        return None
    kept, whole = bounded(found.cases)
    complete = whole and bool(found.begun) and found.begun == found.ended + len(found.crashed)
    return Report(tool="cargo", cases=kept, broken=broken, complete=complete)


class _Lines:
    """What the lines say so far; a binary that is over without a result has crashed."""

    def __init__(self, why: dict[str, str]) -> None:
        self.cases: list[Case] = []
        self.crashed: dict[str, str] = {}
        self.begun = self.ended = 0
        self._why = why
        self._suite = "tests"
        self._binaries: dict[str, str] = {}

    def read(self, line: str) -> None:
        if found := _RUNNING.match(line):
            self._suite = _suite(found["file"], found["binary"], self._binaries)
        elif found := _DOCS.match(line):
            self._suite = f"{found['crate']} doc-tests"
        elif line.startswith("running ") and line.rstrip().endswith(("tests", "test")):
            self.begun += 1
        elif _RESULT.match(line):
            self.ended += 1
        elif (found := _CRASHED.match(line)) and self.begun > self.ended + len(self.crashed):
            self.crashed[self._suite] = f"its process ended early ({found['what']})"
        elif found := _TEST.match(line):
            outcome = _OUTCOMES[found["word"]]
            message = self._why.get(found["name"], "") if outcome == "failed" else ""
            self.cases.append(case(self._suite, found["name"], outcome, message))


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
