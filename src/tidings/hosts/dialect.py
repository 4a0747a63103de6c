"""The hook dialect that Claude Code and Codex share: common fields in, `hookSpecificOutput` out. Pure.

Their modules bring the tables; what is the same in both is here, once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.reminder import Payload
from tidings.hosts.fields import LONGEST_PATH, Fields
from tidings.hosts.happening import NEUTRAL, Delivery, Event, Happening, Host, Odd
from tidings.hosts.writes import written


def read(
    host: Host,
    payload: Mapping[str, object],
    events: Mapping[str, Event],
    variants: Mapping[tuple[str, str], Event] | None = None,
) -> Happening | Odd:
    """The event of a hook payload; `variants` are events that their `source` makes another one."""
    fields = Fields(payload)
    heading = fields.heading(host)
    if isinstance(heading, Odd):
        return heading
    name, session_id = heading
    event = (variants or {}).get((name, fields.text("source") or "")) or fields.event(name, events)
    calls = fields.each("tool_calls", "tool_use_id", "id")
    single = fields.text("tool_use_id")
    return Happening(
        host=host,
        name=name,
        session_id=session_id,
        event=event,
        agent_id=fields.text("agent_id"),
        workspace=fields.folder("cwd"),
        calls=calls or (() if single is None else (single,)),
        batch=calls[0] if calls else None,
        continued=fields.flag("stop_hook_active"),
        transcript=fields.text("transcript_path", LONGEST_PATH),
        wrote=written(host, payload),
        odd=tuple(fields.odd),
    )


def added(happening: Happening, delivery: Delivery) -> Payload:
    """An answer that adds context and refuses the call, as far as `delivery` wants that."""
    output: Payload = {"hookEventName": happening.name}
    if delivery.decline:
        output |= {"permissionDecision": "deny", "permissionDecisionReason": delivery.decline}
    if delivery.text:
        output["additionalContext"] = delivery.text
    return {"hookSpecificOutput": output} if len(output) > 1 else NEUTRAL
