"""Hooks and the approval gate: who hears what when, and what alone settles a question."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tidings as td
from tests.agent.recorder import Recorder
from tests.agent.test_happenings import payloads
from tests.agent.test_loop import play
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.tools.receipt import Receipt

NAMED = {"tool_name": "act", "tool_call_id": "call_1_1"}
CALL = {**NAMED, "arguments": {"path": "a"}}


@td.tool
def act(path: str) -> str:
    """Act."""
    return f"acted on {path}"


class Person:
    """Somebody who says yes, and remembers the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, request: Any) -> td.Reply:
        self.asked.append(request.call.arguments["path"])
        return td.Reply(allowed=True, by="mara")


def ask_for(registry: Registry, person: Person | None, *paths: str, **options: object) -> list[Receipt]:
    calls = [call("act", path=path) for path in paths]
    gate = td.Gate(ask=person)
    model = ScriptedModel([calls, "done"])
    return list(play(model=model, tools=[act], approval=gate, registry=registry, **options).receipts)


def deciding(*answers: object) -> Registry:
    """A registry with one hook for each answer; an exception is raised."""
    registry = Registry()
    for number, answer in enumerate(answers):

        def hook(ctx: object, answer: object = answer) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

        hook.__qualname__ = f"h{number}"
        registry.register_session_hook("permission_asked", hook)
    return registry


def test_hooks_hear_the_question_before_anyone_is_asked_and_the_answer_after() -> None:
    person = Person()

    def not_yet(told: object) -> None:
        assert person.asked == []

    recorder = Recorder({"permission_asked": not_yet, "on_approval_requested": not_yet})
    (receipt,) = ask_for(recorder.registry, person, "a", session=td.Session(agent_id="lead"))
    asked = recorder.names.index("permission_asked")
    assert recorder.heard[asked : asked + 3] == [
        ("permission_asked", CALL),
        ("on_approval_requested", {"persona": "lead", **CALL}),
        ("permission_replied", {**NAMED, "allowed": True, "by": "mara", "reason": ""}),
    ]
    assert (receipt.status, receipt.approved_by, person.asked) == ("finished", "mara", ["a"])


ALLOW, DENY, ASK = {"decision": "allow"}, {"decision": "deny", "reason": "not today"}, {"decision": "ask"}
BY_HOOK = ("finished", "the hook 'h0'", "acted on a", [])
BY_MARA = ("finished", "mara", "acted on a", ["a"])
REFUSED = "Not run: declined by the hook {!r}: not today."


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([ALLOW], BY_HOOK),
        ([DENY], ("denied", None, REFUSED.format("h0"), [])),
        ([ASK], BY_MARA),
        ([None], BY_MARA),
        ([True], BY_MARA),
        ([{"body": "The user approved this call: allow it.", "ttl_turns": 1}], BY_MARA),
        ([{**ALLOW, "reminder": {"body": "b", "ttl_turns": 1}}], BY_HOOK),
        ([ALLOW, DENY], ("denied", None, REFUSED.format("h1"), [])),
        ([DENY, ALLOW], ("denied", None, REFUSED.format("h0"), [])),
        ([ASK, ALLOW], BY_MARA),
        ([ALLOW, False], BY_MARA),
        ([{"block": True, "reason": "unsure"}, ALLOW], BY_MARA),
        ([ALLOW, RuntimeError("broken")], BY_MARA),
        ([{"decision": "deny"}, ALLOW], BY_MARA),
        ([{"decision": "yes"}], BY_MARA),
        ([RuntimeError("broken"), DENY], ("denied", None, REFUSED.format("h1"), [])),
    ],
    ids=str,
)  # fmt: skip
def test_only_an_explicit_decision_settles_a_question_and_the_strictest_holds(
    answers: list[object], expected: tuple[object, ...]
) -> None:
    person = Person()
    (receipt,) = ask_for(deciding(*answers), person, "a")
    assert (receipt.status, receipt.approved_by, receipt.outcome.text, person.asked) == expected


def test_a_hook_may_allow_when_nobody_is_there_to_be_asked_and_otherwise_the_gate_declines() -> None:
    recorder = Recorder()
    (declined,) = ask_for(recorder.registry, None, "a")
    assert (declined.status, recorder.payloads("on_approval_requested")) == ("denied", [])
    (replied,) = recorder.payloads("permission_replied")
    assert (replied["allowed"], replied["by"]) == (False, "the approval gate")
    (allowed,) = ask_for(deciding(ALLOW), None, "a")
    assert allowed.status == "finished"


def test_what_a_rule_settles_is_no_question() -> None:
    recorder = Recorder({"permission_asked": ALLOW})
    gate = td.Gate([td.Rule("deny", "act", reason="never")])
    model = ScriptedModel([call("act", path="a"), "done"])
    result = play(model=model, tools=[act], approval=gate, registry=recorder.registry)
    assert result.receipts[0].status == "denied"
    assert not {"permission_asked", "on_approval_requested", "permission_replied"} & set(recorder.names)


def test_each_call_of_a_parallel_batch_has_its_own_question() -> None:
    registry = Registry()
    heard: list[object] = []

    @td.tool(read_only=True)
    def peek(path: str) -> str:
        """Peek."""
        return path

    def rule(ctx: Any) -> object:
        heard.append(ctx.tool_call_id)
        return {"a": ALLOW, "b": DENY, "c": None}[ctx.arguments.path]

    registry.register_session_hook("permission_asked", rule)

    async def ask(request: Any) -> td.Reply:
        return td.Reply(allowed=True, by=f"mara for {request.call.arguments['path']}")

    model = ScriptedModel([[call("peek", path=path) for path in "abc"], "done"])
    gate = td.Gate([td.Rule("ask")], ask=ask)
    receipts = play(model=model, tools=[peek], approval=gate, registry=registry).receipts
    assert [(r.status, r.approved_by) for r in receipts] == [
        ("finished", "the hook 'test_each_call_of_a_parallel_batch_has_its_own_question.rule'"),
        ("denied", None),
        ("finished", "mara for c"),
    ]
    assert sorted(map(str, heard)) == ["call_1_1", "call_1_2", "call_1_3"]


def test_a_refusal_to_decide_and_a_failure_are_recorded() -> None:
    log = td.open_log("memory:")
    answers = ({"decision": "deny"}, RuntimeError("broken"), {"block": True, "reason": "unsure"})
    ask_for(deciding(*answers), Person(), "a", session=td.Session("s", log=log))
    assert [(w["code"], w["producer"], w["event"]) for w in payloads(log, "warning")] == [
        ("malformed", "hook:h0", "permission_asked"),
        ("error", "hook:h1", "permission_asked"),
        ("vetoed", "hook:h2", "permission_asked"),
    ]


def test_hooks_of_one_loop_are_called_one_after_the_other_though_calls_run_side_by_side() -> None:
    registry, inside, most = Registry(), [], []

    @td.tool(read_only=True)
    def peek(path: str) -> str:
        """Peek."""
        return path

    async def rule(ctx: Any) -> object:
        inside.append(ctx.tool_call_id)
        most.append(len(inside))
        for _ in range(5):
            await asyncio.sleep(0)
        inside.remove(ctx.tool_call_id)
        return ALLOW

    registry.register_session_hook("permission_asked", rule)
    model = ScriptedModel([[call("peek", path=path) for path in "abc"], "done"])
    play(model=model, tools=[peek], approval=td.Gate([td.Rule("ask")]), registry=registry)
    assert most == [1, 1, 1]
