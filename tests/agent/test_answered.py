"""Observers of answered requests: told of each that was answered, and of nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tidings as td
from tidings.agent.answered import Answered
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.port import ModelError
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log import open_log


def test_an_observer_gets_what_was_sent_for_each_answer_and_nothing_for_a_failure() -> None:
    session = td.Session("s")
    seen: list[Answered] = []
    model = ScriptedModel(["one", ModelError("no"), "two"])
    with session.observers.looking(seen.append):
        asyncio.run(td.llm_call("a", model=model, session=session))
        asyncio.run(td.agent_loop("b", model=model, session=session))
        asyncio.run(td.agent_loop("c", model=model, session=session))
    asyncio.run(td.llm_call("d", model=ScriptedModel(["three"]), session=session))
    assert [(one.turn, one.route, one.request.body) for one in seen] == [
        (1, model.route, model.requests[0]),
        (2, model.route, model.requests[2]),
    ]


def test_an_observer_that_fails_is_a_record_and_the_others_still_hear() -> None:
    log = open_log("memory:")
    session = td.Session("s", log=log)
    seen: list[int] = []

    def broken(_: Answered) -> None:
        raise ValueError("no")

    with session.observers.looking(broken), session.observers.looking(lambda one: seen.append(one.turn)):
        result = asyncio.run(td.agent_loop("x", model=ScriptedModel(["done"]), session=session))
    assert (result.status, seen, bool(session.observers)) == ("done", [1], False)
    warnings = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.warning")
    assert [(one.payload["code"], one.payload["message"]) for one in warnings] == [
        ("observer_failed", "ValueError('no')")
    ]


@pytest.mark.parametrize("work", [td.agent_loop, td.llm_call])
def test_a_listener_that_fails_is_a_record_and_the_answer_is_kept(work: Any) -> None:
    def listen(text: str) -> None:
        heard.append(text)
        raise KeyError("broken")

    heard: list[str] = []
    log = td.open_log("memory:")
    result = asyncio.run(
        work("hi", model=ScriptedModel(["One two three"]), session=td.Session("s", log=log), on_text=listen)
    )
    assert (result.text, len(heard)) == ("One two three", 1)
    (told,) = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.warning")
    assert (told.payload["code"], told.payload["producer"]) == ("observer_failed", "on_text")
