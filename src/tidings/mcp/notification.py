"""A reminder as `notifications/reminder`, written and read. Pure.

Written in camelCase; read in both spellings, and also from the old carrier, a log message with
`_meta.harn.reminder` (decision 26). What `read` gives are options for the gate (`producer="mcp"`), which
ignores and notes unknown fields; the correlation id that a server put in `_meta` is kept, within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload, Reminder
from tidings.core.wire import from_wire, to_wire
from tidings.errors import DiagnosticError, Problem
from tidings.mcp.names import FALLBACK_METHOD, METHOD, SESSION_META

CORRELATION = ("correlationId", "correlation_id")
LONGEST_CORRELATION = 200
_NOT_SENT = ("source", "originatingAgentId", "firedAtTurn")


class Received(msgspec.Struct, frozen=True):
    """What a server sent: the options of its reminder, and what stood beside them."""

    options: Payload
    correlation: str | None = None
    session: str | None = None


def params_of(reminder: Reminder, *, meta: Mapping[str, object] | None = None) -> Payload:
    """The params of the notification; `meta` is what goes in its `_meta`."""
    fields = {name: value for name, value in to_wire(reminder).items() if name not in _NOT_SENT}
    params: Payload = {"reminder": fields}
    if meta:
        params["_meta"] = dict(meta)
    return params


def read(method: str, params: object) -> Received | None:
    """The reminder that a notification carries; None when it carries none.

    Raises:
        DiagnosticError: HARN-RMD-002, it should carry one and does not.
    """
    meta = _object(params, "_meta")
    if method == FALLBACK_METHOD:
        carried = _object(meta, "harn").get("reminder")
        if carried is None:
            return None
    elif method == METHOD:
        carried = params.get("reminder") if isinstance(params, Mapping) else None
    else:
        return None
    if not isinstance(carried, Mapping):
        fix = f"`params.reminder` must be an object with a `body`; got {shown(carried)}"
        raise DiagnosticError(method, (Problem("HARN-RMD-002", "reminder", shown(carried), fix),))
    return Received(from_wire(carried, method), _correlation(meta), _text(meta.get(SESSION_META)))


def _correlation(meta: Mapping[str, object]) -> str | None:
    for name in CORRELATION:
        found = meta.get(name)
        if isinstance(found, (str, int)) and not isinstance(found, bool):
            return str(found)[:LONGEST_CORRELATION]
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: object, name: str) -> Mapping[str, object]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}
