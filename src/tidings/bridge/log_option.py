"""The option `--log` of the commands that serve sessions: what a user types becomes an open log.

A path is a path; an address with a scheme is read as everywhere. Called by `tidings acp`, `tidings bridge`
and `tidings acp-proxy`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tidings.errors import LogUsageError
from tidings.log.open import open_log
from tidings.log.port import EventLog

_SCHEME = re.compile(r"\w+:")


def open_named(typed: str) -> EventLog:
    """The log that `typed` names, made if it is not there.

    Raises:
        LogUsageError: nothing, or an address that is none.
        LogUnavailableError: the file cannot be opened.
    """
    if not typed.strip():
        raise LogUsageError("--log is empty; give a path, sqlite:///path, or memory:")
    return open_log(typed if _SCHEME.match(typed) else Path(typed))
