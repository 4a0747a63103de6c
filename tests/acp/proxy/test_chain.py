"""A place in a proxy chain: the three dialects, ids, cancellation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acp.proxy.script import Message, from_editor, line, messages, wrapped
from tidings.acp.proxy.chain import DIALECTS, Dialect
from tidings.acp.proxy.relay import ChainRelay, Settings

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.request)


class Conductor:
    """The conductor's side of one pipe, played by the test."""

    def __init__(self, dialect: Dialect, longest: int = 10_000) -> None:
        self.dialect = dialect
        self.reports: list[str] = []
        self._out = bytearray()
        settings = Settings(lambda _seconds, _then: None, report=self.reports.append, longest=longest)
        self.relay = ChainRelay(self._out.extend, settings)

    def send(self, **message: Any) -> list[Message]:
        """Send a message; gives what came back."""
        self.relay.from_editor.feed(line(message))
        found = messages(bytes(self._out))
        self._out.clear()
        return found

    def from_agent(self, method: str, params: object, **ids: object) -> list[Message]:
        """Deliver a message of the successor's."""
        wrapper = self.dialect.request if ids else self.dialect.notification
        return self.send(method=wrapper, params={"method": method, "params": params}, **ids)

    def greet(self) -> list[Message]:
        """Shake hands and open session s1."""
        meta = {"proxy": True} if self.dialect.confirms else {"trace": 1}
        hello = {"protocolVersion": 1, "clientCapabilities": {}, "_meta": meta}
        (forwarded,) = self.send(id=0, method=self.dialect.initialize, params=hello)
        assert forwarded["method"] == self.dialect.request
        assert forwarded["params"]["method"] == "initialize"
        assert forwarded["params"]["params"]["_meta"] == meta
        answer = self.send(id=forwarded["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        (opened,) = self.send(id=1, method="session/load", params={"sessionId": "s1"})
        assert self.send(id=opened["id"], result={}) == [{"id": 1, "result": {}}]
        return answer


@EACH
def test_the_handshake_is_forwarded_first_and_answered_with_what_we_add(dialect: Dialect) -> None:
    (answer,) = Conductor(dialect).greet()
    assert (answer["id"], answer["result"]["protocolVersion"]) == (0, 1)
    assert answer["result"]["agentCapabilities"]["reminders"]["inject"] is True
    assert answer["result"].get("_meta") == ({"proxy": True} if dialect.confirms else None)


@EACH
def test_only_the_handshake_is_confirmed(dialect: Dialect) -> None:
    conductor = Conductor(dialect)
    conductor.greet()
    (sent,) = conductor.send(id=0, method="authenticate", params={})
    assert conductor.send(id=sent["id"], result={}) == [{"id": 0, "result": {}}]


@EACH
def test_a_reminder_of_the_client_reaches_the_successors_prompt(dialect: Dialect) -> None:
    conductor = Conductor(dialect)
    conductor.greet()
    (reply,) = conductor.send(id=5, method="_session/inject_reminder", params={"body": "red"})
    assert reply["id"] == 5
    prompt = {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}
    (sent,) = conductor.send(id=6, method="session/prompt", params=prompt)
    assert sent["params"]["params"]["prompt"][1]["text"] == wrapped(from_editor("red"))
    (update,) = conductor.from_agent(
        "session/update", {"sessionId": "s1", "update": {"sessionUpdate": "plan"}}
    )
    assert update["method"] == "session/update"
    (answer,) = conductor.send(id=sent["id"], result={"stopReason": "end_turn"})
    assert (answer["id"], answer["result"]["_meta"]["harn"]["reminder"]["body"]) == (6, "red")


@EACH
def test_requests_of_the_successor_reach_the_client_and_their_answers_come_back(dialect: Dialect) -> None:
    conductor = Conductor(dialect)
    conductor.greet()
    (asked,) = conductor.from_agent("fs/read_text_file", {"path": "/x", "_meta": {"k": 1}}, id=5)
    assert (asked["method"], asked["params"]) == ("fs/read_text_file", {"path": "/x", "_meta": {"k": 1}})
    assert asked["id"] != 5
    assert conductor.send(id=asked["id"], result={"content": "c"}) == [
        {"id": 5, "result": {"content": "c"}}
    ]


@EACH
def test_the_same_id_on_both_sides_is_not_mixed_up(dialect: Dialect) -> None:
    conductor = Conductor(dialect)
    conductor.greet()
    (down,) = conductor.send(id=7, method="authenticate", params={})
    (up,) = conductor.from_agent("terminal/create", {}, id=8)
    assert conductor.send(id=up["id"], error={"code": 1, "message": "m"}) == [
        {"id": 8, "error": {"code": 1, "message": "m"}}
    ]
    assert conductor.send(id=down["id"], result={"ok": 1}) == [{"id": 7, "result": {"ok": 1}}]
    assert conductor.send(id=down["id"], result={"late": 1}) == []


@EACH
def test_notifications_and_unknown_methods_pass(dialect: Dialect) -> None:
    conductor = Conductor(dialect)
    conductor.greet()
    (down,) = conductor.send(method="session/cancel", params={"sessionId": "s1"})
    assert down == {
        "method": dialect.notification,
        "params": {"method": "session/cancel", "params": {"sessionId": "s1"}},
    }
    assert conductor.from_agent("_vendor/note", {"a": 1}) == [
        {"method": "_vendor/note", "params": {"a": 1}}
    ]
    (mcp,) = conductor.send(id=9, method="mcp/message", params={"x": 1})
    assert mcp["params"] == {"method": "mcp/message", "params": {"x": 1}}


def test_a_cancellation_goes_on_with_the_id_of_the_next_hop() -> None:
    conductor = Conductor(DIALECTS[0])
    conductor.greet()
    prompt = {"sessionId": "s1", "prompt": []}
    (sent,) = conductor.send(id=6, method="session/prompt", params=prompt)
    assert conductor.send(method="$/cancel_request", params={"requestId": 6}) == [
        {"method": "$/cancel_request", "params": {"requestId": sent["id"]}}
    ]
    assert conductor.send(method="$/cancel_request", params={"requestId": 77}) == []


def test_replayed_history_is_cleaned_in_a_chain_too() -> None:
    conductor = Conductor(DIALECTS[1])
    conductor.greet()
    content = {"type": "text", "text": wrapped(from_editor("x"))}
    update = {"sessionUpdate": "user_message_chunk", "content": content}
    assert conductor.from_agent("session/update", {"sessionId": "s1", "update": update}) == []


def test_an_editor_without_a_conductor_is_told_what_is_missing() -> None:
    conductor = Conductor(DIALECTS[0])
    (refused,) = conductor.send(id=1, method="initialize", params={"protocolVersion": 1})
    assert refused["error"]["code"] == -32601
    assert "tidings acp-proxy -- <agent command>" in refused["error"]["message"]
    assert conductor.send(method="session/cancel", params={}) == []


def test_a_message_with_half_a_character_is_not_lost() -> None:
    conductor = Conductor(DIALECTS[0])
    conductor.greet()
    prompt = {"sessionId": "s1", "prompt": [{"type": "text", "text": "half \ud83d"}]}
    (sent,) = conductor.send(id=6, method="session/prompt", params=prompt)
    assert sent["params"]["params"]["prompt"] == [{"type": "text", "text": "half \ufffd"}]
    assert conductor.reports == []


def test_a_line_that_is_no_message_is_dropped_and_reported() -> None:
    conductor = Conductor(DIALECTS[0])
    conductor.relay.from_editor.feed(b"garbage\n\n")
    assert conductor.reports == ["a line of the conductor is no message and was dropped"]


def test_a_line_too_long_to_be_unwrapped_is_dropped_once_and_reported() -> None:
    conductor = Conductor(DIALECTS[0], longest=50)
    for part in (b"x" * 60, b"y" * 60, b"z\n"):
        conductor.relay.from_editor.feed(part)
    assert conductor.reports == ["a line of more than 50 bytes was dropped"]
    (refused,) = conductor.send(id=1, method="x")
    assert refused["id"] == 1
