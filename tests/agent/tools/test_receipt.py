"""What a receipt says, and what the loop reads from it."""

from __future__ import annotations

import pytest

from tests.agent.tools.calling import call
from tidings.agent.port import Outcome
from tidings.agent.tools.receipt import Audit, Receipt, not_run
from tidings.errors import CallerError


def test_a_skipped_batch_is_closed_as_not_run_and_not_as_refused() -> None:
    asked = call("act")
    (receipt,) = not_run([asked], "an urgent message came in", now_ms=7)
    assert receipt == Receipt(
        call=asked,
        outcome=Outcome(
            text="Not run: an urgent message came in. Nobody declined this call, and nothing of it was "
            "done; call the tool again if it is still needed.",
            ok=False,
        ),
        status="not_run",
        started_at_ms=7,
    )


def test_the_event_tells_all_that_providers_and_hooks_read() -> None:
    outcome = Outcome(text="boom", ok=False, truncated=True, original_size=9, data={"exit_code": 1})
    receipt = Receipt(
        call=call("act", word="w"), outcome=outcome, status="failed", started_at_ms=1, duration_ms=2
    )
    assert receipt.told == {
        "tool_name": "act",
        "tool_call_id": "c1",
        "arguments": {"word": "w"},
        "result": {"exit_code": 1, "text": "boom", "truncated": True},
        "truncated": True,
        "original_size": 9,
        "ok": False,
        "error": "boom",
        "status": "failed",
        "duration_ms": 2,
    }


def test_reminder_reports_are_added_to_the_audit_without_bodies() -> None:
    (receipt,) = not_run([call("act")], "x", now_ms=0)
    audited = receipt.with_reminders([{"reminder_id": "r1"}]).with_reminders([{"reminder_id": "r2"}])
    assert audited.audit == Audit(({"reminder_id": "r1"}, {"reminder_id": "r2"}))
    with pytest.raises(CallerError, match="has the key 'body'"):
        receipt.with_reminders([{"reminder_id": "r1", "body": "text"}])
