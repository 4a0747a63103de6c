"""Notifications become sentences by rules, and what a server sent is never a template."""

from __future__ import annotations

import pytest

from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.names import PROGRESS, PROMPTS_CHANGED, RESOURCE_UPDATED, TOOLS_CHANGED
from tidings.mcp.rules import DEFAULTS, Rule, reminder_for


@pytest.mark.parametrize(
    ("method", "params", "body", "key"),
    [
        (
            RESOURCE_UPDATED,
            {"uri": "file:///a.py"},
            "file:///a.py changed on the server fs; read it again before you rely on it.",
            "resource_updated:file:///a.py",
        ),
        (TOOLS_CHANGED, {}, "The tools of the server fs changed.", "tools_changed"),
        (
            PROGRESS,
            {"progress": 3, "total": 3, "message": "index\nbuilt"},
            "fs finished: index built",
            "progress:index built",
        ),
    ],
)
def test_the_defaults_say_what_happened(method: str, params: Payload, body: str, key: str) -> None:
    told = reminder_for(method, params, "fs")
    assert told is not None
    assert (told["body"], told["dedupe_key"], told["ttl_turns"]) == (body, key, 2)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (PROGRESS, {"progress": 1, "total": 3}),
        (PROGRESS, {"progress": 3}),
        (PROGRESS, {"progress": "3", "total": 3}),
        (PROMPTS_CHANGED, {}),
        ("notifications/message", {"data": "x"}),
    ],
)
def test_what_no_rule_is_about_stays_silent(method: str, params: Payload) -> None:
    assert reminder_for(method, params, "fs") is None


def test_the_first_rule_that_fits_wins_and_one_without_a_body_is_silent() -> None:
    rules = (
        Rule(on="resource_updated", match="*.lock"),
        Rule(on="resource_updated", match="file:///src/*", body="source {uri}", ttl_turns=1, tags=("src",)),
        *DEFAULTS,
    )
    assert reminder_for(RESOURCE_UPDATED, {"uri": "file:///src/x.lock"}, "fs", rules) is None
    assert reminder_for(RESOURCE_UPDATED, {"uri": "file:///src/x.py"}, "fs", rules) == {
        "body": "source file:///src/x.py",
        "tags": ["src"],
        "ttl_turns": 1,
    }


def test_braces_that_a_server_sends_are_only_text() -> None:
    told = reminder_for(
        RESOURCE_UPDATED,
        {"uri": "{server}{0.__class__}"},
        "fs",
        (Rule(on="resource_updated", body="{uri} {what} {"),),
    )
    assert told is not None
    assert told["body"] == "{server}{0.__class__} {what} {"


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"on": "weather"}, "got 'weather'"),
        ({"on": "tools_changed", "ttl_turns": 0}, "`ttl_turns` must be 1 or more"),
    ],
)
def test_a_wrong_rule_names_the_field_and_the_fix(fields: dict[str, object], names: str) -> None:
    with pytest.raises(CallerError) as caught:
        Rule(**fields)
    assert names in str(caught.value)
