"""Sub-agents: what they inherit before their first turn, and what their parent hears."""

from __future__ import annotations

import asyncio
import json

import tidings as td
from tests.agent.test_loop import play, requests_with
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.subagents import spawn, spawn_tool
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.rules import Rule


def reminded(session: Session, **reminders: str) -> None:
    with session.step():
        for body, propagate in reminders.items():
            done = td.inject_reminder(session.transcript, body=body, propagate=propagate, ttl_turns=9)
            session.keep(done.transcript)


def options(model: ScriptedModel, **more: object) -> dict[str, object]:
    return {"model": model, "registry": Registry(), "reminders": False, **more}


def run(work):
    async def bounded():
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


def test_a_child_sees_what_propagates_in_its_first_request() -> None:
    log = td.open_log("memory:")
    parent = Session("parent", agent_id="boss", log=log)
    reminded(parent, everywhere="all", children="session", mine="none")
    model = ScriptedModel(["child done"])
    result = run(spawn(parent, "help", options(model), agent_id="helper"))
    assert result.text == "child done"
    first = json.dumps(model.requests[0])
    assert [word in first for word in ("everywhere", "children", "mine")] == [True, True, False]
    assert {r.originating_agent_id for r in result.transcript.pending} == {"boss"}
    events = [one.event for one in parent.stored.events]
    assert events == ["on_handoff_emitted", "worker_spawned", "worker_completed"]


def test_grandchildren_inherit_only_what_goes_to_all() -> None:
    parent = Session("parent", agent_id="boss")
    reminded(parent, everywhere="all", children="session")
    grandchild = ScriptedModel(["deep"])
    child_session: list[Session] = []

    async def chain():
        child = Session("child", agent_id="child")
        with child.step():
            child.keep(
                td.receive_handoff(child.transcript, parent.handoff(), sub_agent_id="child").transcript
            )
        child_session.append(child)
        await spawn(child, "deeper", options(grandchild))

    run(chain())
    assert requests_with(grandchild, "everywhere") == [1]
    assert requests_with(grandchild, "children") == []


def test_the_model_can_spawn_with_a_tool_and_gets_the_answer_as_its_result() -> None:
    parent = Session("parent")
    child = ScriptedModel(["42"])
    spawner = spawn_tool(parent, lambda: options(child))
    model = ScriptedModel([call("spawn_agent", task="compute"), "the answer is 42"])
    gate = Gate([Rule(action="allow", tool="spawn_agent")])
    result = play(model=model, tools=[spawner], session=parent, approval=gate)
    assert result.text == "the answer is 42"
    assert [m["content"] for m in result.transcript.messages if m["role"] == "tool"] == ["42"]


def test_sub_agents_cannot_spawn_each_other_without_end() -> None:
    parent = Session("parent")
    gate = Gate([Rule(action="allow")])

    def deeper() -> dict[str, object]:
        model = ScriptedModel([call("spawn_agent", task="again"), lambda body: str(body["messages"][-1])])
        return options(model, tools=[spawn_tool(parent, deeper)], approval=gate)

    result = run(spawn(parent, "begin", deeper()))
    assert "more than 8 generations deep" in result.text
