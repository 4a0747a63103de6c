"""Findings as text for people, JSON for scripts, commands for GitHub, SARIF for code scanning.

Each format is a function from findings to one string that ends with a newline, or is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from tidings.diagnostics.lint.finding import Finding
from tidings.diagnostics.lint.sarif import sarif
from tidings.diagnostics.visible import visible

Format: TypeAlias = Callable[[Sequence[Finding]], str]


def text(findings: Sequence[Finding]) -> str:
    """One line each: `file:line:column CODE message`."""
    return "".join(f"{visible(str(finding))}\n" for finding in findings)


def json(findings: Sequence[Finding]) -> str:
    """One JSON array."""
    rows = [msgspec.to_builtins(finding) | {"severity": finding.severity} for finding in findings]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"


def github(findings: Sequence[Finding]) -> str:
    """GitHub workflow commands, which show up as annotations on the lines."""
    return "".join(f"{_command(finding)}\n" for finding in findings)


def _command(finding: Finding) -> str:
    properties = {
        "file": finding.path,
        "line": finding.line,
        "endLine": finding.end_line,
        "col": finding.column,
        "title": finding.code,
    }
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{finding.severity} {listed}::{_data(f'{finding.code} {finding.message}')}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


FORMATS: dict[str, Format] = {"text": text, "json": json, "sarif": sarif, "github": github}
