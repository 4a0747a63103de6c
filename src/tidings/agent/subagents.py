"""Sub-agents: a child session with its own loop, and what goes down and comes back.

The child inherits the parent's reminders before its first turn (`handoff`, `receive_handoff`); the parent
hears how it ended through worker events. `spawn_tool` gives the model the same as a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar

from tidings.agent.loop import agent_loop
from tidings.agent.port import Outcome
from tidings.agent.result import LoopResult
from tidings.agent.session import Session
from tidings.agent.tools.function import as_tool
from tidings.agent.tools.tool import Tool
from tidings.errors import CallerError
from tidings.shell.ids import new_id
from tidings.shell.transforms import receive_handoff

MAX_DEPTH = 8
"""How many generations of sub-agents there may be."""

_depth: ContextVar[int] = ContextVar("tidings_generation", default=0)
_EVENT_OF = {"done": "worker_completed", "cancelled": "worker_cancelled", "suspended": "worker_suspended"}


async def spawn(
    parent: Session, task: str, options: Mapping[str, object], *, agent_id: str | None = None
) -> LoopResult:
    """Run `task` in a child session of `parent`; `options` are those of `agent_loop`.

    The child writes to the parent's log. Inherited reminders are in it before its first turn.
    """
    name = agent_id or f"{parent.agent_id or parent.id}/{new_id()[-6:]}"
    depth = _depth.get() + 1
    if depth > MAX_DEPTH:
        raise CallerError(f"sub-agent {name!r} would be more than {MAX_DEPTH} generations deep")
    log = parent.journal.log if parent.journal is not None else None
    child = Session(agent_id=name, log=log)
    with child.step():
        seeded = receive_handoff(child.transcript, parent.handoff(), sub_agent_id=name)
        child.keep(seeded.transcript)
    told = {"agent_id": name, "session_id": child.id, "task": task}
    parent.emit("on_handoff_emitted", {**told, "reminders": seeded.inherited_count})
    parent.emit("worker_spawned", told)
    generation = _depth.set(depth)
    try:
        result = await agent_loop(task, session=child, **options)  # type: ignore[arg-type]
    except Exception as error:
        parent.emit("worker_failed", {**told, "status": "failed", "error": str(error)})
        raise
    finally:
        _depth.reset(generation)
    event = _EVENT_OF.get(result.status, "worker_failed")
    parent.emit(event, {**told, "status": result.status, "error": result.error})
    return result


def spawn_tool(parent: Session, options: Callable[[], Mapping[str, object]]) -> Tool:
    """A tool with which the model hands a task to a sub-agent; `options()` gives its loop's options."""

    async def spawn_agent(task: str) -> Outcome:
        """Hand a self-contained task to a sub-agent and wait for its answer.

        Args:
            task: What it should do, with everything it needs to know.
        """
        result = await spawn(parent, task, options())
        ok = result.status == "done"
        said = "\n\n".join(part for part in (result.text, result.error) if part)
        text = said or f"the sub-agent ended with status {result.status}"
        return Outcome(text=text, ok=ok, data={"status": result.status, "iterations": result.iterations})

    return as_tool(spawn_agent)
