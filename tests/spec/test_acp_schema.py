"""What an editor that knows nothing of reminders receives is valid ACP; what only others receive is not.

The official schemas are read where their folder stands beside the project, else these tests are skipped.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.spec.schemas import problems
from tidings.acp.capabilities import FULL, advertised, client_advertised
from tidings.acp.proxy.telling import Outbox
from tidings.bridge import updates
from tidings.core.reminder import Payload, Reminder
from tidings.testing import strategies

SCHEMAS = Path(__file__).parents[3] / "shared" / "schemas"
TEXT = {"type": "text", "text": "Done."}
ORDINARY: list[dict[str, Any]] = [
    {"sessionUpdate": "user_message_chunk", "content": TEXT},
    {"sessionUpdate": "agent_message_chunk", "content": TEXT},
    {"sessionUpdate": "agent_thought_chunk", "content": TEXT},
    {"sessionUpdate": "tool_call", "toolCallId": "c-1", "title": "read_file"},
    {"sessionUpdate": "tool_call_update", "toolCallId": "c-1", "status": "completed"},
    {"sessionUpdate": "plan", "entries": []},
    {"sessionUpdate": "current_mode_update", "currentModeId": "ask"},
]
IDS = strategies.texts(9)
TOLD = st.one_of(
    st.builds(updates.emitted, strategies.reminders(), st.sampled_from(("", "system"))),
    st.builds(updates.deduped, IDS, IDS, st.lists(IDS, max_size=2)),
    st.builds(updates.expired, IDS, st.sampled_from(tuple(updates.PHASES)), st.integers(0, 9)),
)


@cache
def official(version: str) -> dict[str, Any]:
    path = SCHEMAS / f"acp-{version}.json"
    if not path.exists():
        pytest.skip(f"the official schema {path.name} is not beside the project (shared/schemas)")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def valid(version: str, name: str, value: object) -> bool:
    schema = {"$ref": f"#/$defs/{name}", "$defs": official(version)["$defs"]}
    return Draft202012Validator(schema).is_valid(json.loads(json.dumps(value)))


def notification(update: Payload) -> Payload:
    return {"sessionId": "s1", "update": update}


def carrying(told: list[Payload], holder: dict[str, Any]) -> Payload:
    outbox = Outbox("s1", waiting=3)
    for update in told:
        outbox.add(update)
    return outbox.onto(holder)


@given(st.lists(TOLD, min_size=1, max_size=5), st.sampled_from(ORDINARY))
def test_an_ordinary_update_that_carries_reports_is_valid(
    told: list[Payload], update: dict[str, Any]
) -> None:
    assert valid("v1", "SessionNotification", notification(update))
    laden = carrying(told, update)
    assert valid("v1", "SessionNotification", notification(laden))
    assert problems("ReportMeta", laden["_meta"]) == []


@given(st.lists(TOLD, min_size=1, max_size=3))
def test_the_answer_to_a_prompt_that_carries_reports_is_valid(told: list[Payload]) -> None:
    laden = carrying(told, {"stopReason": "end_turn"})
    assert valid("v1", "PromptResponse", laden)
    assert problems("ReportMeta", laden["_meta"]) == []


@given(strategies.reminders())
def test_an_update_of_its_own_is_unknown_to_v1_and_open_in_v2(reminder: Reminder) -> None:
    update = notification(updates.emitted(reminder))
    assert not valid("v1", "SessionNotification", update)
    assert valid("v2", "UpdateSessionNotification", update)


@pytest.mark.parametrize("rfc", [True, False])
def test_the_answer_to_initialize_stays_valid_with_what_we_advertise(rfc: bool) -> None:
    answer = {"protocolVersion": 1, "agentCapabilities": advertised({"loadSession": True}, FULL, rfc=rfc)}
    assert valid("v1", "InitializeResponse", answer)


def test_initialize_stays_valid_with_what_a_client_of_ours_advertises() -> None:
    request = {"protocolVersion": 1, "clientCapabilities": client_advertised({"terminal": True})}
    assert valid("v1", "InitializeRequest", request)
