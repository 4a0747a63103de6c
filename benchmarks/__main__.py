"""Run the benchmarks: print a table, write benchmarks/results/latest.json.

    python -m benchmarks [--quick] [name …]

Exit 1 when a target was missed. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import platform
import sys
from importlib import import_module
from pathlib import Path

import msgspec

from benchmarks.measure import Measurement

NAMES = (
    "core",
    "model",
    "render",
    "log",
    "loop",
    "recall",
    "acp",
    "mcp",
    "watch",
    "memory",
    "conversation",
    "hub",
    "hosts",
    "import",
)
RESULTS = Path(__file__).parent / "results" / "latest.json"


def row(found: Measurement) -> str:
    verdict = {True: "met", False: "MISSED", None: ""}[found.met]
    figure = f"{found.value:.2f} {found.unit}"
    return f"{found.name:<58} {figure:>12}  {found.target:<8} {verdict:<7} {found.detail}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="a smoke run: seconds, figures mean little")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    found: list[Measurement] = []
    for name in chosen.names:
        for one in import_module(f"benchmarks.bench_{name}").run(chosen.quick):
            print(row(one), flush=True)
            found.append(one)
    if not chosen.quick:
        RESULTS.parent.mkdir(exist_ok=True)
        context = {"python": platform.python_version(), "machine": platform.machine()}
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode({**context, "results": found})))
    return int(any(one.met is False for one in found))


if __name__ == "__main__":
    sys.exit(main())
