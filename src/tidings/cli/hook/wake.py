"""`tidings hook HOST --wake` and `--monitor`: wait beside a session until something urgent comes.

The first is for hosts that run a hook in the background and take its exit code 2, with what it wrote to
stderr, as a reason to go on. It ends when the session goes on by itself, when somebody else waits, or after
`HOURS`. The second is for a host that keeps a command beside each session and takes what it prints as news:
it stays until the host ends it, because its end would be news too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from tidings.cli.hook.call import Unusable, asked, received, socket_path
from tidings.hosts.happening import WAKE

HOURS = 12
WAIT_SECONDS = 50
PAUSE_SECONDS = 5.0
NEWS = 2
"""The exit code that wakes."""
SESSION = "CLAUDE_CODE_SESSION_ID"
"""Where a monitor finds the session that it stands beside."""
PROCESS = "CLAUDE_PID"
"""Where the number of the host's process stands: a shell between us may outlive it."""


def wait(host: str, home: str | None) -> int:
    """Wait; gives the exit code."""
    try:
        event = json.loads(received())
    except (Unusable, ValueError):
        return 0
    until, process = time.monotonic() + HOURS * 3600, _started_by(os.environ)
    news = _news(host, home, event, lambda: time.monotonic() < until and _is_there(process))
    text = next(news, "")
    sys.stderr.write(text)
    return NEWS if text else 0


def watch(host: str, home: str | None, environ: Mapping[str, str]) -> int:
    """Print what wakes the session that started this, until its host is gone; gives the exit code."""
    session, process = environ.get(SESSION), _started_by(environ)
    if not session:
        sys.stderr.write(f"tidings hook: {SESSION} is not set; {host} starts its monitors with it\n")
        return 1
    event: dict[str, object] = {"hook_event_name": WAKE, "session_id": session, "cwd": os.getcwd()}
    for text in _news(host, home, event, lambda: _is_there(process), stays=True):
        print(text, flush=True)
    while _is_there(process):
        time.sleep(PAUSE_SECONDS)
    return 0


def _started_by(environ: Mapping[str, str]) -> int:
    """The process of the host that started this."""
    named = environ.get(PROCESS, "")
    return int(named) if named.isdecimal() else os.getppid()


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _news(
    host: str, home: str | None, event: dict[str, object], wanted: Callable[[], bool], stays: bool = False
) -> Iterator[str]:
    """What wakes the session, as it comes, until it is over or not wanted any more."""
    asked = {"event": event, "waitSeconds": WAIT_SECONDS, "stays": stays}
    while wanted():
        try:
            answer = _ask(host, home, "hub/wake", asked)
            if answer.get("over"):
                return
            if answer.get("news") and wanted():
                yield _fetched(host, home, event)
        except (OSError, Unusable, ValueError):
            time.sleep(PAUSE_SECONDS)


def _fetched(host: str, home: str | None, event: dict[str, object]) -> str:
    """The text to wake with.

    Raises:
        OSError: no hub listens.
        Unusable: the session went on meanwhile, or the hub refused.
    """
    answer = _ask(host, home, "hub/drain", {"event": {**event, "hook_event_name": WAKE}})
    told = answer.get("answer")
    output = told.get("hookSpecificOutput") if isinstance(told, dict) else None
    text = output.get("additionalContext") if isinstance(output, dict) else None
    if not isinstance(text, str):
        raise Unusable
    return text


def _ask(host: str, home: str | None, method: str, params: dict[str, object]) -> dict[str, object]:
    path = socket_path(home, os.environ)
    result = asked(path, method.encode(), json.dumps({"host": host, **params}).encode())
    answer = json.loads(result)
    if not isinstance(answer, dict):
        raise Unusable
    return answer
