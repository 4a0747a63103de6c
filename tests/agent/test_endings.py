"""How a loop ends when the model's answer was cut off by its output limit, or refused."""

from __future__ import annotations

import pytest

from tests.agent.test_loop import NEWS, play, requests_with
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, ToolCall
from tidings.agent.registry import Registry
from tidings.agent.result import CUT_SHORT, Daemon
from tidings.agent.session import Session
from tidings.agent.subagents import spawn_tool
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.function import tool
from tidings.agent.tools.rules import Rule

CUT = Answer(text="The reason is that", stop="length")


@pytest.mark.parametrize("daemon", [None, Daemon(max_idle_seconds=0.0)])
def test_an_answer_cut_by_the_output_limit_is_not_done(daemon: Daemon | None) -> None:
    raised: list[str] = []
    registry = Registry()
    for event in ("pre_finish", "post_finish", "session_idle", "session_end"):
        registry.register_session_hook(event, lambda ctx, event=event: raised.append(event))
    result = play(model=ScriptedModel([CUT]), daemon=daemon, registry=registry)
    assert (result.status, result.text, result.error) == ("cut_short", "The reason is that", CUT_SHORT)
    assert raised == ["session_end"]


def test_a_cut_answer_can_be_gone_on_with() -> None:
    session = Session("s")
    play(model=ScriptedModel([CUT]), session=session)
    model = ScriptedModel(["the clock was wrong."])
    result = play(None, model=model, session=session)
    assert (result.status, result.error) == ("done", None)
    assert [m["role"] for m in model.requests[0]["messages"]] == ["system", "user", "assistant", "user"]


def test_what_waits_gives_a_cut_answer_one_more_turn() -> None:
    session = Session("s")
    model = ScriptedModel([lambda body: session.remind(body=NEWS, ttl_turns=1) and CUT, "done"])
    result = play(model=model, session=session)
    assert (result.status, requests_with(model, NEWS)) == ("done", [2])


def test_a_cut_answer_runs_the_calls_that_are_whole_and_answers_the_one_that_was_cut() -> None:
    ran: list[str] = []

    @tool(read_only=True)
    def look(path: str = "") -> str:
        """Look at a path."""
        ran.append(path)
        return "nothing new"

    whole, cut = call("look", path="a"), ToolCall("", "look", {}, "the arguments are no valid JSON")
    model = ScriptedModel([Answer(tool_calls=(whole, cut), stop="length"), "done"])
    result = play(model=model, tools=[look])
    assert (result.status, ran) == ("done", ["a"])
    assert [receipt.status for receipt in result.receipts] == ["finished", "unreadable"]
    assert "the arguments are no valid JSON" in result.receipts[1].outcome.text


def test_a_parent_is_told_that_a_sub_agents_answer_was_cut() -> None:
    parent = Session("p")
    options = {"model": ScriptedModel([CUT]), "registry": Registry(), "reminders": False}
    helper = spawn_tool(parent, lambda: options)
    model = ScriptedModel([call("spawn_agent", task="explain"), "I see"])
    (receipt,) = play(model=model, tools=[helper], session=parent, approval=Gate([Rule("allow")])).receipts
    assert receipt.outcome.text == f"{CUT.text}\n\n{CUT_SHORT}"
    assert (receipt.outcome.ok, receipt.outcome.data["status"]) == (False, "cut_short")


def test_calls_of_a_refused_answer_are_not_run_and_the_history_stays_valid() -> None:
    ran: list[str] = []

    @tool(read_only=True)
    def look() -> str:
        """Look around."""
        ran.append("look")
        return "nothing new"

    session = Session("s")
    refused = Answer(text="I cannot", tool_calls=(ToolCall("c", "look", {}),), stop="refused")
    result = play(model=ScriptedModel([refused]), tools=[look], session=session)
    assert (result.status, result.text, ran) == ("blocked", "I cannot", [])
    assert [receipt.status for receipt in result.receipts] == ["not_run"]
    model = ScriptedModel(["done"])
    assert play("more", model=model, session=session).status == "done"
    roles = [message["role"] for message in model.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]


def test_a_result_prints_short_however_much_the_tools_gave() -> None:
    @tool(read_only=True)
    async def read() -> str:
        """Read."""
        return "x" * 10_000

    model = ScriptedModel([call("read"), "y" * 10_000])
    result = play(model=model, tools=[read], session=Session("s"))
    assert len(result.receipts[0].outcome.text) == 10_000
    assert repr(result) == (
        f"LoopResult(text='{'y' * 79}, status='done', iterations=2, "
        "transcript=Transcript(session_id='s', agent_id=None, messages=4, pending=0, turn=2), receipts=1, "
        f"usage={result.usage!r}, undelivered=0, error=None)"
    )
