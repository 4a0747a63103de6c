"""`make interop`: installs the packages, runs the tests, and writes the pages of results anew.

Arguments go to pytest, to run a part of it. Whole files and folders are recorded, anything less is not.
Where it can be had, the tests run in a network of their own that has nothing but loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from docs.generate import DOCS, refreshed
from tests.interop.install import ROOT, install_all

DEADLINE = 3_600.0
"""Seconds for all tests; each wait inside them has a deadline of its own."""

PAGES = (DOCS / "reference" / "interop.md", DOCS / "reference" / "hosts-interop.md")
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
"""Starts a command in a network of its own."""


def main(arguments: Sequence[str]) -> int:
    """Install, test, record; gives pytest's exit code."""
    install_all()
    whole = all(Path(ROOT, argument).exists() for argument in arguments)
    asked = {"TIDINGS_INTEROP": "1", "TIDINGS_INTEROP_RECORD": "1" if whole else "0"}
    chosen = arguments if arguments and whole else ["tests/interop", *arguments]
    tests = [*alone(), sys.executable, "-m", "pytest", *chosen]
    ran = subprocess.run(tests, env={**os.environ, **asked}, cwd=ROOT, timeout=DEADLINE)
    for page in PAGES:
        page.write_text(refreshed(page.read_text()))
    return ran.returncode


def alone() -> list[str]:
    """What to put before a command to cut it off from the network; nothing where that is not allowed."""
    try:
        tried = subprocess.run([*ALONE, "true"], capture_output=True, timeout=10)
    except FileNotFoundError:
        return []
    return ALONE if tried.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
