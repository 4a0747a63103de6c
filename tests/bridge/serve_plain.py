"""The child of `test_served_process.py`: `tidings bridge`, and then whether it loaded the ACP SDK."""

from __future__ import annotations

import sys

from tidings.cli.main import app

if __name__ == "__main__":
    app(["bridge", *sys.argv[1:]], prog_name="tidings", standalone_mode=False)
    print("the ACP SDK is loaded:", "acp" in sys.modules)
