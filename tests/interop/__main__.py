"""`make interop`: installs the packages, runs the tests, and writes the page of results anew.

Arguments go to pytest, to run a part of it; what only a part gave is not recorded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from docs.generate import DOCS, refreshed
from tests.interop.install import ROOT, install_all

DEADLINE = 1_800.0
"""Seconds for all tests; each wait inside them has a deadline of its own."""

PAGE = DOCS / "reference" / "interop.md"


def main(arguments: Sequence[str]) -> int:
    """Install, test, record; gives pytest's exit code."""
    install_all()
    asked = {"TIDINGS_INTEROP": "1", "TIDINGS_INTEROP_RECORD": "0" if arguments else "1"}
    tests = [sys.executable, "-m", "pytest", "tests/interop", *arguments]
    ran = subprocess.run(tests, env={**os.environ, **asked}, cwd=ROOT, timeout=DEADLINE)
    PAGE.write_text(refreshed(PAGE.read_text()))
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
