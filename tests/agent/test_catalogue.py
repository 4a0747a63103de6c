"""Every event of the catalogue is raised in some scene, in this order, with the documented payload keys."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import tidings as td
from tests.agent.recorder import Recorder, bounded
from tests.agent.test_loop import until
from tidings.agent.events import EVENTS
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.port import Answer, ModelError, Usage
from tidings.agent.tools.approval import Reply

Scene = Callable[[Recorder, Path], None]

BEGIN = ["session_start", "user_prompt_submit"]
ASKED = ["pre_agent_turn", "post_turn"]
LEFT = ["pre_drain", "post_drain", "session_end"]
FINISHED = ["post_agent_turn", "pre_finish", "post_finish", *LEFT]


@td.tool(read_only=True)
def look() -> str:
    """Look around."""
    return "nothing new"


async def yes(request: object) -> Reply:
    return Reply(allowed=True)


def options(recorder: Recorder, *steps: object, **more: object) -> dict[str, object]:
    return {
        "model": ScriptedModel(steps or ["done"]),
        "registry": recorder.registry,
        "reminders": False,
        **more,
    }


def child_of(parent: td.Session, *steps: object, **more: object) -> td.Session:
    """Run a child to its end before the parent's loop begins."""
    quiet = Recorder()
    child = td.Session()
    try:
        bounded(td.spawn(parent, "help", options(quiet, *steps, **more), session=child))
    except td.CallerError:
        assert steps == ("never",)
    return child


def a_task_with_a_tool(recorder: Recorder, _: Path) -> None:
    bounded(td.agent_loop("w", **options(recorder, call("look"), "done", tools=[look])))


def a_reminder_that_waits(recorder: Recorder, _: Path) -> None:
    session = td.Session()
    session.remind(body="news", ttl_turns=1)
    bounded(td.agent_loop("w", **options(recorder, session=session)))


def a_call_that_needs_approval(recorder: Recorder, folder: Path) -> None:
    written = call("write_file", path="a.txt", content="x")
    more = {"tools": td.workspace_tools(folder), "approval": td.Gate(ask=yes)}
    bounded(td.agent_loop("w", **options(recorder, written, "done", **more)))


def a_suspension_and_its_end(recorder: Recorder, _: Path) -> None:
    session = td.Session()
    model = [lambda body: session.suspend("lunch") or call("look"), "done"]
    bounded(td.agent_loop("w", **options(recorder, *model, tools=[look], session=session)))
    bounded(td.agent_loop(None, **options(recorder, session=session)))
    session.resume()
    bounded(td.agent_loop(None, **options(recorder, session=session)))


def a_model_that_fails_while_something_waits(recorder: Recorder, _: Path) -> None:
    session = td.Session()

    def fail(body: object) -> object:
        session.remind(body="too late")
        raise ModelError("overloaded")

    bounded(td.agent_loop("w", **options(recorder, fail, session=session)))


def a_window_that_fills_up(recorder: Recorder, _: Path) -> None:
    full = Answer(tool_calls=(call("look"),), usage=Usage(input_tokens=95), stop="tools")
    more = {"tools": [look], "context_window": 100, "compaction": td.Compaction(strategy="truncate")}
    bounded(td.agent_loop("w", **options(recorder, full, "done", **more)))


def a_daemon_that_hears_nothing(recorder: Recorder, _: Path) -> None:
    daemon = td.Daemon(max_idle_seconds=0, backoff=(0.001,))
    bounded(td.agent_loop("w", **options(recorder, daemon=daemon)))


def a_child_that_asks(recorder: Recorder, _: Path) -> None:
    @td.tool
    def act() -> str:
        """Act."""
        return "done"

    quiet, parent = Recorder(), td.Session("parent", agent_id="lead")
    child = options(quiet, call("act"), "helped", tools=[act], approval=td.Gate(ask=yes))
    more = {"tools": [td.spawn_tool(parent, lambda: child)], "approval": td.Gate([td.Rule("allow")])}
    asked = call("spawn_agent", task="help")
    bounded(td.agent_loop("w", **options(recorder, asked, "done", session=parent, **more)))


def children_that_end_in_every_way(recorder: Recorder, _: Path) -> None:
    parent = td.Session("parent")
    child_of(parent, "done")
    child_of(parent, call("look"), tools=[look], max_iterations=1)
    child_of(parent, ModelError("overloaded"))
    child_of(parent, "never", max_iterations=0)
    asleep = td.Session()
    asleep.suspend("lunch")
    bounded(td.spawn(parent, "help", options(Recorder()), session=asleep))
    asleep.resume()
    bounded(td.spawn(parent, None, options(Recorder()), session=asleep))
    stopped = td.Session()
    stopped.cancel()
    bounded(td.spawn(parent, "help", options(Recorder()), session=stopped))
    bounded(td.agent_loop("w", **options(recorder, session=parent)))


