"""Which reader a run's output needs: the first that recognises it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from tidings.watchers.reports.cargo import read_cargo
from tidings.watchers.reports.go import read_go_json, read_go_text
from tidings.watchers.reports.javascript import read_jest_text, read_js_json, read_vitest_text
from tidings.watchers.reports.junit import read_junit
from tidings.watchers.reports.pytest_text import read_pytest
from tidings.watchers.reports.report import Report

READERS: tuple[Callable[[str], Report | None], ...] = (
    read_go_json,
    read_pytest,
    read_cargo,
    read_jest_text,
    read_vitest_text,
    read_go_text,
)
"""The readers of output, the most telling first."""


def read_output(text: str, root: str = "") -> Report | None:
    """What a runner printed; None when no reader recognises it."""
    found = read_js_json(text, root)
    if found is not None:
        return found
    return next((report for read in READERS if (report := read(text)) is not None), None)


def read_file(text: str, root: str = "") -> Report | None:
    """What a runner wrote to its report file: JUnit XML or JSON."""
    return read_junit(text) if text.lstrip().startswith("<") else read_output(text, root)
