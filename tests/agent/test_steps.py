"""Steps: the loop's batches of tools and a user's own, and what hooks and providers make of them."""

from __future__ import annotations

import pytest

import tidings as td
from tests.agent.recorder import Recorder, bounded
from tests.agent.test_happenings import payloads
from tests.agent.test_loop import play, requests_with
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.tools.tool import ToolError

FAILED = {
    "command": "pytest -q",
    "exit_code": 1,
    "stdout": "FAILED tests/test_login.py::test_a - assert 1 == 2",
}
FINDING = "Verified problems, quoted from tool output"


@td.tool(read_only=True)
def look(place: str = "here") -> str:
    """Look around."""
    if place == "nowhere":
        raise ToolError("no such place")
    return "nothing new"


def test_a_batch_of_tools_is_a_step_that_says_which_calls_succeeded() -> None:
    recorder = Recorder()
    calls = [call("look"), call("look", place="nowhere")]
    play(model=ScriptedModel([calls, "done"]), tools=[look], registry=recorder.registry)
    before = {"step": "tools", "iteration": 1, "tools": ["look", "look"]}
    assert recorder.payloads("pre_step") == [before]
    assert recorder.payloads("post_step") == [
        {**before, "succeeded": [True, False], "result": None, "error": None}
    ]


def test_a_batch_that_an_interrupt_skips_is_no_step() -> None:
    recorder, session = Recorder(), td.Session()
    news = {"body": "stop", "mode": "interrupt_immediate", "ttl_turns": 1}
    model = ScriptedModel([lambda body: session.remind(news) and call("look"), "done"])
    play(model=model, tools=[look], session=session, registry=recorder.registry)
    assert recorder.payloads("pre_step") + recorder.payloads("post_step") == []


def test_a_tools_failure_is_reviewed_once_and_not_again_with_its_step() -> None:
    log = td.open_log("memory:")
    model = ScriptedModel([call("look", place="nowhere"), "done"])
    play(model=model, tools=[look], session=td.Session("s", log=log), reminders=None)
    asked = [p for p in payloads(log, "provider_evaluated") if p["provider_id"] == "grounded_review"]
    assert [(p["event"], p["fired"]) for p in asked] == [
        ("post_tool_use", True),
        ("post_step", False),
        ("post_agent_turn", False),
        ("post_agent_turn", False),
    ]
    assert str(model.requests[1]).count(FINDING) == 1


def test_a_step_of_ones_own_gives_its_result_and_tells_hooks_before_and_after() -> None:
    recorder, session = Recorder(), td.Session()

    async def check(number: int, words: str) -> dict[str, object]:
        return {"number": number, "words": words}

    given = bounded(td.run_step("check", check, 3, "x", session=session, registry=recorder.registry))
    assert given == {"number": 3, "words": "x"}
    about = {"step": "check", "iteration": None, "tools": []}
    assert recorder.heard == [
        ("pre_step", about),
        ("post_step", {**about, "succeeded": [], "result": given, "error": None}),
    ]


def test_a_step_that_raises_is_told_and_raises() -> None:
    recorder = Recorder()

    def check() -> None:
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError, match="no compiler"):
        bounded(td.run_step("check", check, session=td.Session(), registry=recorder.registry))
    assert recorder.heard[1][1]["error"] == "RuntimeError: no compiler"


def test_reminders_of_step_hooks_and_providers_are_in_the_next_request() -> None:
    registry, session = Registry(), td.Session()
    registry.register_step_hook(
        "post_step", lambda ctx: {"body": "Checked.", "ttl_turns": 1}, pattern="ch*"
    )
    bounded(td.run_step("check", lambda: FAILED, session=session, registry=registry))
    bounded(td.run_step("other", lambda: None, session=session, registry=registry))
    assert [(r.source, r.body.split("\n")[0][: len(FINDING)]) for r in session.transcript.pending] == [
        ("hook", "Checked."),
        ("stdlib_provider", FINDING),
    ]
    model = ScriptedModel(["done"])
    play(model=model, session=session)
    assert requests_with(model, "test_login.py::test_a") == [1]


def test_providers_of_a_step_can_be_switched_off() -> None:
    session = td.Session()
    bounded(td.run_step("check", lambda: FAILED, session=session, registry=Registry(), reminders=False))
    assert session.transcript.pending == []


def test_a_step_without_a_name_is_refused() -> None:
    with pytest.raises(td.CallerError, match="`name` must not be blank; got ' '"):
        bounded(td.run_step(" ", lambda: None, session=td.Session()))
