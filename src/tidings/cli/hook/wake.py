"""`tidings hook HOST --wake`: wait beside an idle session until something urgent comes, then wake it.

For hosts that run a hook in the background and take its exit code 2, with what it wrote to stderr, as a
reason to go on. It ends when the session goes on by itself, when somebody else waits, or after `HOURS`.
"""

from __future__ import annotations

import json
import os
import sys
import time

from tidings.cli.hook.call import Unusable, asked, received, socket_path
from tidings.hosts.happening import WAKE

HOURS = 12
WAIT_SECONDS = 50
PAUSE_SECONDS = 5.0
NEWS = 2
"""The exit code that wakes."""


def wait(host: str, home: str | None) -> int:
    """Wait; gives the exit code."""
    try:
        event = json.loads(received())
    except (Unusable, ValueError):
        return 0
    until = time.monotonic() + HOURS * 3600
    while time.monotonic() < until:
        try:
            answer = _ask(host, home, "hub/wake", {"event": event, "waitSeconds": WAIT_SECONDS})
            if answer.get("over"):
                return 0
            if answer.get("news") and (text := _fetched(host, home, event)):
                sys.stderr.write(text)
                return NEWS
        except (OSError, Unusable, ValueError):
            time.sleep(PAUSE_SECONDS)
    return 0


def _fetched(host: str, home: str | None, event: dict[str, object]) -> str:
    """The text to wake with; none when the session went on meanwhile."""
    answer = _ask(host, home, "hub/drain", {"event": {**event, "hook_event_name": WAKE}})
    told = answer.get("answer")
    output = told.get("hookSpecificOutput") if isinstance(told, dict) else None
    return str(output.get("additionalContext", "")) if isinstance(output, dict) else ""


def _ask(host: str, home: str | None, method: str, params: dict[str, object]) -> dict[str, object]:
    path = socket_path(home, os.environ)
    result = asked(path, method.encode(), json.dumps({"host": host, **params}).encode())
    answer = json.loads(result)
    if not isinstance(answer, dict):
        raise Unusable
    return answer
