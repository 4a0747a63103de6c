"""The audit log: while it is active, tool receipts report the reminders that tool hooks added.

A report names the hook event and tool call and says what the reminder was, without its body.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tidings.core.reminder import Payload, Reminder

_active: ContextVar[bool] = ContextVar("tidings_audit", default=False)


@contextmanager
def audit_log() -> Iterator[None]:
    """Let receipts carry `audit.reminders` for a block."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


def auditing() -> bool:
    """Whether an audit log is active here."""
    return _active.get()


def report(reminder: Reminder, *, event: str, tool_call_id: str, deduped_count: int) -> Payload:
    """The nine fields of a reminder report."""
    return {
        "hook_event": event,
        "tool_call_id": tool_call_id,
        "reminder_id": reminder.id,
        "tags": list(reminder.tags),
        "dedupe_key": reminder.dedupe_key,
        "source": reminder.source,
        "role_hint": reminder.role_hint,
        "ttl_turns": reminder.ttl_turns,
        "deduped_count": deduped_count,
    }
