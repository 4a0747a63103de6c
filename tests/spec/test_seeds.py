"""The examples of seeds 000, 001 and 004, as facts: what they show is what the artefacts take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.schemas import accepts, problems

PAYLOAD: dict[str, Any] = {
    "id": "0190abcd-...",
    "tags": ["token_pressure"],
    "dedupe_key": "token_pressure",
    "ttl_turns": 3,
    "preserve_on_compact": True,
    "propagate": "session",
    "role_hint": "developer",
    "source": "stdlib_provider",
    "body": "Approaching context window cap.",
    "fired_at_turn": 4,
}
EVENT: dict[str, Any] = {
    "id": "0190abcd-...",
    "kind": "system_reminder",
    "role": "developer",
    "visibility": "public",
    "text": "Approaching context window cap.",
    "blocks": [{"type": "text", "text": "Approaching context window cap.", "visibility": "public"}],
    "reminder": PAYLOAD,
    "metadata": PAYLOAD,
}
NOTIFICATION: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "notifications/reminder",
    "params": {
        "reminder": {
            "id": "0190abcd-2024-7c1d-bb02-3a0e8a44d7f0",
            "body": "src/lib.rs changed externally; re-read it before editing.",
            "tags": ["workspace", "file_changed"],
            "dedupeKey": "file_changed:src/lib.rs",
            "ttlTurns": 2,
            "preserveOnCompact": False,
            "propagate": "session",
            "roleHint": "system",
            "firedAtTurn": None,
        },
        "_meta": {},
    },
}
SERVER: dict[str, Any] = {
    "reminders": {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}
}
REMIND: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "session/remind",
    "params": {
        "body": "The workspace changed while you were idle; re-read src/lib.rs before editing.",
        "tags": ["workspace"],
        "dedupe_key": "workspace-change",
        "ttl_turns": 2,
        "role_hint": "system",
        "mode": "interrupt_immediate",
        "_meta": {"harn": {"origin": "file-watcher"}},
    },
}
NUDGE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "session/remind",
    "params": {
        "body": "Dependencies changed while the agent was idle; rerun the narrow test before continuing.",
        "tags": ["workspace", "deps"],
        "dedupe_key": "workspace:deps",
        "ttl_turns": 1,
        "propagate": "none",
        "mode": "finish_step",
    },
}
PIPELINE: list[dict[str, Any]] = [
    {
        "body": "Approaching context window cap.",
        "tags": ["token_pressure"],
        "dedupe_key": "token_pressure",
        "ttl_turns": 3,
        "preserve_on_compact": True,
        "propagate": "session",
        "role_hint": "developer",
    },
    {
        "body": "The file read was truncated; inspect the specific range before editing.",
        "tags": ["truncation"],
        "dedupe_key": "read_file:truncated",
        "ttl_turns": 1,
        "propagate": "none",
    },
    {
        "body": "Customer prefers patch-sized PRs and explicit verification.",
        "tags": ["memory"],
        "dedupe_key": "memory:customer-pr-style",
        "ttl_turns": 4,
        "preserve_on_compact": True,
        "propagate": "all",
        "role_hint": "developer",
    },
    {
        "body": "Large policy excerpt applies for this turn only.",
        "tags": ["policy"],
        "dedupe_key": "policy:turn",
        "ttl_turns": 1,
        "role_hint": "ephemeral_cache",
        "propagate": "none",
    },
]
REQUEST: dict[str, Any] = {
    "sessionId": "sess-1",
    "body": "This repo blocks force-pushes to main.",
    "tags": ["policy"],
    "dedupeKey": "policy:force-push",
    "ttlTurns": 2,
    "preserveOnCompact": False,
    "propagate": "session",
    "roleHint": "user_block",
    "mode": "finish_step",
    "_meta": {"vendor": {"rule": 7}},
}
EMITTED: dict[str, Any] = {
    "sessionUpdate": "reminder_emitted",
    "reminderId": "r-1",
    "body": "This repo blocks force-pushes to main.",
    "tags": ["policy"],
    "dedupeKey": "policy:force-push",
    "source": "provider",
    "providerId": "policy",
    "firedAtTurn": 3,
    "_meta": {"vendor": {}},
}
DEDUPED: dict[str, Any] = {
    "sessionUpdate": "reminder_deduped",
    "reminderId": "r-2",
    "dedupeKey": "policy:force-push",
    "droppedReminderIds": ["r-1"],
    "_meta": {},
}
EXPIRED: dict[str, Any] = {
    "sessionUpdate": "reminder_expired",
    "reminderId": "r-2",
    "phase": "ttl_expired",
    "expiredAtTurn": 5,
    "_meta": {},
}
CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "reminders": {
        "inject": True,
        "emit": True,
        "propagate": ["all", "session", "none"],
        "roleHints": ["system", "developer", "user_block", "ephemeral_cache"],
    },
}
EXAMPLES = [
    ("ReminderEvent", EVENT),
    ("SessionCall", REMIND),
    ("SessionCall", NUDGE),
    ("SessionRemindRequest", REMIND["params"]),
    *[("ReminderSpec", options) for options in PIPELINE],
    ("SessionInjectReminderRequest", REQUEST),
    ("SessionInjectReminderRequest", {"sessionId": "sess-1", "body": "Only what is required."}),
    ("SessionInjectReminderResponse", {"reminderId": "r-1", "dedupedCount": 1}),
    ("SessionInjectReminderResponse", {"reminderId": "r-1"}),
    ("SessionUpdate_ReminderEmitted", EMITTED),
    (
        "SessionUpdate_ReminderEmitted",
        {k: EMITTED[k] for k in ("sessionUpdate", "reminderId", "body", "source")},
    ),
    ("SessionUpdate_ReminderDeduped", DEDUPED),
    ("SessionUpdate_ReminderExpired", EXPIRED),
    *[("SessionUpdate_Reminder", update) for update in (EMITTED, DEDUPED, EXPIRED)],
    ("AgentCapabilities", CAPABILITIES),
    ("AgentCapabilities", {"reminders": {"inject": False, "emit": True}}),
    ("AgentCapabilities", {"loadSession": True}),
    ("SessionRevokeReminderResponse", {"status": "revoked", "reminderId": "r-1"}),
    ("SessionRevokeReminderResponse", {"status": "already_revoked", "reminderId": "r-1"}),
    ("RevokeData", {"reason": "already_delivered", "reminderId": "r-1"}),
    ("SessionPendingInjectionsResponse", {"pendingCount": 0, "injections": []}),
    ("ReminderNotification", NOTIFICATION),
    ("ServerCapabilities", SERVER),
    ("ServerCapabilities", {"tools": {}}),
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_of_the_seeds_validates(name: str, example: object) -> None:
    assert problems(name, example) == []


@pytest.mark.parametrize("source", ["host", "provider", "hook", "bridge", "inherited"])
def test_every_source_of_seed_004_is_one_of_an_emitted_update(source: str) -> None:
    assert accepts("SessionUpdate_ReminderEmitted", {**EMITTED, "source": source})


@pytest.mark.parametrize("phase", ["ttl_expired", "cleared", "compacted_out"])
def test_every_phase_of_seed_004_is_one_of_an_expired_update(phase: str) -> None:
    assert accepts("SessionUpdate_ReminderExpired", {**EXPIRED, "phase": phase})


@pytest.mark.parametrize("mode", ["interrupt_immediate", "finish_step", "audit_only"])
def test_every_mode_of_seed_004_is_one_of_a_request(mode: str) -> None:
    assert accepts("SessionInjectReminderRequest", {**REQUEST, "mode": mode})


WRONG = [
    ("ReminderNotification", NOTIFICATION, {"method": "notifications/message"}),
    ("ReminderNotification", NOTIFICATION, {"params": {}}),
    ("ReminderNotification", NOTIFICATION, {"params": {"reminder": {"id": "r-1"}}}),
    ("ReminderNotification", NOTIFICATION, {"params": {"reminder": {"body": "x", "ttlTurns": 0}}}),
    ("ServerCapabilities", SERVER, {"reminders": {"emit": "yes"}}),
    ("ServerCapabilities", SERVER, {"extensions": {"dev.tidings/reminders": {"propagate": ["far"]}}}),
    ("ReminderEvent", EVENT, {"kind": "system_prompt"}),
    ("ReminderEvent", EVENT, {"reminder": {**PAYLOAD, "body": " "}}),
    ("ReminderEvent", EVENT, {"reminder": {**PAYLOAD, "propagate": "children"}}),
    ("ReminderEvent", EVENT, {"metadata": None}),
    ("SessionCall", REMIND, {"method": "session/prompt"}),
    ("SessionCall", REMIND, {"jsonrpc": "1.0"}),
    ("SessionCall", REMIND, {"params": {"content": "The workspace changed."}}),
    ("ReminderSpec", PIPELINE[0], {"ttl": 3}),
    ("ReminderSpec", PIPELINE[0], {"id": "mine"}),
    ("ReminderSpec", PIPELINE[0], {"propagate": "children"}),
    ("SessionInjectReminderRequest", REQUEST, {"body": "\u2003"}),
    ("SessionInjectReminderRequest", REQUEST, {"ttlTurns": 0}),
    ("SessionInjectReminderRequest", REQUEST, {"ttl_turns": 2}),
    ("SessionInjectReminderRequest", REQUEST, {"mode": "wait_for_completion"}),
    ("SessionInjectReminderRequest", REQUEST, {"source": "hook"}),
    ("SessionInjectReminderRequest", REQUEST, {"id": "x" * 201}),
    ("SessionInjectReminderResponse", {"reminderId": "r-1"}, {"reminderId": None}),
    ("SessionUpdate_ReminderEmitted", EMITTED, {"source": "stdlib_provider"}),
    ("SessionUpdate_ReminderEmitted", EMITTED, {"sessionUpdate": "reminder_expired"}),
    ("SessionUpdate_ReminderDeduped", DEDUPED, {"droppedReminderIds": "r-1"}),
    ("SessionUpdate_ReminderExpired", EXPIRED, {"phase": "ttl"}),
    ("SessionUpdate_Reminder", EXPIRED, {"sessionUpdate": "reminder_deduped"}),
    ("AgentCapabilities", CAPABILITIES, {"reminders": {"inject": True}}),
    (
        "AgentCapabilities",
        CAPABILITIES,
        {"reminders": {"inject": True, "emit": True, "roleHints": ["tool"]}},
    ),
    ("RevokeData", {"reason": "already_delivered", "reminderId": "r-1"}, {"reason": "revoked"}),
]


@pytest.mark.parametrize(("name", "right", "change"), WRONG)
def test_a_wrong_change_of_an_example_is_refused(
    name: str, right: dict[str, Any], change: dict[str, Any]
) -> None:
    assert accepts(name, right)
    assert not accepts(name, {**right, **change})
