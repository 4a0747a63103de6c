"""The output of a verification command becomes findings, by the patterns of `verifiers.py`. Pure.

Only what a known verifier printed is read. Colours are removed, at most 96 KiB are looked at (the
beginning, where compilers complain, and the end, where test runners sum up), and totals decide
whether lines that a test may have printed are believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from tidings.agent.providers.quoting import without_colours
from tidings.agent.providers.review.finding import Finding, Level, Source, classify, finding
from tidings.agent.providers.review.verifiers import VERIFIERS, Pattern, Verifier

SCANNED = 96 * 1024
"""Characters of output that are read."""
_HEAD = SCANNED // 3
_LINE = 1000
MOST = 200
"""Findings that one scan gives at most."""


class Scan(msgspec.Struct, frozen=True):
    """What a scan saw: the findings, and whether anything at all was recognised."""

    findings: tuple[Finding, ...] = ()
    recognised: bool = False


class _Hit(msgspec.Struct, frozen=True):
    """One matched line; `where` and `what` may be empty."""

    level: Level
    where: str
    what: str
    source: Source


def scan(text: str, verifiers: Sequence[Verifier], provenance: str, *, warnings: bool) -> Scan:
    """The findings in `text`, which `verifiers` printed."""
    lines = _lines(text)
    readers = list(verifiers)
    if any(verifier.wraps for verifier in verifiers):
        readers = list(dict.fromkeys((*(v for v in VERIFIERS if not v.wraps), *verifiers)))
    seen: dict[str, _Hit] = {}
    for tier in ("details", "fallbacks", "totals"):
        for verifier in readers:
            for hit in _tier(verifier, tier, lines):
                seen.setdefault(_told(hit), hit)
        if any(hit.level == "error" for hit in seen.values()):
            break
    hits = _without_repeats([hit for hit in seen.values() if warnings or hit.level == "error"])
    findings = (finding(classify(hit.what, hit.source), provenance, _told(hit)) for hit in hits[:MOST])
    return Scan(tuple(findings), bool(seen))


def _lines(text: str) -> list[str]:
    if len(text) > SCANNED:
        text = f"{text[:_HEAD]}\n{text[_HEAD - SCANNED :]}"
    return [line[:_LINE].rstrip() for line in without_colours(text).split("\n")]


def _tier(verifier: Verifier, tier: str, lines: list[str]) -> Iterator[_Hit]:
    if tier == "totals":
        yield from _failing_totals(verifier, lines)
        return
    believed = _believes_tests(verifier, lines)
    patterns = verifier.details if tier == "details" else verifier.fallbacks
    head = ""
    for at, line in enumerate(lines):
        if verifier.head is not None and (named := verifier.head.match(line)):
            head = named["head"]
        for pattern in patterns:
            if (believed or not pattern.guarded) and (hit := _hit(verifier, pattern, lines, at, head)):
                yield hit
                break


def _failing_totals(verifier: Verifier, lines: list[str]) -> Iterator[_Hit]:
    if verifier.nit is None:
        for what in _totals(verifier, lines):
            if verifier.bad is not None and verifier.bad.search(what):
                yield _Hit("error", "", what, verifier.source)


def _totals(verifier: Verifier, lines: list[str]) -> list[str]:
    matches = (verifier.totals.match(line) for line in lines) if verifier.totals is not None else ()
    return [match["what"] for match in matches if match]


def _believes_tests(verifier: Verifier, lines: list[str]) -> bool:
    """Whether some total is failing, or there is none (the output was cut)."""
    totals = _totals(verifier, lines)
    return not totals or verifier.bad is None or any(map(verifier.bad.search, totals))


def _hit(verifier: Verifier, pattern: Pattern, lines: list[str], at: int, head: str) -> _Hit | None:
    match = pattern.line.match(lines[at])
    if match is None:
        return None
    near = _near(pattern, lines, at)
    if pattern.near_required and near is None:
        return None
    groups = {**(near.groupdict() if near else {}), **{k: v for k, v in match.groupdict().items() if v}}
    code = groups.get("code") or ""
    level: Level = "warning" if (groups.get("level") or "").lower() == "warning" else "error"
    if verifier.nit is not None and code and verifier.nit.match(code):
        level = "warning"
    place = groups.get("where") or head
    where = f"{place}:{groups['at']}" if groups.get("at") and head else place
    at_text = f"panicked at {groups['at']}" if groups.get("at") and not head else ""
    what = ": ".join(part for part in (at_text, code, groups.get("what"), groups.get("more")) if part)
    return _Hit(level, where, what, pattern.source or verifier.source)


def _near(pattern: Pattern, lines: list[str], at: int) -> re.Match[str] | None:
    if pattern.near is None:
        return None
    following = lines[at + 1 : at + 1 + pattern.after]
    previous = lines[max(at - pattern.before, 0) : at]
    matches = (pattern.near.match(line) for line in (*following, *reversed(previous)))
    return next((match for match in matches if match), None)


def _told(hit: _Hit) -> str:
    if hit.where and hit.what:
        return f"{hit.where}: {hit.what}"
    return hit.what or f"{hit.where} failed"


def _without_repeats(hits: list[_Hit]) -> list[_Hit]:
    """Without those that another tells better: the same place with words, or the words with a place."""
    explained = {hit.where for hit in hits if hit.what and hit.where}
    placed = [hit.what for hit in hits if hit.where and hit.what]
    return [
        hit
        for hit in hits
        if (hit.what or hit.where not in explained)
        and (hit.where or not any(hit.what in what for what in placed))
    ]
