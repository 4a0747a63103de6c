"""A finding: one thing that the linter has to say about one place of one file."""

from __future__ import annotations

import msgspec

from tidings.diagnostics.catalogue import BY_CODE
from tidings.diagnostics.entry import Severity


class Finding(msgspec.Struct, frozen=True, order=True):
    """What is wrong and where. Lines and columns count from 1, columns in characters.

    Findings sort by place, then code, then message: the order of every report.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    end_line: int
    end_column: int

    @property
    def severity(self) -> Severity:
        """How bad its code is."""
        return BY_CODE[self.code].severity

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.code} {self.message}"
