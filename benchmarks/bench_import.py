"""Starting up: `import tidings` against `import msgspec`, each in a fresh interpreter."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from benchmarks.measure import Measurement, measurement

LIBRARY = "import tidings"
IN_USE = "import tidings as td; td.inject_reminder(td.Transcript(), body='b'); td.render"


def _cpu_of(code: str) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def run(quick: bool) -> list[Measurement]:
    """Medians of interleaved starts, interpreter included, and the part beyond it."""
    rounds = 3 if quick else 25
    samples = [
        [_cpu_of(code) for code in ("pass", "import msgspec", LIBRARY, IN_USE)] for _ in range(rounds)
    ]
    empty, base, library, in_use = (statistics.median(column) for column in zip(*samples, strict=True))
    detail = f"interpreter {empty * 1e3:.0f} ms, msgspec {base * 1e3:.0f} ms"
    return [
        measurement(
            "import tidings over import msgspec",
            library / base,
            target="<= 1.5",
            detail=f"{library * 1e3:.0f} ms; {detail}",
        ),
        measurement(
            "import and first inject and render over import msgspec",
            in_use / base,
            detail=f"{in_use * 1e3:.0f} ms; {detail}",
        ),
    ]
