"""The end of a run: what is unsettled is said, the mailbox's last seam is passed, the session ends.

    post_finish → on_unsettled_detected → pre_drain → loop_exit
        → on_drain_decision → post_drain → session_end

Nothing here makes the loop go on: what is left waits in the mailbox, in the log, for the next one.
"""

from __future__ import annotations

from tidings.agent.result import Status
from tidings.agent.run import Run
from tidings.core.reminder import Payload

FINISHED: tuple[Status, ...] = ("done", "idle")
"""How a loop ends that has nothing more to do."""


async def leave(run: Run, status: Status) -> None:
    """Raise the events of the end around the `loop_exit` drain."""
    happen = run.happenings.happen
    if status in FINISHED:
        told = {"status": status, "text": run.text, "iteration": run.iteration}
        await happen("post_finish", told)
    about: Payload = {"status": status, "iteration": run.iteration}
    await _unsettled(run, about)
    held = await happen("pre_drain", {**about, "queued": _queued(run)})
    delivered = len(await run.checkpoint("loop_exit")) if held is None else await _without_drain(run)
    await _left(run, held)
    await happen("post_drain", {**about, "delivered": delivered, "left": len(_queued(run))})
    await happen("session_end", {"status": status, "iterations": run.iteration})


def _queued(run: Run) -> list[str]:
    return [item.id for item in run.session.stored.mailbox.items]


async def _unsettled(run: Run, about: Payload) -> None:
    """Say what nobody will settle in this run: items that came too late, children that still work."""
    items = run.session.stored.mailbox.items
    late = [item.id for item in items if item.mode != "audit_only"]
    children = sorted(run.session.children)
    if late or children:
        told = {**about, "queued": late, "children": children}
        await run.happenings.happen("on_unsettled_detected", told)


async def _without_drain(run: Run) -> int:
    """A hook keeps the mailbox as it is; events are told all the same."""
    await run.happenings.handle(run.session.stored.events)
    return 0


async def _left(run: Run, held: str | None) -> None:
    """Say what becomes of the rest: items stay queued, children go on."""
    why = "no seam of this run came after them" if held is None else f"a hook kept them: {held}"
    for decision, ids, reason in (
        ("left_queued", _queued(run), why),
        ("left_running", sorted(run.session.children), "the loop ends before its children do"),
    ):
        if ids:
            told = {"decision": decision, "reason": reason, "ids": ids, "iteration": run.iteration}
            await run.happenings.happen("on_drain_decision", told)
