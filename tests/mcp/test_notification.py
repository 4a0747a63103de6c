"""A reminder on the MCP wire: advertised three ways, written in camelCase, read in every form."""

from __future__ import annotations

import pytest

from tests.core.build import reminder as some
from tidings.core.producers import build
from tidings.errors import DiagnosticError
from tidings.mcp import advertisement, notification
from tidings.mcp.advertisement import Advertised
from tidings.mcp.names import EXTENSION, LEGACY, MODERN
from tidings.mcp.notification import Received

EXAMPLE = {
    "id": "0190abcd-2024-7c1d-bb02-3a0e8a44d7f0",
    "body": "src/lib.rs changed externally; re-read it before editing.",
    "tags": ["workspace", "file_changed"],
    "dedupeKey": "file_changed:src/lib.rs",
    "ttlTurns": 2,
    "preserveOnCompact": False,
    "propagate": "session",
    "roleHint": "system",
    "firedAtTurn": None,
}


def test_the_example_of_the_seed_becomes_a_reminder_and_back() -> None:
    received = notification.read("notifications/reminder", {"reminder": EXAMPLE, "_meta": {}})
    assert received is not None
    reminder = build("mcp", received.options, id="unused", origin="watcher")
    assert (reminder.trust, reminder.provenance.origin) == ("external", "watcher")
    written = notification.params_of(reminder)
    assert written == {"reminder": {key: value for key, value in EXAMPLE.items() if value is not None}}


@pytest.mark.parametrize(
    ("method", "params", "received"),
    [
        ("notifications/reminder", {"reminder": {"body": "x"}}, Received({"body": "x"})),
        (
            "notifications/reminder",
            {"reminder": {"body": "x", "ttl_turns": 2}, "_meta": {"correlationId": "c" * 300}},
            Received({"body": "x", "ttl_turns": 2}, "c" * 200),
        ),
        (
            "notifications/reminder",
            {"reminder": {"body": "x"}, "_meta": {"dev.tidings/session": "s1"}},
            Received({"body": "x"}, None, "s1"),
        ),
        (
            "notifications/message",
            {"level": "info", "data": "x", "_meta": {"harn": {"reminder": {"body": "old"}}}},
            Received({"body": "old"}),
        ),
        ("notifications/message", {"level": "info", "data": "x"}, None),
        ("notifications/progress", {"reminder": {"body": "x"}}, None),
    ],
)
def test_a_notification_is_read_for_the_reminder_it_carries(
    method: str, params: object, received: Received | None
) -> None:
    assert notification.read(method, params) == received


@pytest.mark.parametrize("params", [None, {}, [], {"reminder": None}, {"reminder": "x"}])
def test_a_reminder_notification_without_one_is_refused(params: object) -> None:
    with pytest.raises(DiagnosticError, match=r"HARN-RMD-002: `params\.reminder` must be an object"):
        notification.read("notifications/reminder", params)


def test_a_legacy_server_advertises_three_ways_and_keeps_what_it_had() -> None:
    ours = Advertised()
    told = {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}
    had = {"tools": {}, "extensions": {"a/b": {}}, "_meta": {"harn": {"z": 1}}}
    assert advertisement.with_reminders(had, ours, LEGACY) == {
        "tools": {},
        "extensions": {"a/b": {}, EXTENSION: told},
        "reminders": told,
        "_meta": {"harn": {"z": 1, "reminders": told}},
    }
    assert advertisement.with_reminders({"tools": {}}, ours, MODERN) == {
        "tools": {},
        "extensions": {EXTENSION: told},
    }


SAID = {"emit": True, "propagate": ["none"], "roleHints": ["developer", "loud"]}


@pytest.mark.parametrize(
    ("capabilities", "read"),
    [
        ({"extensions": {EXTENSION: SAID}}, Advertised(propagate=("none",), role_hints=("developer",))),
        ({"reminders": SAID}, Advertised(propagate=("none",), role_hints=("developer",))),
        (
            {"_meta": {"harn": {"reminders": SAID}}},
            Advertised(propagate=("none",), role_hints=("developer",)),
        ),
        ({"extensions": {EXTENSION: {}}}, Advertised(propagate=("session",), role_hints=("system",))),
        ({"reminders": {"emit": False}}, None),
        ({"tools": {}}, None),
        ({"reminders": True}, None),
        (None, None),
    ],
)
def test_a_host_believes_what_a_server_advertises_and_no_more(
    capabilities: object, read: Advertised | None
) -> None:
    assert advertisement.read(capabilities) == read


@pytest.mark.parametrize(
    ("propagate", "hint", "allowed", "given"),
    [
        ("all", "system", Advertised(), ("session", "system")),
        ("all", "user_block", Advertised(propagate=("none",)), ("none", "system")),
        ("session", "developer", Advertised(), ("session", "developer")),
        ("session", "system", Advertised(propagate=()), ("none", "system")),
    ],
)
def test_what_goes_beyond_the_advertisement_is_lowered_and_recorded(
    propagate: str, hint: str, allowed: Advertised, given: tuple[str, str]
) -> None:
    asked = some(propagate=propagate, role_hint=hint, trust="external", origin="w")
    lowered, records = advertisement.within(asked, allowed)
    assert (lowered.propagate, lowered.role_hint) == given
    changed = [
        name
        for name, a, b in zip(("propagate", "role_hint"), (propagate, hint), given, strict=True)
        if a != b
    ]
    assert [record.payload["field"] for record in records] == changed
    assert all(record.payload["reason"] == "not advertised" for record in records)
