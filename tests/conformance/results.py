"""What came of a run of the suite, as the file that docs/reference/conformance.md is made from."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import msgspec

from tests.conformance.suite import NEEDED
from tests.conformance.verdict import Leg, Scenario
from tests.interop.install import installed

RESULTS = Path(__file__).parent / "results.json"


class LegResults(msgspec.Struct, frozen=True, kw_only=True):
    """One leg. `problems` is what made it fail."""

    leg: Leg
    seconds: float
    problems: list[str]
    scenarios: list[Scenario]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    system: str
    versions: dict[str, str]
    legs: list[LegResults]


def write(legs: list[LegResults], path: Path = RESULTS) -> None:
    """Write everything as JSON."""
    state = installed()
    ours = {"Python": platform.python_version(), "mcp (Python)": version("mcp")}
    results = Results(
        system=f"{platform.system()} {platform.machine()}",
        versions={**ours, **{name: state[name].version for name in NEEDED}},
        legs=legs,
    )
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results)) + b"\n")


def read(path: Path = RESULTS) -> Results:
    """What the last whole run gave."""
    return msgspec.json.decode(path.read_bytes(), type=Results)
