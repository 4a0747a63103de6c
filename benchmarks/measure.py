"""What a benchmark reports: one measurement each, with its target and whether it was met."""

from __future__ import annotations

import msgspec


class Measurement(msgspec.Struct, frozen=True):
    """One figure, measured in one run."""

    name: str
    value: float
    unit: str
    target: str
    met: bool | None
    detail: str


def met(value: float, target: str) -> bool | None:
    """Compare `value` with a target such as ">= 0.4"; None when there is no target."""
    if not target:
        return None
    relation, bound = target.split()
    return value >= float(bound) if relation == ">=" else value <= float(bound)
