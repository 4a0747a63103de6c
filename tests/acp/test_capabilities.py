"""What peers tell each other about reminders: written in two places, read from either, never guessed."""

from __future__ import annotations

import pytest

from tidings.acp.capabilities import (
    FULL,
    REFERENCE,
    Capabilities,
    advertised,
    agent_reminders,
    client_advertised,
    client_takes_updates,
)


def test_an_agent_advertises_in_both_places_and_keeps_what_was_there() -> None:
    told = advertised({"loadSession": True, "_meta": {"x": 1, "harn": {"y": 2}}}, FULL)
    assert told["loadSession"] is True
    assert told["reminders"] == {
        "inject": True,
        "emit": True,
        "propagate": ["all", "session", "none"],
        "roleHints": ["system", "developer", "user_block", "ephemeral_cache"],
    }
    meta = told["_meta"]
    assert isinstance(meta, dict)
    assert (meta["x"], meta["harn"]["y"]) == (1, 2)
    assert meta["harn"]["reminders"]["modes"] == ["interrupt_immediate", "finish_step", "audit_only"]
    assert agent_reminders(told) == FULL


def test_the_form_of_the_seed_can_be_switched_off() -> None:
    told = advertised({}, FULL, rfc=False)
    assert set(told) == {"_meta"}
    assert agent_reminders(told) == FULL


@pytest.mark.parametrize(
    ("capabilities", "read"),
    [
        ({}, None),
        (None, None),
        ({"reminders": True}, None),
        ({"_meta": {"harn": None}}, None),
        ({"_meta": {"harn": {"sessionUpdateExtensions": ["reminder_emitted"]}}}, REFERENCE),
        ({"_meta": {"harn": {"sessionUpdateExtensions": ["tool_note"]}}}, None),
        (
            {"reminders": {"inject": True}},
            Capabilities(inject=True, methods=("session/inject_reminder",)),
        ),
        (
            {"_meta": {"harn": {"reminders": {"inject": True, "emit": "yes"}}}},
            Capabilities(inject=True, methods=("_session/inject_reminder",)),
        ),
        (
            {"reminders": {"inject": True, "roleHints": ["user_block", 3], "propagate": []}},
            Capabilities(
                inject=True,
                role_hints=("user_block",),
                propagate=(),
                methods=("session/inject_reminder",),
            ),
        ),
    ],
)
def test_a_reader_believes_only_what_is_said(capabilities: object, read: Capabilities | None) -> None:
    assert agent_reminders(capabilities) == read


@pytest.mark.parametrize(
    ("capabilities", "takes"),
    [
        ({}, False),
        ({"_meta": {"harn": {"reminders": {"emit": True}}}}, True),
        ({"_meta": {"harn": {"reminders": {"emit": False}}}}, False),
        ({"reminders": {}}, True),
        ({"session": {"reminders": {"emit": True}}}, True),
        (client_advertised({"fs": {}}), True),
    ],
)
def test_a_client_gets_updates_only_if_it_asked(capabilities: object, takes: bool) -> None:
    assert client_takes_updates(capabilities) is takes
