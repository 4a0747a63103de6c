"""Schema and gate agree: what one refuses the other refuses, but for what the README names."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from spec.parts.gate import Door, method_door, options_door, takes
from tests.spec.schemas import accepts
from tidings.core.producers import FIELDS
from tidings.core.reminder import PROPAGATE, ROLE_HINTS, SOURCES
from tidings.core.seams import MODES
from tidings.core.wire import SPELLING
from tidings.testing import strategies

SOME_WORDS = (
    "",
    " ",
    "\u2003",
    "\x1c",
    "\ufeff",
    "x",
    "x" * 200,
    "x" * 201,
    *PROPAGATE,
    *ROLE_HINTS,
    *MODES,
    *SOURCES,
)
SCALARS = st.none() | st.booleans() | st.integers(-2, 3) | st.just(1.5) | st.sampled_from(SOME_WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=1),
    max_leaves=4,
)
SNAKE = tuple(field.name for field in FIELDS)
OPTIONS = tuple(field.name for field in FIELDS if not field.wire)
CAMEL = tuple(SPELLING.get(name, name) for name in SNAKE)
UNKNOWN = ("ttl", "content", "importance")


def changed(
    names: tuple[str, ...], least: st.SearchStrategy[dict[str, Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """Something right with up to three members set to anything, and maybe one taken away."""
    changes = st.dictionaries(st.sampled_from(names), VALUES, max_size=3)
    taken = st.none() | st.sampled_from(names)
    return st.builds(_changed, least, changes, taken)


def _changed(least: dict[str, Any], changes: dict[str, Any], taken: str | None) -> dict[str, Any]:
    return {name: value for name, value in {**least, **changes}.items() if name != taken}


BODY = st.fixed_dictionaries({"body": strategies.bodies()})


def agree(door: Door, schema: str, given: dict[str, Any]) -> None:
    assert takes(door, given) == accepts(schema, given)


@given(changed((*OPTIONS, *UNKNOWN, "id", "dedupeKey"), BODY))
@settings(max_examples=300)
def test_the_options_of_a_producer(options: dict[str, Any]) -> None:
    agree(options_door("pipeline"), "ReminderSpec", options)


@given(changed((*OPTIONS, *UNKNOWN), BODY))
def test_hooks_and_providers_take_the_same_options(options: dict[str, Any]) -> None:
    agree(options_door("hook"), "ReminderSpec", options)
    agree(options_door("provider"), "ReminderSpec", options)


def without_null_strangers(params: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The gate does not see an unknown member whose value is null."""
    return {name: value for name, value in params.items() if name in names or value is not None}


WIRE = ("sessionId", "mode", *CAMEL)


@given(changed((*WIRE, *UNKNOWN), BODY))
@settings(max_examples=300)
def test_the_parameters_of_injecting_a_reminder(params: dict[str, Any]) -> None:
    params = without_null_strangers(params, WIRE)
    agree(method_door("session/inject_reminder"), "SessionInjectReminderRequest", params)


OLDER = ("session_id", "mode", *SNAKE)


@given(changed((*OLDER, *UNKNOWN), BODY))
def test_the_parameters_in_the_older_spelling(params: dict[str, Any]) -> None:
    params = without_null_strangers(params, OLDER)
    agree(method_door("session/remind"), "SessionRemindRequest", params)


@given(changed(("sessionId", "content", "mode", "messageId", "x"), st.just({"content": "Now the docs."})))
@example({"content": []})
@example({"content": [{}]})
@example({"content": [1]})
def test_the_parameters_of_injecting_a_users_words(params: dict[str, Any]) -> None:
    agree(method_door("session/inject"), "SessionInjectRequest", params)


@given(changed(("sessionId", "reminderId", "x"), st.just({"reminderId": "r-1"})))
def test_the_parameters_of_revoking(params: dict[str, Any]) -> None:
    agree(method_door("session/revoke_reminder"), "SessionRevokeReminderRequest", params)


@given(changed(("sessionId", "id", "tag", "dedupeKey", "x"), st.just({"tag": "build"})))
def test_the_parameters_of_clearing(params: dict[str, Any]) -> None:
    agree(method_door("session/clear_reminders"), "SessionClearRemindersRequest", params)


@given(changed(("sessionId", "x"), st.just({})))
def test_the_parameters_of_asking_what_waits(params: dict[str, Any]) -> None:
    agree(method_door("session/pending_injections"), "SessionPendingInjectionsRequest", params)


DIFFERENT: list[tuple[str, str, dict[str, Any], bool]] = [
    ("inject_reminder", "SessionInjectReminderRequest", {"reminder": {"body": "x"}}, True),
    (
        "inject_reminder",
        "SessionInjectReminderRequest",
        {"_meta": {"harn": {"reminder": {"body": "x"}}}},
        True,
    ),
    ("inject_reminder", "SessionInjectReminderRequest", {"body": "x", "ttl_turns": 1}, True),
    ("inject_reminder", "SessionInjectReminderRequest", {"body": "x", "mode": "wait_for_completion"}, True),
    ("inject_reminder", "SessionInjectReminderRequest", {"body": "x", "stranger": None}, True),
    ("inject_reminder", "SessionInjectReminderRequest", {"body": "x", "ttlTurns": 2.0}, False),
    ("inject", "SessionInjectRequest", {"prompt": "x"}, True),
    ("revoke_reminder", "SessionRevokeReminderRequest", {"reminder_id": "x"}, True),
    ("revoke_reminder", "SessionRevokeReminderRequest", {"reminderId": "x", "_meta": 5}, True),
]


def test_the_differences_are_those_of_the_readme_and_still_hold() -> None:
    found = [
        (takes(method_door(f"session/{method}"), params), accepts(schema, params))
        for method, schema, params, _ in DIFFERENT
    ]
    assert found == [(taken, not taken) for *_, taken in DIFFERENT]
