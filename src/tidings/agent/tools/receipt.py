"""The receipt of a tool call: what was asked, who let it run, what came of it.

Every call of a batch gets exactly one, whatever happened (seed 001, ToolCallReceipt). The loop adds
the reminder reports of its tool hooks to `audit` when an audit log is active; a report never holds a
reminder's body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.port import Outcome, ToolCall
from tidings.core.reminder import Payload
from tidings.errors import CallerError

Status: TypeAlias = Literal[
    "finished", "failed", "unreadable", "unknown", "invalid", "denied", "deadline", "cancelled", "not_run"
]
"""How a call was closed: only `finished`, `failed` and `deadline` mean that the tool began to run,
`cancelled` that it may have."""

NOT_RUN = (
    "Not run: {why}. Nobody declined this call, and nothing of it was done; "
    "call the tool again if it is still needed."
)


class Audit(msgspec.Struct, frozen=True):
    """What the tool hooks added: one report for each reminder, without its body."""

    reminders: tuple[Payload, ...] = ()


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """One closed tool call. `approved_by` is None when nobody let it run.

    `error_trace` is for the log, never for the model. `started_at_ms` is when the tool began, or when
    the call was closed without running.
    """

    call: ToolCall
    outcome: Outcome
    status: Status
    started_at_ms: int
    duration_ms: int = 0
    approved_by: str | None = None
    error_trace: str | None = None
    audit: Audit = Audit()

    @property
    def told(self) -> Payload:
        """What the event `post_tool_use` carries about the call."""
        call, outcome = self.call, self.outcome
        return {
            "tool_name": call.name,
            "tool_call_id": call.id,
            "arguments": call.arguments,
            "result": {**outcome.data, "text": outcome.text, "truncated": outcome.truncated},
            "truncated": outcome.truncated,
            "original_size": outcome.original_size,
            "ok": outcome.ok,
            "error": None if outcome.ok else outcome.text,
            "status": self.status,
            "duration_ms": self.duration_ms,
        }

    def with_reminders(self, reports: Iterable[Payload]) -> Receipt:
        """The receipt with more reminder reports in its audit.

        Raises:
            CallerError: a report that copies a body.
        """
        added = tuple(reports)
        if any("body" in report for report in added):
            raise CallerError("a reminder report has the key 'body'; leave it out of the receipt")
        return msgspec.structs.replace(self, audit=Audit((*self.audit.reminders, *added)))


def not_run(calls: Iterable[ToolCall], why: str, *, now_ms: int) -> tuple[Receipt, ...]:
    """Close calls that a seam skipped: the history stays valid, and no refusal is claimed (decision 14)."""
    closed = Outcome(text=NOT_RUN.format(why=why), ok=False)
    return tuple(
        Receipt(call=call, outcome=closed, status="not_run", started_at_ms=now_ms) for call in calls
    )
