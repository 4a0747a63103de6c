"""Runs the official suite on our server or our client, and reads what it found from the files it leaves.

The suite's own exit code is not asked: `verdict` says what was to be expected. Every wait has a deadline.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.conformance.verdict import Leg, Scenario, Side
from tests.interop.install import FOLDER, ROOT, installed

PACKAGE = "@modelcontextprotocol/conformance"
NEEDED = ("node", PACKAGE)
DEADLINE = 900.0
"""Seconds that one leg may take on a busy machine."""

TIMEOUT = "240000"
"""Milliseconds that the suite gives a scenario."""

STARTING, STOPPING = 60.0, 30.0
CLIENT = f"{sys.executable} -m tests.conformance.client"

RETRIED = {"auth/scope-step-up": "fails now and then when the suite runs its client scenarios in parallel"}
"""Scenarios that are run once more by themselves when they fail, and why."""

_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


class Check(msgspec.Struct):
    """One line of a `checks.json`."""

    id: str
    status: str


def emptied(leg: Leg) -> Path:
    """Where the suite's files about a leg stay until it is run again."""
    folder = FOLDER / "conformance" / str(leg).replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def run(leg: Leg, folder: Path) -> list[Scenario]:
    """Everything that the version requires of the side, and what the suite runs besides."""
    required = requirements(leg)
    if leg.side == "client":
        _suite(folder, "client", "--command", CLIENT, "--requirements", leg.version)
        found = _read(folder, leg.side)
        return [_retried(leg, folder, found[name], why) for name, why in _all(required, found)]
    with server() as url:
        _suite(folder, "server", "--url", url, "--requirements", leg.version)
    found = _read(folder, leg.side)
    return [msgspec.structs.replace(found[name], unscored=why) for name, why in _all(required, found)]


def requirements(leg: Leg) -> dict[str, str | None]:
    """The scenarios of a leg, as the package's requirements name them; a reason: it is not scored."""
    text = (installed()[PACKAGE].path / "requirements" / f"{leg.version}.yaml").read_text()
    return scored(text, leg.side)


def scored(text: str, side: Side) -> dict[str, str | None]:
    """What a requirements file says of one side; only the plain lists that it is made of are read."""
    found: dict[str, str | None] = {}
    section = scenario = leg = ""
    for line in text.splitlines():
        if opened := re.fullmatch(r"(\w+):", line):
            section = opened[1]
        elif section == side and (plain := re.fullmatch(r"  - ([\w/-]+)", line)):
            found[plain[1]] = None
        elif section == "not_scored" and (told := re.fullmatch(r"(?:  -|   ) (\w+): ([\w/-]+)", line)):
            scenario = told[2] if told[1] == "scenario" else scenario
            leg = told[2] if told[1] == "leg" else leg
            if told[1] == "reason" and leg == side:
                found[scenario] = told[2]
    return found


def _all(required: dict[str, str | None], found: dict[str, Scenario]) -> Iterator[tuple[str, str | None]]:
    """Every required scenario, also one of which nothing was found."""
    for name, why in required.items():
        found.setdefault(name, Scenario(name=name))
        yield name, why


def _retried(leg: Leg, folder: Path, scenario: Scenario, why: str | None) -> Scenario:
    alone = scenario.name in RETRIED and bool(scenario.failed)
    if alone:
        again = folder / "alone"
        by_itself = ("--scenario", scenario.name, "--spec-version", leg.version)
        _suite(again, "client", "--command", CLIENT, *by_itself)
        scenario = _read(again, leg.side)[scenario.name]
    return msgspec.structs.replace(scenario, unscored=why, alone=alone)


def _suite(folder: Path, side: Side, *arguments: str) -> None:
    """Run the suite; it leaves its findings in `folder`."""
    package = installed()[PACKAGE].path
    node = installed()["node"].folder / "node_modules" / ".bin" / "node"
    command = [str(node), str(package / "dist" / "index.js"), side, *arguments]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "output.txt").open("w") as output:
        subprocess.run(
            [*command, "--timeout", TIMEOUT, "-o", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE,
        )


def _read(folder: Path, side: Side) -> dict[str, Scenario]:
    """What the files of a run say, by scenario."""
    found: dict[str, Scenario] = {}
    for path in sorted(folder.rglob("checks.json")):
        where = path.parent.relative_to(folder).as_posix()
        name = _STAMP.sub("", where)
        name = name.removeprefix("server-") if side == "server" else name
        found[name] = counted(name, msgspec.json.decode(path.read_bytes(), type=list[Check]))
    return found


def counted(name: str, checks: Sequence[Check]) -> Scenario:
    """A scenario from its checks."""

    def ids(status: str) -> list[str]:
        return [check.id for check in checks if check.status == status]

    return Scenario(
        name=name,
        passed=len(ids("SUCCESS")),
        failed=tuple(dict.fromkeys(ids("FAILURE"))),
        warned=tuple(dict.fromkeys(ids("WARNING"))),
        skipped=len(ids("SKIPPED")),
    )


@contextmanager
def server() -> Iterator[str]:
    """Our server in a process of its own; gives its url. At the end it must leave in order.

    Raises:
        AssertionError: it did not start, or did not end with 0.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance.server"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    too_late = threading.Timer(STARTING, process.kill)
    too_late.start()
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        too_late.cancel()
        assert url.startswith("http"), f"the server did not start: {url!r}"
        yield url
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOPPING) == 0, "the server did not end in order"
    finally:
        too_late.cancel()
        process.kill()
        process.communicate()
