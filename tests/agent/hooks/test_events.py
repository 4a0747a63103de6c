"""The catalogue of hook events: names, spellings and what each may carry."""

from __future__ import annotations

import pytest

from tidings.agent.events import DECIDES, EVENTS, PROVIDED, UnknownEventError, find_event, pascal

FAMILIES = {
    "tool": ["PreToolUse", "PostToolUse"],
    "turn": ["PreAgentTurn", "PostAgentTurn"],
    "step": ["PreStep", "PostStep"],
    "notification": [
        "OnBudgetThreshold", "OnApprovalRequested", "OnHandoffEmitted", "OnPersonaPaused",
        "OnPersonaResumed",
    ],
    "worker": [
        "WorkerSpawned", "WorkerProgressed", "WorkerWaitingForInput", "WorkerSuspended", "WorkerResumed",
        "WorkerCompleted", "WorkerFailed", "WorkerStopped", "WorkerCancelled",
    ],
    "session": [
        "SessionStart", "SessionEnd", "UserPromptSubmit", "PreCompact", "PostCompact", "PostTurn",
        "PermissionAsked", "PermissionReplied", "FileEdited", "SessionError", "SessionIdle", "PreFinish",
        "PostFinish", "OnUnsettledDetected", "PreSuspend", "PostSuspend", "PreResume", "PostResume",
        "PreDrain", "PostDrain", "OnDrainDecision", "LoopCheckpoint",
    ],
}  # fmt: skip


def test_the_catalogue_is_closed_and_grouped_into_families() -> None:
    found: dict[str, list[str]] = {}
    for event in EVENTS.values():
        found.setdefault(event.family, []).append(event.pascal)
    assert found == FAMILIES


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_is_found_in_both_spellings(name: str) -> None:
    assert find_event(name) is find_event(pascal(name)) is EVENTS[name]


def test_error_is_another_name_of_session_error() -> None:
    assert find_event("error") is find_event("Error") is EVENTS["session_error"]


def test_worker_events_and_only_they_carry_no_reminders() -> None:
    assert {e.family for e in EVENTS.values() if not e.reminders} == {"worker"}
    assert all(e.family != "worker" for e in EVENTS.values() if e.reminders)


def test_only_gates_can_be_refused() -> None:
    assert [event.name for event in EVENTS.values() if event.can_veto] == [
        "pre_tool_use",
        "user_prompt_submit",
        "pre_compact",
        "permission_asked",
        "pre_finish",
        "pre_suspend",
        "pre_resume",
        "pre_drain",
    ]
    assert {event.verdict for event in EVENTS.values()} == set(DECIDES)


def test_providers_hear_sessions_workers_and_four_others() -> None:
    others = [name for name in PROVIDED if EVENTS[name].family not in ("session", "worker")]
    assert others == ["post_tool_use", "post_agent_turn", "post_step", "on_budget_threshold"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("post_tool_used", "did you mean post_tool_use"),
        ("PostToolUsed", "did you mean post_tool_use"),
        ("sesion_start", "did you mean session_start"),
        ("zzzzzz", "known are pre_tool_use, post_tool_use"),
        (7, "known are pre_tool_use"),
    ],
)
def test_an_unknown_event_is_refused_with_near_matches(name: object, hint: str) -> None:
    with pytest.raises(UnknownEventError, match=hint):
        find_event(name)
