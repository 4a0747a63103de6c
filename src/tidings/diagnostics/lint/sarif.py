"""Findings as SARIF 2.1.0, the format that code scanning reads. Its rules are what lint reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import quote

import msgspec

from tidings.core.reminder import Payload
from tidings.diagnostics.catalogue import CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.diagnostics.lint.finding import Finding
from tidings.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = [diagnostic for diagnostic in CATALOGUE if "lint" in diagnostic.reported_by]
_INDEX = {diagnostic.code: index for index, diagnostic in enumerate(_RULES)}


def sarif(findings: Sequence[Finding]) -> str:
    """One SARIF log with one run."""
    driver = {
        "name": "tidings lint",
        "version": __version__,
        "rules": [_rule(diagnostic) for diagnostic in _RULES],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding) for finding in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _rule(diagnostic: Diagnostic) -> Payload:
    return {
        "id": diagnostic.code,
        "shortDescription": {"text": diagnostic.title},
        "fullDescription": {"text": diagnostic.meaning},
        "help": {"text": f"{diagnostic.fix}\n\n{diagnostic.fixed}"},
        "defaultConfiguration": {"level": diagnostic.severity},
    }


def _result(finding: Finding) -> Payload:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    location = {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}
    return {
        "ruleId": finding.code,
        "ruleIndex": _INDEX[finding.code],
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": location}],
    }


def _uri(path: str) -> str:
    """A URI reference; an absolute path becomes a file URI."""
    if PurePath(path).is_absolute():
        return f"file://{quote(path, errors='surrogateescape')}"
    return quote(path, errors="surrogateescape")
