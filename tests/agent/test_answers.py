"""What a model raises or gives, read: an answer that can be kept, or one kind of error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import tidings as td
from tests.agent.test_loop import play
from tests.rendering import legal
from tidings.agent import store
from tidings.agent.answers import read_answer
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.port import Answer, ModelError, ToolCall, Usage
from tidings.agent.session import Session
from tidings.agent.tools.function import tool

ROUTES = (
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5",
    "openai-responses/gpt-5",
    "gemini/gemini-2.5-pro",
    "openai-compatible/scripted",
)


class Own(ScriptedModel):
    """A model whose answers a function of the request's number gives."""

    def __init__(self, give: Callable[[int], Any], **options: Any) -> None:
        super().__init__(["unused"], **options)
        self._give = give

    async def answer(self, body: Any, *more: object) -> Any:
        self.requests.append(body)
        return self._give(len(self.requests))


def raising(error: BaseException) -> Callable[[int], Any]:
    def give(_: int) -> object:
        raise error

    return give


@tool(read_only=True)
def look(path: str = "") -> str:
    """Look at a path."""
    return f"saw {path}"


def test_an_answer_that_is_fine_is_kept_as_it_is() -> None:
    given = Answer(
        text="Grüße",
        tool_calls=(ToolCall("a", "look", {"path": "x"}), ToolCall("b", "look", {}, "cut off")),
        native=({"role": "assistant", "content": "Grüße"},),
        usage=Usage(3, 2, 1),
        stop="tools",
    )
    assert read_answer(given) == given


@pytest.mark.parametrize(
    ("give", "error"),
    [
        (raising(RuntimeError("boom")), "the model failed: RuntimeError: boom"),
        (raising(TimeoutError("no answer")), "the model failed: TimeoutError: no answer"),
        (raising(asyncio.CancelledError()), "the model cancelled its own answer"),
        (raising(SystemExit(2)), "the model failed: SystemExit: 2"),
        (lambda _: None, "the model gave a NoneType, which is not an Answer"),
        (lambda _: {"text": "x"}, "the model gave a dict, which is not an Answer"),
        (lambda _: Answer(text=None), "the model's answer cannot be read: Expected `str`, got `null`"),
        (lambda _: Answer(native=({"x": object()},)), "the model's answer cannot be read: Encoding"),
        (lambda _: Answer(tool_calls=(ToolCall("a", "look", [1]),)), "Expected `object`, got `array`"),
        (lambda _: Answer(text="\ud800", usage=Usage("\ud800")), "the model's answer cannot be read: Exp"),
    ],
)
def test_a_model_that_fails_in_whatever_way_is_a_status_and_nothing_is_lost(give: Any, error: str) -> None:
    session = Session("s", log=td.open_log("memory:"))
    session.remind(body="still here", id="r", ttl_turns=1)
    result = play(model=Own(give), session=session)
    assert (result.status, session.transcript.turn) == ("failed", 0)
    assert error in str(result.error)
    assert [r.body for r in session.transcript.pending] == ["still here"]


def test_a_model_that_cannot_take_the_conversation_is_a_status_and_nothing_is_lost() -> None:
    class Wordless(Own):
        def wire_messages(self, messages: Any) -> Any:
            raise KeyError("role")

    session = Session("s")
    session.remind(body="still here", id="r", ttl_turns=1)
    model = Wordless(lambda _: Answer(text="unused"))
    result = play(model=model, session=session)
    error = "the conversation cannot be put into the model's form: KeyError: 'role'"
    assert (result.status, result.error, session.transcript.turn) == ("failed", error, 0)
    assert [r.body for r in session.transcript.pending] == ["still here"]
    with pytest.raises(ModelError, match="cannot be put into the model's form"):
        asyncio.run(td.llm_call("hi", model=model))


def test_one_question_fails_with_the_same_error() -> None:
    with pytest.raises(ModelError, match="the model failed: RuntimeError: boom"):
        asyncio.run(td.llm_call("hi", model=Own(raising(RuntimeError("boom")))))


def test_half_a_character_becomes_a_question_mark_that_the_log_can_hold() -> None:
    calls = (ToolCall("a", "look", {"path\ud800": ["\ud800"], "path": "b\udc00"}),)
    model = Own(lambda n: Answer(text="x\ud800", tool_calls=calls if n == 1 else ()))
    log = td.open_log("memory:")
    session = Session("s", log=log)
    result = play(model=model, session=session, tools=[look])
    assert (result.status, result.text) == ("done", "x?")
    assert result.receipts[0].call.arguments == {"path?": ["?"], "path": "b?"}
    assert store.load(log, "s").transcript == session.transcript


@pytest.mark.parametrize("route", ROUTES)
def test_calls_of_one_id_or_none_are_told_apart_and_every_request_is_legal(route: str) -> None:
    same = (
        ToolCall("c", "look", {"path": "a"}),
        ToolCall("c", "look", {"path": "b"}),
        ToolCall("", " ", {}),
    )
    native = ({"role": "assistant", "content": "as the wire gave it"},)
    model = Own(
        lambda n: Answer(tool_calls=same, native=native) if n == 1 else Answer(text="ok"), route=route
    )
    result = play(model=model, tools=[look])
    assert [r.outcome.text for r in result.receipts[:2]] == ["saw a", "saw b"]
    assert (result.receipts[2].status, result.receipts[2].call.name) == ("unknown", "unnamed")
    assert len({r.call.id for r in result.receipts}) == 3
    assert result.receipts[0].call.id == "c"
    legal.check(model.route.wire, model.requests[1])
    assert "as the wire gave it" not in json.dumps(model.requests[1])
