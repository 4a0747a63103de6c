"""A delivery becomes the answer that each host reads, word for word."""

from __future__ import annotations

import pytest

from tests.hosts.events import payload
from tidings.core.reminder import Payload
from tidings.hosts.happening import Delivery, Happening, Host
from tidings.hosts.table import TONGUES
from tidings.hosts.voice import GO_ON

CASES: list[tuple[Host, str, Delivery, Payload]] = [
    (
        "claude-code",
        "PostToolBatch",
        Delivery("news"),
        {"hookSpecificOutput": {"hookEventName": "PostToolBatch", "additionalContext": "news"}},
    ),
    (
        "claude-code",
        "PreToolUse",
        Delivery(decline="later"),
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "later",
            }
        },
    ),
    (
        "claude-code",
        "Stop",
        Delivery("news", go_on=True),
        {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "news"}},
    ),
    (
        "codex",
        "PreToolUse",
        Delivery("news", "later"),
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "later",
                "additionalContext": "news",
            }
        },
    ),
    ("codex", "Stop", Delivery("news", go_on=True), {"decision": "block", "reason": "news"}),
    (
        "gemini",
        "BeforeModel",
        Delivery("news"),
        {
            "hookSpecificOutput": {
                "hookEventName": "BeforeModel",
                "llm_request": {"messages": [{"role": "user", "content": "news"}]},
            }
        },
    ),
    ("gemini", "BeforeTool", Delivery(decline="later"), {"decision": "deny", "reason": "later"}),
    ("gemini", "AfterAgent", Delivery(go_on=True), {"decision": "deny", "reason": GO_ON}),
    (
        "opencode",
        "tool.execute.before",
        Delivery("news", "later"),
        {"text": "news", "decline": "later"},
    ),
    ("opencode", "session.idle", Delivery("news", go_on=True), {"text": "news"}),
]


@pytest.mark.parametrize(
    ("host", "event", "delivery", "expected"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)
def test_each_host_reads_its_own_answer(
    host: Host, event: str, delivery: Delivery, expected: Payload
) -> None:
    happening = TONGUES[host].read(payload(host, event))
    assert isinstance(happening, Happening)
    assert TONGUES[host].answer(happening, delivery) == expected


def test_gemini_gets_the_conversation_back_with_our_message_behind_it() -> None:
    told = payload("gemini", "BeforeModel")
    happening = TONGUES["gemini"].read(told)
    assert isinstance(happening, Happening)
    answered = TONGUES["gemini"].answer(happening, Delivery("news"))
    assert TONGUES["gemini"].complete(answered, told) == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeModel",
            "llm_request": {
                "model": "gemini",
                "config": {},
                "messages": [
                    {"role": "user", "content": "<session_context>"},
                    {"role": "user", "content": "news"},
                ],
            },
        }
    }
