"""Sub-agents: a child session with its own loop, and what goes down and comes back.

The child inherits the parent's reminders before its first turn (`handoff`, `receive_handoff`); the parent
hears how it goes on through worker events. `spawn_tool` gives the model the same as a tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from tidings.agent.loop import agent_loop
from tidings.agent.port import Outcome
from tidings.agent.result import LoopResult
from tidings.agent.session import Session
from tidings.agent.tools.function import as_tool
from tidings.agent.tools.tool import Emit, Tool, ignore_event
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.shell.ids import new_id
from tidings.shell.transforms import receive_handoff

MAX_DEPTH = 8
"""How many generations of sub-agents there may be."""

_depth: ContextVar[int] = ContextVar("tidings_generation", default=0)
ENDINGS: dict[str, str] = {
    "done": "worker_completed",
    "idle": "worker_completed",
    "failed": "worker_failed",
    "cancelled": "worker_cancelled",
    "suspended": "worker_suspended",
}
"""What the parent hears of a child's status; of any other, that it stopped without being done."""
PASSING = ("worker_progressed", "worker_waiting_for_input")
"""Reports that mean nothing later: only a running parent is told, and the log is not."""


async def spawn(
    parent: Session,
    task: str | None,
    options: Mapping[str, object],
    *,
    agent_id: str | None = None,
    session: Session | None = None,
) -> LoopResult:
    """Run `task` in a child session of `parent`; `options` are those of `agent_loop`.

    The child writes to the parent's log. Inherited reminders are in it before its first turn. `session`
    goes on with a child that was suspended; it inherited already.
    """
    name = agent_id or (session.agent_id if session else None) or _name_under(parent)
    depth = _depth.get() + 1
    if depth > MAX_DEPTH:
        raise CallerError(f"sub-agent {name!r} would be more than {MAX_DEPTH} generations deep")
    log = parent.journal.log if parent.journal is not None else None
    child = session or Session(agent_id=name, log=log)
    tell = partial(_tell, parent, {"agent_id": name, "session_id": child.id, "task": task or ""})
    if child.stored.resumption is None:
        tell("on_handoff_emitted", {"reminders": _hand_down(parent, child, name)})
        tell("worker_spawned", {})
    generation = _depth.set(depth)
    try:
        with _counted(parent, name), _reporting(child, tell):
            result = await agent_loop(task, session=child, **options)  # type: ignore[arg-type]
    except Exception as error:
        tell("worker_failed", {"status": "failed", "error": str(error)})
        raise
    except asyncio.CancelledError:
        tell("worker_cancelled", {"status": "cancelled", "error": None})
        raise
    finally:
        _depth.reset(generation)
    ending = ENDINGS.get(result.status, "worker_stopped")
    tell(ending, {"status": result.status, "error": result.error})
    return result


def _name_under(parent: Session) -> str:
    return f"{parent.agent_id or parent.id}/{new_id()[-6:]}"


def _hand_down(parent: Session, child: Session, name: str) -> int:
    with child.step():
        seeded = receive_handoff(child.transcript, parent.handoff(), sub_agent_id=name)
        child.keep(seeded.transcript)
    return seeded.inherited_count


def _tell(parent: Session, about: Payload, event: str, more: Payload) -> None:
    """Tell the parent of its child: at once if its loop runs, else when it does."""
    kept = event not in PASSING
    if kept or parent.running:
        parent.emit_later(event, {**about, **more}, kept=kept)


@contextmanager
def _counted(parent: Session, name: str) -> Iterator[None]:
    """Count the child among those of its parent that run."""
    with parent.step():
        parent.children += (name,)
    try:
        yield
    finally:
        with parent.step():
            at = parent.children.index(name)
            parent.children = parent.children[:at] + parent.children[at + 1 :]


@contextmanager
def _reporting(child: Session, tell: Emit) -> Iterator[None]:
    """Let the child's loop report to its parent."""
    child.report = tell
    try:
        yield
    finally:
        child.report = ignore_event


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
