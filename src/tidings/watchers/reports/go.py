"""What `go test` writes becomes a report: with `-json`, or as text with and without `-v`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from tidings.watchers.reports.report import Case, Outcome, Report, bounded, case

_ACTIONS: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_WORDS: dict[str, Outcome] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_TEST = re.compile(r"^\s*--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+)")
_PACKAGE = re.compile(r"^(?P<word>ok|FAIL)\s+(?P<package>\S+)(?:\s+(?P<rest>\S.*))?$")
_WITHOUT = re.compile(r"^\?\s+\S+\s+\[no test files\]$")
_PLACE = re.compile(r"^\s*(?P<what>\S+\.go:\d+(?::\d+)?: .+)$")
_PANIC = re.compile(r"^(?P<what>panic: .+)$")
_UNNAMED = "it failed without naming a test"


class _Event(msgspec.Struct):
    """One line of `go test -json`, as far as we read it."""

    Action: str = ""
    Package: str = ""
    Test: str = ""
    Output: str = ""
    ImportPath: str = ""
    FailedBuild: str = ""


def read_go_json(text: str) -> Report | None:
    """The report; None when the lines are not events of go test."""
    events = list(_events(text))
    if not events:
        return None
    found = _Json()
    for event in events:
        found.read(event)
    return _report(found.cases, found.broken, complete=_ends(events))


class _Json:
    """What the events say so far. A test that was going when its package failed took it down."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.broken: dict[str, str] = {}
        self._said: dict[tuple[str, str], str] = {}
        self._going: set[tuple[str, str]] = set()

    def read(self, event: _Event) -> None:
        place = (event.Package or event.ImportPath, event.Test)
        found = _PLACE.match(event.Output) or _PANIC.match(event.Output)
        if event.Action in ("output", "build-output") and found:
            self._said.setdefault(place, found["what"])
        elif event.Test and event.Action == "run":
            self._going.add(place)
        elif event.Test and event.Action in _ACTIONS:
            self._end(place, _ACTIONS[event.Action])
        elif event.Action == "fail":
            self._failed(event)

    def _end(self, place: tuple[str, str], outcome: Outcome, otherwise: str = "") -> None:
        self._going.discard(place)
        self.cases.append(case(*place, outcome, self._said.get(place, otherwise)))

    def _failed(self, event: _Event) -> None:
        """A package failed: because it was not built, by its tests, or by what ended its process."""
        if event.FailedBuild:
            self.broken[event.Package] = self._said.get((event.FailedBuild, ""), "the build failed")
            return
        for place in sorted(place for place in self._going if place[0] == event.Package):
            self._end(place, "failed", "the process ended while it ran")
        if not any(one.suite == event.Package and one.outcome == "failed" for one in self.cases):
            self.broken[event.Package] = self._said.get((event.Package, ""), _UNNAMED)


def _events(text: str) -> Iterator[_Event]:
    decoder = msgspec.json.Decoder(_Event)
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            event = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
        if event.Action:
            yield event


def _ends(events: list[_Event]) -> bool:
    """Whether every package that began has ended."""
    begun = {event.Package for event in events if event.Action == "start"}
    ended = {event.Package for event in events if not event.Test and event.Action in _ACTIONS}
    return begun <= ended


def read_go_text(text: str) -> Report | None:
    """The report; None when go test did not print this. Tests stand before the line of their package."""
    found = _Text()
    for line in text.splitlines():
        found.read(line)
    if not found.packages:
        return None
    return _report(
        found.cases,
        found.broken,
        complete=not found.waiting,
        passed=frozenset(found.passed),
        quiet=not found.verbose,
    )


class _Text:
    """What the lines say so far; `waiting` tests have not met the line of their package yet."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.broken: dict[str, str] = {}
        self.passed: set[str] = set()
        self.packages = 0
        self.verbose = False
        self.waiting: dict[str, tuple[Outcome, str]] = {}
        self._said = ""

    def read(self, line: str) -> None:
        self.verbose = self.verbose or line.startswith("=== RUN")
        if found := _TEST.match(line):
            self.waiting[found["name"]] = (_WORDS[found["word"]], self._said)
            self._said = ""
        elif found := _PACKAGE.match(line):
            self._package(found["package"], found["word"], found["rest"] or "")
        elif _WITHOUT.match(line):
            self.packages += 1
        elif found := (_PLACE.match(line) or _PANIC.match(line)):
            self._say(found["what"])

    def _package(self, package: str, word: str, rest: str) -> None:
        self.packages += 1
        self.cases += [case(package, name, *told) for name, told in self.waiting.items()]
        if "failed]" in rest:
            self.broken[package] = self._said or "the build failed"
        elif word == "FAIL" and not any(outcome == "failed" for outcome, _ in self.waiting.values()):
            self.broken[package] = self._said or _UNNAMED
        elif word == "ok":
            self.passed.add(package)
        self.waiting, self._said = {}, ""

    def _say(self, what: str) -> None:
        """Keep `what` for the failing test above it that has no reason yet; else for what comes next."""
        last = next(reversed(self.waiting), None)
        if last is not None and self.waiting[last] == ("failed", ""):
            self.waiting[last] = ("failed", what)
        else:
            self._said = self._said or what


def _report(
    cases: list[Case],
    broken: dict[str, str],
    *,
    complete: bool,
    passed: frozenset[str] | None = None,
    quiet: bool = False,
) -> Report:
    """Without the tests that only failed because one inside them did."""
    failed = {one.id for one in cases if one.outcome == "failed"}
    parents = {(suite, name.rpartition("/")[0]) for suite, name in failed if "/" in name}
    kept, whole = bounded(one for one in cases if one.id not in parents or one.outcome != "failed")
    return Report(
        tool="go",
        cases=kept,
        broken=broken,
        passed=passed,
        only_failures=quiet,
        complete=complete and whole,
    )
