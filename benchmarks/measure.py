"""How the benchmarks measure: ratios inside one run, interleaved rounds, medians.

Absolute times move with the neighbours of a machine; a ratio of two things measured turn by turn
does not. A `Measurement` carries the figure, its target and the absolute times for the reader.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

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


def measurement(
    name: str, value: float, *, unit: str = "x", target: str = "", detail: str = ""
) -> Measurement:
    """A measurement, judged by its target."""
    return Measurement(name, value, unit, target, met(value, target), detail)


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds that `work` takes, with the collector at rest."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def ratio(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    rounds: int,
    setup: Callable[[], object] = lambda: None,
) -> tuple[float, float, float]:
    """The median of ours / theirs over interleaved rounds, and both medians in seconds."""
    pairs = []
    for _ in range(rounds):
        setup()
        base = cpu(theirs)
        pairs.append((cpu(ours), base))
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )
