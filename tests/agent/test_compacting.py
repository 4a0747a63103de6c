"""Compaction in the loop: what cannot be used is recorded, and the conversation stays whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tidings as td
from tests.agent.recorder import Recorder
from tests.agent.test_answers import ROUTES
from tests.agent.test_loop import play
from tests.rendering import legal
from tidings.agent import compacting
from tidings.agent.budget import DROPPED, SUMMARY_PROMPT
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, Usage
from tidings.agent.result import Compaction
from tidings.agent.session import Session
from tidings.agent.tools.function import tool
from tidings.core.records import LIFECYCLE_TOPIC

FULL = Usage(input_tokens=95, output_tokens=1)


@tool(read_only=True)
def look() -> str:
    """Look around."""
    return "nothing new"


def compacted(settings: Compaction, *said: Any, route: str = ROUTES[0], **options: Any):
    """A loop whose second request finds the window full; gives its model, its result and its warnings."""
    log = td.open_log("memory:")
    model = ScriptedModel([Answer(tool_calls=(call("look"),), usage=FULL), *said, "done"], route=route)
    session = options.pop("session", None) or Session("s", log=log)
    result = play(
        model=model, tools=[look], session=session, context_window=100, compaction=settings, **options
    )
    told = log.read(LIFECYCLE_TOPIC, kind_prefix="transcript.reminder.warning")
    return model, result, [(r.payload["code"], r.payload["producer"], r.payload["message"]) for r in told]


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        (Answer(text=" "), "end"),
        (Answer(tool_calls=(call("look"),), stop="tools"), "tools"),
        (Answer(text="The task was to", stop="length"), "length"),
        (Answer(text="I cannot do that.", stop="refused"), "refused"),
    ],
)
def test_a_summary_that_cannot_stand_for_the_conversation_changes_nothing(said: Answer, ended: str) -> None:
    model, result, warnings = compacted(Compaction(at=0.5, keep=1), said)
    assert result.status == "done"
    assert [m["role"] for m in result.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert SUMMARY_PROMPT in str(model.requests[1])
    told = f"the model gave no whole summary: it ended with {ended!r}"
    assert warnings == [("error", "compaction:summary", told)]


def raising(messages: Any, reminders: Any) -> Any:
    raise ValueError("no idea")


async def hanging(messages: Any, reminders: Any) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("compactor", "told"),
    [
        (raising, "ValueError: no idea"),
        (hanging, "it was not done within"),
        (lambda messages, _: 5, "a custom compactor returns a transcript"),
        (lambda messages, _: [{"role": "pirate"}], "`messages[0].role` must be user, assistant or tool"),
        (lambda messages, _: messages[-1:], "`messages[0]` parts a tool call from its result"),
        (lambda messages, _: messages[:-1], "the call 'call_1_1' at the end has no result"),
        (lambda messages, _: [*messages[:-1], *messages[:1], messages[-1]], "`messages[2]` parts a tool"),
    ],
)
def test_a_compactor_that_fails_or_breaks_the_conversation_changes_nothing(
    compactor: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compacting, "COMPACTOR_DEADLINE", 0.05)
    settings = Compaction(strategy="custom", at=0.5, compactor=compactor)
    _, result, [(code, producer, message)] = compacted(settings)
    assert result.status == "done"
    assert [m["role"] for m in result.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert (code, producer) == ("error", "compaction:custom")
    assert told in message


def test_a_compactor_may_wait_and_use_the_session_it_works_for() -> None:
    session = Session("s", log=td.open_log("memory:"))

    async def shorter(messages: Any, reminders: Any) -> Any:
        await asyncio.to_thread(session.remind, body="from the compactor", mode="audit_only")
        return [{"role": "user", "content": f"{len(messages)} messages, {[r.body for r in reminders]}"}]

    session.remind(body="keep me in mind", id="r")
    settings = Compaction(strategy="custom", at=0.5, compactor=shorter)
    model, result, _ = compacted(settings, session=session)
    assert (result.status, len(model.requests)) == ("done", 2)
    assert "3 messages, ['keep me in mind']" in str(model.requests[1]["messages"])


@pytest.mark.parametrize("keep", [0, 1, 2])
@pytest.mark.parametrize("route", ROUTES)
def test_a_truncated_conversation_opens_with_a_users_part(route: str, keep: int) -> None:
    settings = Compaction(strategy="truncate", at=0.5, keep=keep)
    model, result, warnings = compacted(settings, route=route)
    first = result.transcript.messages[0]
    assert (result.status, warnings) == ("done", [])
    assert first == {"role": "user", "content": DROPPED}
    legal.check(model.route.wire, model.requests[1])


def test_a_session_that_is_suspended_during_a_compaction_sends_no_further_request() -> None:
    session = Session("s")
    recorder = Recorder({"post_compact": lambda _: session.suspend("enough")})
    settings = Compaction(strategy="truncate", at=0.5, keep=1)
    model, result, _ = compacted(settings, session=session, registry=recorder.registry)
    assert (result.status, len(model.requests)) == ("suspended", 1)
