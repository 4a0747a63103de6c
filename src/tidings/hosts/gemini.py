"""Gemini CLI: its hook events as a table, and the answers that it reads. Pure.

BeforeModel is the true start of an iteration: what is added there is in this request only, so a ttl is
kept honestly. The hook gets the whole conversation; the command that calls us keeps it back and adds our
message to it. A reason at AfterAgent becomes a message in the user's place, so it says who speaks.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.reminder import Payload
from tidings.hosts.fields import LONGEST_PATH, Fields
from tidings.hosts.happening import NEUTRAL, Delivery, Event, Happening, Odd
from tidings.hosts.voice import GO_ON
from tidings.hosts.writes import written

EVENTS: dict[str, Event] = {
    "SessionStart": Event(phase="starts"),
    "BeforeAgent": Event(phase="prompted"),
    "BeforeModel": Event(seam="iteration_start", carries=True, asks=True, requests=True),
    "BeforeTool": Event(seam="pre_tool_dispatch", declines=True, answered=True),
    "AfterTool": Event(answered=True),
    "AfterAgent": Event(seam="iteration_end", goes_on=True, answered=True),
    "SessionEnd": Event(seam="loop_exit", phase="ends"),
    **dict.fromkeys(("AfterModel", "BeforeToolSelection", "PreCompress", "Notification"), Event()),
}
"""Every event that this host has."""

CHILD_ID = "sub-agent"
CHILD_REQUEST = Event(phase="child_starts", carries=True, requests=True)
"""A request of a sub-agent: the only event that can be told from one of the session's own."""

_OWN = "<session_context>"
"""How the first message of a session begins; a sub-agent's is its prompt."""


def read(payload: Mapping[str, object]) -> Happening | Odd:
    """What a hook payload says."""
    fields = Fields(payload)
    heading = fields.heading("gemini")
    if isinstance(heading, Odd):
        return heading
    name, session_id = heading
    child = name == "BeforeModel" and _is_child(fields.within("llm_request"))
    return Happening(
        host="gemini",
        name=name,
        session_id=session_id,
        event=CHILD_REQUEST if child else fields.event(name, EVENTS),
        agent_id=CHILD_ID if child else None,
        workspace=fields.folder("cwd"),
        continued=fields.flag("stop_hook_active"),
        transcript=fields.text("transcript_path", LONGEST_PATH),
        wrote=written("gemini", payload),
        odd=tuple(fields.odd),
    )


def answer(happening: Happening, delivery: Delivery) -> Payload:
    """What the hook answers."""
    if delivery.decline:
        return {"decision": "deny", "reason": delivery.decline}
    if delivery.go_on:
        return {"decision": "deny", "reason": GO_ON}
    if not delivery.text:
        return NEUTRAL
    message: Payload = {"role": "user", "content": delivery.text}
    output = {"hookEventName": happening.name, "llm_request": {"messages": [message]}}
    return {"hookSpecificOutput": output}


def completed(answered: Payload, payload: Mapping[str, object]) -> Payload:
    """An answer to BeforeModel with the conversation before our message; others as they are."""
    output = _object(answered.get("hookSpecificOutput"))
    request, asked = _object(output.get("llm_request")), _object(payload.get("llm_request"))
    before, ours = asked.get("messages"), request.get("messages")
    if not isinstance(before, list) or not isinstance(ours, list):
        return answered
    whole = {**output, "llm_request": {**asked, "messages": [*before, *ours]}}
    return {**answered, "hookSpecificOutput": whole}


def _is_child(request: Mapping[str, object]) -> bool:
    messages = request.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    content = first.get("content") if isinstance(first, Mapping) else None
    return isinstance(content, str) and not content.startswith(_OWN)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
