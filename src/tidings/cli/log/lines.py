"""Records as text: aligned lines for pipes, cells for tables, JSON for scripts. Pure.

Payloads are other people's text, so nothing of them reaches a terminal raw: see `visible`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tidings.core.producers import shorten
from tidings.diagnostics.visible import visible
from tidings.log import LogRecord

TOLD = "told."
"""What the topics begin with that hold what sessions told the hub, as `tidings.hub.told` says it."""

_KIND_WIDTH = 36


def as_json(record: LogRecord) -> str:
    """One line of ASCII JSON that holds the whole record."""
    return json.dumps(record.to_dict())


def unwrapped(record: LogRecord) -> LogRecord:
    """A record that a session told the hub, as it stood in the session's own log; others as they are."""
    inner, at = record.payload.get("payload"), record.payload.get("at_ms")
    if not record.topic.startswith(TOLD):
        return record
    return LogRecord(
        cursor=record.cursor,
        topic=record.topic,
        kind=record.kind,
        content=dict(inner) if isinstance(inner, dict) else {},
        occurred_at_ms=at if isinstance(at, int) else record.occurred_at_ms,
    )


def as_text(record: LogRecord) -> str:
    """One line for a terminal, in colour, as long as it must be."""
    from rich.console import Console
    from rich.text import Text

    number, when, kind, session, details = cells(record)
    line = Text.assemble((f"{number:>6}  {when}  ", "dim"), (f"{kind:<{_KIND_WIDTH}}", "bold"))
    line.append(f"  {session}  {details}")
    console = Console(soft_wrap=True)
    with console.capture() as shown:
        console.print(line, end="")
    return shown.get()


def as_line(record: LogRecord) -> str:
    """One aligned line."""
    number, when, kind, session, details = cells(record)
    return f"{number:>6}  {when}  {kind:<{_KIND_WIDTH}}  {session}  {details}".rstrip()


def cells(record: LogRecord) -> tuple[str, str, str, str, str]:
    """Number, time, kind, session and the rest of the payload; `-` for no session."""
    record = unwrapped(record)
    session = record.payload.get("session_id")
    return (
        str(record.cursor),
        as_time(record.occurred_at_ms),
        visible(record.kind),
        visible(shorten(session)) if isinstance(session, str) and session else "-",
        " ".join(
            f"{visible(key)}={_value(value)}"
            for key, value in record.payload.items()
            if key != "session_id" and value not in (None, [])
        ),
    )


def as_time(at_ms: int) -> str:
    """A time in UTC."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    except (OverflowError, ValueError, OSError):
        return str(at_ms)


def _value(value: object) -> str:
    plain = isinstance(value, str) and value and not any(c.isspace() or c in "\"'" for c in value)
    text = str(value) if plain else json.dumps(value, ensure_ascii=False)
    return visible(shorten(text))
