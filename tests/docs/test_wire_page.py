"""The lines of wire.md are what the artefacts describe, and its words cover the code's tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from docs.parts import lines
from tests.spec.schemas import problems
from tidings.bridge.methods import METHODS, OPERATIONS

ANSWERS = {
    operation: f"Session{''.join(word.title() for word in operation.split('_'))}Response"
    for operation in OPERATIONS
}


def captured(part: Callable[[], str], arrow: str) -> list[dict[str, Any]]:
    """The messages of a part that go one way."""
    return [json.loads(line[2:]) for line in part().splitlines() if line.startswith(arrow)]


@pytest.mark.parametrize("part", [lines.inject, lines.queue], ids=["inject", "queue"])
def test_the_calls_and_answers_of_the_page_validate(part: Callable[[], str]) -> None:
    calls, answers = captured(part, "→"), captured(part, "←")
    assert [problems("SessionCall", call) for call in calls] == [[] for _ in calls]
    named = {call["id"]: ANSWERS[METHODS[call["method"]]] for call in calls}
    assert [problems(named[one["id"]], one["result"]) for one in answers] == [[] for _ in calls]


def test_the_older_spelling_validates_and_what_is_refused_does_not() -> None:
    right, wrong = captured(lines.older, "→")
    assert problems("SessionCall", right) == []
    assert problems("SessionCall", wrong) != []
    assert captured(lines.older, "←") == []
    assert lines.older().count("# written down: ") == 1


def test_every_refusal_of_the_page_is_one() -> None:
    answers = captured(lines.refusals, "←")
    assert [one["error"]["code"] for one in answers] == [-32602, -32002, -32602, -32602, -32601]
    assert [problems("Refusal", one["error"]) for one in answers] == [[] for _ in answers]


def test_both_forms_of_the_updates_tell_the_same() -> None:
    own = [message["params"]["update"] for message in captured(lines.updates, "←")]
    assert [problems("SessionUpdate_Reminder", update) for update in own] == [[], [], []]
    (carrying,) = captured(lines.carried, "←")
    meta = carrying["params"]["update"]["_meta"]
    assert problems("ReportMeta", meta) == []
    assert meta["harn"]["reminders"] == [update["_meta"]["harn"]["reminder"] for update in own]


def test_what_both_sides_advertise_validates() -> None:
    (asked,), (told,) = captured(lines.initialize, "→"), captured(lines.initialize, "←")
    assert problems("ClientCapabilities", asked["params"]["clientCapabilities"]) == []
    assert problems("AgentCapabilities", told["result"]["agentCapabilities"]) == []


def test_every_error_code_has_its_words() -> None:
    assert [name for name, _ in lines._codes()] == sorted(lines.WHY, key=dict(lines._codes()).__getitem__)
