"""`make conformance`: installs the suite, runs its legs, and writes the page of results anew.

Arguments go to pytest, to run a part of it; what only a part gave is not recorded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from docs.generate import DOCS, refreshed
from tests.conformance.suite import DEADLINE, NEEDED
from tests.conformance.verdict import LEGS
from tests.interop.install import ROOT, install_all

PAGE = DOCS / "reference" / "conformance.md"


def main(arguments: Sequence[str]) -> int:
    """Install, run, record; gives pytest's exit code."""
    install_all(NEEDED)
    tests = [sys.executable, "-m", "pytest", "tests/conformance", *arguments]
    asked = {**os.environ, "TIDINGS_CONFORMANCE": "1"}
    ran = subprocess.run(tests, env=asked, cwd=ROOT, timeout=2 * DEADLINE * len(LEGS))
    PAGE.write_text(refreshed(PAGE.read_text()))
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
