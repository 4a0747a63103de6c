"""Records as text: aligned lines for pipes, cells for tables, JSON for scripts. Pure.

Payloads are other people's text, so nothing of them reaches a terminal raw: see `visible`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tidings.core.producers import shorten
from tidings.diagnostics.visible import visible
from tidings.log import LogRecord

_KIND_WIDTH = 36


def as_json(record: LogRecord) -> str:
    """One line of ASCII JSON that holds the whole record."""
    return json.dumps(record.to_dict())


def as_line(record: LogRecord) -> str:
    """One aligned line."""
    number, when, kind, session, details = cells(record)
    return f"{number:>6}  {when}  {kind:<{_KIND_WIDTH}}  {session}  {details}".rstrip()


def cells(record: LogRecord) -> tuple[str, str, str, str, str]:
    """Number, time, kind, session and the rest of the payload; `-` for no session."""
    session = record.payload.get("session_id")
    return (
        str(record.cursor),
        _time(record.occurred_at_ms),
        visible(record.kind),
        visible(shorten(session)) if isinstance(session, str) and session else "-",
        " ".join(
            f"{visible(key)}={_value(value)}"
            for key, value in record.payload.items()
            if key != "session_id" and value not in (None, [])
        ),
    )


def _time(at_ms: int) -> str:
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    except (OverflowError, ValueError, OSError):
        return str(at_ms)


def _value(value: object) -> str:
    plain = isinstance(value, str) and value and not any(c.isspace() or c in "\"'" for c in value)
    text = str(value) if plain else json.dumps(value, ensure_ascii=False)
    return visible(shorten(text))
