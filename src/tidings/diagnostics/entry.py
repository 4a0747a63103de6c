"""One entry of the catalogue, as a value."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning"]
Reporter: TypeAlias = Literal["runtime", "lint"]


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A code: what it means, code that triggers it, what to do, and the same code put right.

    In examples `td` is the package, `transcript` a transcript and `session` a session.
    """

    code: str
    title: str
    meaning: str
    example: str
    fix: str
    fixed: str
    severity: Severity
    reported_by: tuple[Reporter, ...]
    section: str
