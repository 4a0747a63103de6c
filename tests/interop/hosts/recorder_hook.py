"""A hook that keeps what it is told and answers nothing. Standard library only: the agents start it.

Run as `python recorder_hook.py FOLDER`; each payload becomes a file there, named by time and event. Gemini
CLI wants a JSON object even when there is nothing to say, which the others take as well.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    told = sys.stdin.read()
    event = json.loads(told)["hook_event_name"]
    Path(sys.argv[1], f"{time.time_ns()}-{event}.json").write_text(told)
    print("{}")
