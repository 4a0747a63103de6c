"""Sub-agents: what they inherit before their first turn, and what their parent hears."""

from __future__ import annotations

import asyncio
import json

import pytest

import tidings as td
from tests.agent.test_loop import play, requests_with, until
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, ModelError
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.subagents import spawn, spawn_tool
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.rules import Rule
from tidings.core.records import LIFECYCLE_TOPIC


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


CHILD = {"agent_id": "helper", "session_id": "child", "task": "help"}


def spawned(parent: Session, *steps: object, **more: object) -> Session:
    """A child of `parent`, run to its end."""
    child = Session("child")
    run(spawn(parent, "help", options(ScriptedModel(steps), **more), agent_id="helper", session=child))
    return child


def told(parent: Session) -> list[tuple[str, dict[str, object]]]:
    return [(one.event, one.payload) for one in parent.stored.events]


@pytest.mark.parametrize(
    ("steps", "more", "event", "status", "error"),
    [
        (["done"], {}, "worker_completed", "done", None),
        (["done"], {"daemon": td.Daemon(max_idle_seconds=0)}, "worker_completed", "idle", None),
        ([call("none")], {"max_iterations": 1}, "worker_stopped", "budget_exhausted", None),
        ([Answer(text="no", stop="refused")], {}, "worker_stopped", "blocked", None),
        ([ModelError("overloaded")], {}, "worker_failed", "failed", "overloaded"),
    ],
)
def test_the_parent_hears_how_a_child_ended(
    steps: list[object], more: dict[str, object], event: str, status: str, error: str | None
) -> None:
    parent = Session("parent")
    spawned(parent, *steps, **more)
    assert told(parent) == [
        ("on_handoff_emitted", {**CHILD, "reminders": 0}),
        ("worker_spawned", CHILD),
        (event, {**CHILD, "status": status, "error": error}),
    ]
    assert parent.children == ()


def test_a_suspended_child_goes_on_in_its_session_and_inherits_nothing_twice() -> None:
    parent = Session("parent", agent_id="boss")
    reminded(parent, everywhere="all")
    child = Session("child")
    child.suspend("lunch")
    spawning = {"agent_id": "helper", "session": child}
    assert run(spawn(parent, "help", options(ScriptedModel([])), **spawning)).status == "suspended"
    child.resume(cause="parent", input="go")
    assert run(spawn(parent, None, options(ScriptedModel(["done"])), **spawning)).status == "done"
    awake = {"reason": "lunch", "suspended_at_turn": 0, "digest": "", "cause": "parent", "input": "go"}
    again = {**CHILD, "task": ""}
    assert told(parent)[2:] == [
        ("worker_suspended", {**CHILD, "status": "suspended", "error": None}),
        ("worker_resumed", {**again, **awake, "continue_transcript": True}),
        ("worker_completed", {**again, "status": "done", "error": None}),
    ]
    assert [r.body for r in child.transcript.pending] == ["everywhere"]


def test_a_parent_hears_of_a_resumed_child_and_is_not_told_that_it_slept_itself() -> None:
    parent, child = Session("parent"), Session("child")
    child.suspend("lunch")
    child.resume()
    run(spawn(parent, None, options(ScriptedModel(["done"])), session=child))
    model = ScriptedModel(["done"])
    play(model=model, session=parent, reminders=None)
    assert requests_with(model, "This session was suspended") == []


def test_a_child_that_is_cancelled_from_outside_is_told_as_cancelled() -> None:
    parent = Session("parent")

    async def cancelled() -> None:
        class Silent(ScriptedModel):
            async def answer(self, body, tools=(), on_text=None):
                await asyncio.Event().wait()

        child = asyncio.create_task(spawn(parent, "help", options(Silent([])), session=Session("child")))
        await until(lambda: parent.children)
        child.cancel()
        await asyncio.wait({child})

    run(cancelled())
    assert [name for name, _ in told(parent)][2:] == ["worker_cancelled"]
    assert parent.children == ()


def test_a_running_parent_hears_its_child_while_it_works_and_cannot_remind_then() -> None:
    log = td.open_log("memory:")
    parent, order = Session("parent", log=log), []
    registry = Registry()
    events = ["worker_progressed", "worker_waiting_for_input", "worker_completed"]

    def hear(ctx):
        order.append((ctx.event, ctx.get("iteration"), ctx.get("tool_name"), ctx.task))
        return {"body": "never"} if ctx.event == "worker_completed" else None

    registry.register_worker_hook(events, hear, pattern="parent/*")

    async def ask(request):
        order.append("asked")
        return td.Reply(allowed=True)

    @td.tool
    def act() -> str:
        """Act."""
        order.append("acted")
        return "ok"

    child = options(ScriptedModel([call("act"), "helped"]), tools=[act], approval=Gate(ask=ask))
    model = ScriptedModel([call("spawn_agent", task="help"), lambda body: order.append("parent") or "done"])
    gate = Gate([Rule(action="allow")])
    tools = [spawn_tool(parent, lambda: child)]
    play(model=model, tools=tools, session=parent, approval=gate, registry=registry)
    waited = ("worker_waiting_for_input", None, "act", "help")
    assert sorted(map(str, order[:3])) == sorted(map(str, [waited, "asked", "acted"]))
    assert order[3:] == [
        ("worker_progressed", 1, None, "help"),
        ("worker_progressed", 2, None, "help"),
        ("worker_completed", None, None, "help"),
        "parent",
    ]
    warned = [r.payload["code"] for r in log.read(LIFECYCLE_TOPIC) if r.kind.endswith(".warning")]
    assert warned == ["HARN-RMD-008"]


def test_progress_is_not_kept_for_a_parent_that_does_not_run() -> None:
    log = td.open_log("memory:")
    spawned(Session("parent", log=log), call("none"), "done")
    kept = [one.event for one in Session("parent", log=log).stored.events]
    assert kept == ["on_handoff_emitted", "worker_spawned", "worker_completed"]


def test_a_child_session_that_goes_on_by_itself_reports_to_nobody() -> None:
    parent = Session("parent")
    child = spawned(parent, "done")
    child.suspend("lunch")
    child.resume()
    play(None, model=ScriptedModel(["done"]), session=child)
    assert [name for name, _ in told(parent)][2:] == ["worker_completed"]
