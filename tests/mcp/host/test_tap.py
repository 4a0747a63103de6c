"""What a tap lets through, keeps, and knows, message by message."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tidings.mcp.host.tap import MOST_ASKED, MOST_AWAITED, MOST_TOKENS, Tap, TappedRead

LISTEN = JSONRPCRequest(jsonrpc="2.0", id=7, method="subscriptions/listen")
TAG = "io.modelcontextprotocol/subscriptionId"


class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.dropped: list[str] = []
        self.tap = Tap(self.hear, self.dropped.append, "handle")

    def hear(self, method: str, _params: Mapping[str, object], _size: int) -> None:
        self.heard.append(method)


@pytest.fixture
def ear() -> Ear:
    return Ear()


def progress(token: object) -> dict[str, Any]:
    return {"progressToken": token, "progress": 1, "total": 1, "message": "done"}


def test_requests_of_a_server_are_passed_on_a_few_at_a_time(ear: Ear) -> None:
    assert [ear.tap.may_ask(number) for number in range(MOST_ASKED + 2)] == [True] * MOST_ASKED + [
        False
    ] * 2
    assert ear.dropped == ["requests"] * 2
    ear.tap.said(JSONRPCResponse(jsonrpc="2.0", id=3, result={}))
    assert [ear.tap.may_ask(f"again {number}") for number in range(2)] == [True, False]


def asked(id: int, method: str) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=id, method=method)


def test_a_large_message_is_read_only_as_the_answer_to_a_request_that_may_have_one(ear: Ear) -> None:
    ear.tap.said(asked(1, "tools/call"))
    ear.tap.said(asked(2, "conversation/userMessage"))
    assert [ear.tap.reads(one) for one in ("1", "2", "3", None)] == [True, False, False, False]
    assert [ear.tap.pass_over(one) for one in ("2", "2", "3", None)] == [2, None, None, None]
    assert ear.dropped == ["too_large"] * 4


def test_of_a_request_that_was_answered_or_given_up_no_large_answer_is_read(ear: Ear) -> None:
    for number in (1, 2, 3):
        ear.tap.said(asked(number, "tools/call"))
    ear.tap.answered(1)
    given_up = {"requestId": 2, "reason": "late"}
    ear.tap.said(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=given_up))
    assert [ear.tap.reads(one) for one in ("1", "2", "3")] == [False, False, True]


def test_the_running_requests_that_are_known_are_bounded(ear: Ear) -> None:
    for number in range(MOST_AWAITED + 1):
        ear.tap.said(asked(number, "tools/call"))
    assert [ear.tap.reads(one) for one in ("0", "1", str(MOST_AWAITED))] == [False, True, True]


def test_progress_is_told_to_its_call_and_to_no_other(ear: Ear) -> None:
    told: list[object] = []
    ear.tap.expect("a", told.append)
    for token in ("a", "b", 1, None, ["a"]):
        ear.tap.heard("notifications/progress", progress(token), 1)
    assert told == [progress("a")]
    assert ear.heard == ["notifications/progress"]


def test_progress_of_a_call_that_is_over_is_ignored_but_of_an_abandoned_one_is_heard(ear: Ear) -> None:
    told: list[object] = []
    for token in ("over", "abandoned"):
        ear.tap.expect(token, told.append)
    ear.tap.forget("over", abandoned=False)
    ear.tap.forget("abandoned", abandoned=True)
    ear.tap.heard("notifications/progress", progress("over"), 1)
    assert ear.heard == []
    ear.tap.heard("notifications/progress", progress("abandoned"), 1)
    assert (ear.heard, told) == (["notifications/progress"], [])


def test_abandoned_calls_are_not_remembered_without_end(ear: Ear) -> None:
    for number in range(MOST_TOKENS + 10):
        ear.tap.expect(f"{number}", lambda _: None)
        ear.tap.forget(f"{number}", abandoned=True)
    assert len(ear.tap._tokens) == MOST_TOKENS


@pytest.mark.parametrize("named", [7, "7"])
def test_the_server_may_cancel_our_subscription_and_nothing_else(ear: Ear, named: object) -> None:
    ear.tap.said(LISTEN)
    ear.tap.heard("notifications/cancelled", {"requestId": 8}, 1)
    ear.tap.heard("notifications/cancelled", {}, 1)
    assert not ear.tap.ended.is_set()
    ear.tap.heard("notifications/cancelled", {"requestId": named}, 1)
    assert ear.tap.ended.is_set()
    assert ear.heard == []


def test_an_acknowledgement_counts_for_the_subscription_that_it_names(ear: Ear) -> None:
    ear.tap.said(LISTEN)
    acknowledged = "notifications/subscriptions/acknowledged"
    for params in ({}, {"_meta": {TAG: 8}}):
        ear.tap.heard(acknowledged, params, 1)
    assert not ear.tap.acknowledged.is_set()
    ear.tap.heard(acknowledged, {"_meta": {TAG: 7}}, 1)
    assert ear.tap.acknowledged.is_set()
    assert ear.heard == []


def test_the_first_reason_of_a_loss_is_kept(ear: Ear) -> None:
    ear.tap.lose("it died")
    ear.tap.lose("the pipe broke")
    assert (ear.tap.why, ear.tap.over) == ("it died", True)


def test_the_sdk_gets_answers_and_questions_and_no_notification(ear: Ear) -> None:
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
    question = SessionMessage(JSONRPCRequest(jsonrpc="2.0", id="q", method="ping"))
    note = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/reminder"))

    async def run() -> list[object]:
        into, out = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        for item in (note, answer, ValueError("no JSON"), question, note):
            await into.send(item)
        into.close()
        async with TappedRead(out, ear.tap) as stream:
            return [item async for item in stream]

    assert asyncio.run(run()) == [answer, question]
    assert ear.heard == ["notifications/reminder"] * 2
    assert ear.dropped == ["unreadable"]
    assert ear.tap.why == "the connection ended"