def a_child_that_outlives_the_loop(recorder: Recorder, _: Path) -> None:
    parent = td.Session("parent")

    async def play() -> None:
        never = asyncio.Event()

        class Silent(ScriptedModel):
            async def answer(self, body, tools=(), on_text=None):
                await never.wait()

        quiet = {**options(Recorder()), "model": Silent(["x"])}
        child = asyncio.create_task(td.spawn(parent, "help", quiet, agent_id="slow"))
        await until(lambda: parent.children)
        await td.agent_loop("w", **options(recorder, session=parent))
        child.cancel()
        await asyncio.wait({child})
        await td.agent_loop(None, **options(recorder, session=parent))

    bounded(play())


SPAWNED = ["on_handoff_emitted", "worker_spawned"]
STEPPED = ["pre_step", "pre_tool_use", "post_tool_use", "post_step", "post_agent_turn"]
PLAIN = [*BEGIN, *ASKED, *FINISHED]
AGAIN = ["session_start", *ASKED, *FINISHED]

SCENES: dict[Scene, list[str]] = {
    a_task_with_a_tool: [*BEGIN, *ASKED, *STEPPED, *ASKED, *FINISHED],
    a_reminder_that_waits: [*BEGIN, "loop_checkpoint", *ASKED, *FINISHED],
    a_call_that_needs_approval: [
        *BEGIN, *ASKED, "pre_step", "pre_tool_use",
        "permission_asked", "on_approval_requested", "permission_replied",
        "post_tool_use", "post_step", "file_edited", "post_agent_turn", *ASKED, *FINISHED,
    ],
    a_suspension_and_its_end: [
        *BEGIN, *ASKED, *STEPPED, "pre_suspend", "post_suspend", "on_persona_paused", *LEFT,
        "session_start", *LEFT,
        "pre_resume", "post_resume", "on_persona_resumed", "worker_resumed", *AGAIN,
    ],
    a_model_that_fails_while_something_waits: [
        *BEGIN, "pre_agent_turn", "session_error",
        "on_unsettled_detected", "pre_drain", "on_drain_decision", "post_drain", "session_end",
    ],
    a_window_that_fills_up: [
        *BEGIN, *ASKED, *STEPPED, "on_budget_threshold", "pre_compact", "post_compact", *ASKED, *FINISHED,
    ],
    a_daemon_that_hears_nothing: [
        *BEGIN, *ASKED, "post_agent_turn", "pre_finish", "session_idle", "post_finish", *LEFT,
    ],
    a_child_that_asks: [
        *BEGIN, *ASKED, "pre_step", "pre_tool_use", "worker_spawned", "worker_waiting_for_input",
        "worker_progressed", "worker_progressed", "worker_completed",
        "post_tool_use", "post_step", "on_handoff_emitted", "post_agent_turn", *ASKED, *FINISHED,
    ],
    children_that_end_in_every_way: [
        *SPAWNED, "worker_completed", *SPAWNED, "worker_stopped", *SPAWNED, "worker_failed",
        *SPAWNED, "worker_failed", *SPAWNED, "worker_suspended", "worker_resumed", "worker_completed",
        *SPAWNED, "worker_cancelled", *PLAIN,
    ],
    a_child_that_outlives_the_loop: [
        *SPAWNED, *BEGIN, *ASKED, "post_agent_turn", "pre_finish", "post_finish",
        "on_unsettled_detected", "pre_drain", "on_drain_decision", "post_drain", "session_end",
        "worker_cancelled", *AGAIN,
    ],
}  # fmt: skip
"""What happens, and what the hooks hear of it."""


def name_of(scene: object) -> str:
    return getattr(scene, "__name__", "")


@pytest.mark.parametrize(("scene", "expected"), SCENES.items(), ids=name_of)
def test_the_hooks_of_a_scene_hear_exactly_this(scene: Scene, expected: list[str], tmp_path: Path) -> None:
    recorder = Recorder()
    scene(recorder, tmp_path)
    assert recorder.names == expected
    documented = {name: set(EVENTS[name].payload) for name in expected}
    assert {name: set(payload) for name, payload in recorder.heard} == documented


def test_every_event_of_the_catalogue_is_raised_in_some_scene() -> None:
    assert {name for expected in SCENES.values() for name in expected} == EVENTS.keys()
