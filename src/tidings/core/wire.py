"""Spelling on the wire: camelCase out, both spellings in (decision 11). Pure.

Python, transcript and log write snake_case. Adapters read a payload with `from_wire`, which knows
both and refuses one field given twice with different values; values under `_meta.harn.reminder`
fill only what is absent. `to_wire` writes what ACP and MCP peers expect.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.producers import shown
from tidings.core.reminder import Payload, Reminder
from tidings.errors import DiagnosticError, Problem

SPELLING = {
    "dedupe_key": "dedupeKey",
    "ttl_turns": "ttlTurns",
    "preserve_on_compact": "preserveOnCompact",
    "role_hint": "roleHint",
    "fired_at_turn": "firedAtTurn",
    "originating_agent_id": "originatingAgentId",
}
_SNAKE = {camel: snake for snake, camel in SPELLING.items()}


def to_wire(reminder: Reminder) -> Payload:
    """The camelCase payload; what is None is left out, and `_meta.tidings` stays at home."""
    payload = reminder.to_dict()
    payload.pop("_meta", None)
    return {SPELLING.get(name, name): value for name, value in payload.items()}


def from_wire(payload: Mapping[str, object], context: str) -> Payload:
    """The same fields in snake_case, with `_meta.harn.reminder` filled in.

    Raises:
        DiagnosticError: HARN-RMD-002 when a field is given twice with different values.
    """
    fields: Payload = {}
    problems: list[Problem] = []
    for name, value in payload.items():
        snake = _SNAKE.get(name, name)
        if snake in fields and fields[snake] != value:
            twice = f"`{snake}` is given twice, as {shown(fields[snake])} and {shown(value)}; send one"
            problems.append(Problem("HARN-RMD-002", snake, shown(value), twice))
        fields[snake] = value
    if problems:
        raise DiagnosticError(context, tuple(problems))
    return {**_fallback(fields.get("_meta")), **_given(fields)}


def _given(fields: Payload) -> Payload:
    return {name: value for name, value in fields.items() if value is not None}


def _fallback(meta: object) -> Payload:
    """The old carrier: lifecycle hints under `_meta.harn.reminder` (seed 004)."""
    harn = meta.get("harn") if isinstance(meta, Mapping) else None
    hints = harn.get("reminder") if isinstance(harn, Mapping) else None
    if not isinstance(hints, Mapping):
        return {}
    return {_SNAKE.get(str(name), str(name)): value for name, value in hints.items()}
