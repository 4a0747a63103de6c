"""opencode: the events that our plugin reports, and the answers that it acts on. Pure.

The plugin is ours, so the payload is too: `hook_event_name` is opencode's own name of the hook or event,
`session_id` the outermost session, `agent_id` the child session if it is one; `cannot_go_on` says
that the process ends with the turn. The answer is the delivery itself: text to add, a reason to throw.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.reminder import Payload
from tidings.hosts.fields import Fields
from tidings.hosts.happening import PUSH, PUSHING, WAKE, WAKING, Delivery, Event, Happening, Odd
from tidings.hosts.writes import written

EVENTS: dict[str, Event] = {
    "session.created": Event(phase="starts"),
    "chat.message": Event(seam="iteration_start", phase="prompted", carries=True, asks=True),
    "chat.params": Event(asks=True, requests=True),
    "tool.execute.before": Event(seam="pre_tool_dispatch", carries=True, declines=True, answered=True),
    "tool.execute.after": Event(seam="post_tool_dispatch", carries=True, asks=True),
    "session.idle": Event(seam="iteration_end", carries=True, goes_on=True, answered=True),
    "session.compacted": Event(phase="compacted"),
    "session.deleted": Event(seam="loop_exit", phase="ends"),
    "dispose": Event(seam="loop_exit", phase="ends"),
    WAKE: WAKING,
    PUSH: PUSHING,
}
"""Every event that the plugin reports."""

CHILD: dict[str, Event] = {
    "chat.message": Event(phase="child_starts", carries=True),
    "session.deleted": Event(phase="child_ends"),
}
"""What they mean in a child session; the others mean nothing there."""


def read(payload: Mapping[str, object]) -> Happening | Odd:
    """What the plugin's payload says."""
    fields = Fields(payload)
    heading = fields.heading("opencode")
    if isinstance(heading, Odd):
        return heading
    name, session_id = heading
    agent_id, call = fields.text("agent_id"), fields.text("call_id")
    event = fields.event(name, EVENTS)
    return Happening(
        host="opencode",
        name=name,
        session_id=session_id,
        event=event if agent_id is None else CHILD.get(name, Event()),
        agent_id=agent_id,
        workspace=fields.folder("cwd"),
        calls=() if call is None else (call,),
        continued=fields.flag("cannot_go_on"),
        wrote=written("opencode", payload),
        odd=tuple(fields.odd),
    )


def answer(happening: Happening, delivery: Delivery) -> Payload:  # noqa: ARG001  the same for every event
    """What the plugin is told."""
    told: Payload = {"text": delivery.text, "decline": delivery.decline}
    return {name: value for name, value in told.items() if value}
