"""The hook events of the loop: a closed catalogue, as data, and the reader of their names.

`EVENTS` says for each event which family registers it, what its payload holds, whether what a hook
returns may carry reminders, what it may decide, and whether a reminder provider may subscribe to it.
Names are read in snake_case or PascalCase (seed 001 uses both) and kept in snake_case.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tidings.core.producers import shown
from tidings.errors import CallerError

Family: TypeAlias = Literal["tool", "turn", "step", "notification", "worker", "session"]
Verdict: TypeAlias = Literal["none", "veto", "arguments", "result", "decision"]

DECIDES: dict[Verdict, frozenset[str]] = {
    "none": frozenset(),
    "veto": frozenset(("block", "reason")),
    "arguments": frozenset(("block", "deny", "reason", "args", "modify")),
    "result": frozenset(("result", "output", "modify")),
    "decision": frozenset(("block", "decision", "reason")),
}
"""The keys with which a hook's result may decide about the event, beside its reminders."""

VETOES: frozenset[Verdict] = frozenset(("veto", "arguments", "decision"))
"""The verdicts that can stop what is about to happen."""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event: who registers for it, and what may come back."""

    name: str
    family: Family
    payload: tuple[str, ...] = ()
    verdict: Verdict = "none"
    reminders: bool = True
    provided: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def pascal(self) -> str:
        """Its name in PascalCase."""
        return pascal(self.name)

    @property
    def can_veto(self) -> bool:
        """Whether a hook may stop what is about to happen."""
        return self.verdict in VETOES


class UnknownEventError(CallerError):
    """An event name that the catalogue does not have, or that this registrar does not take."""


def pascal(name: str) -> str:
    """A snake_case name in PascalCase."""
    return "".join(word.capitalize() for word in name.split("_"))


_TABLE: tuple[tuple[Family, tuple[str, ...]], ...] = (
    ("tool", ("pre_tool_use", "post_tool_use")),
    ("turn", ("pre_agent_turn", "post_agent_turn")),
    ("step", ("pre_step", "post_step")),
    (
        "notification",
        (
            "on_budget_threshold",
            "on_approval_requested",
            "on_handoff_emitted",
            "on_persona_paused",
            "on_persona_resumed",
        ),
    ),
    (
        "worker",
        (
            "worker_spawned",
            "worker_progressed",
            "worker_waiting_for_input",
            "worker_suspended",
            "worker_resumed",
            "worker_completed",
            "worker_failed",
            "worker_stopped",
            "worker_cancelled",
        ),
    ),
    (
        "session",
        (
            "session_start",
            "session_end",
            "user_prompt_submit",
            "pre_compact",
            "post_compact",
            "post_turn",
            "permission_asked",
            "permission_replied",
            "file_edited",
            "session_error",
            "session_idle",
            "pre_finish",
            "post_finish",
            "on_unsettled_detected",
            "pre_suspend",
            "post_suspend",
            "pre_resume",
            "post_resume",
            "pre_drain",
            "post_drain",
            "on_drain_decision",
            "loop_checkpoint",
        ),
    ),
)
_VERDICTS: dict[str, Verdict] = {
    "pre_tool_use": "arguments",
    "post_tool_use": "result",
    "permission_asked": "decision",
    "user_prompt_submit": "veto",
    "pre_compact": "veto",
    "pre_finish": "veto",
    "pre_suspend": "veto",
    "pre_resume": "veto",
    "pre_drain": "veto",
}
_CALL = ("tool_name", "tool_call_id", "arguments")
_TURN = ("iteration", "turn", "text")
_CHILD = ("agent_id", "session_id", "task")
_ASLEEP = ("reason", "suspended_at_turn", "digest")
_AWAKE = (*_ASLEEP, "cause", "input", "continue_transcript")
_ENDED = (*_CHILD, "status", "error")
_PAYLOADS: dict[str, tuple[str, ...]] = {
    "pre_tool_use": _CALL,
    "post_tool_use": (
        *_CALL, "result", "truncated", "original_size", "ok", "error", "status", "duration_ms",
    ),
    "pre_agent_turn": ("persona", "iteration"),
    "post_agent_turn": ("persona", *_TURN),
    "pre_step": ("step", "iteration", "tools"),
    "post_step": ("step", "iteration", "tools", "succeeded", "result", "error"),
    "on_budget_threshold": ("persona", "tokens_used", "context_window", "ratio", "iteration"),
    "on_approval_requested": ("persona", *_CALL),
    "on_handoff_emitted": ("persona", *_CHILD, "reminders"),
    "on_persona_paused": ("persona", "reason", "iteration"),
    "on_persona_resumed": ("persona", "reason", "cause"),
    "worker_spawned": _CHILD,
    "worker_progressed": (*_CHILD, *_TURN),
    "worker_waiting_for_input": (*_CHILD, *_CALL),
    "worker_suspended": _ENDED,
    "worker_resumed": (*_CHILD, *_AWAKE),
    "worker_completed": _ENDED,
    "worker_failed": _ENDED,
    "worker_stopped": _ENDED,
    "worker_cancelled": _ENDED,
    "session_start": ("task", "iteration"),
    "session_end": ("status", "iterations"),
    "user_prompt_submit": ("prompt",),
    "pre_compact": ("messages",),
    "post_compact": ("archived_messages", "summary", "iteration"),
    "post_turn": _TURN,
    "permission_asked": _CALL,
    "permission_replied": ("tool_name", "tool_call_id", "allowed", "by", "reason"),
    "file_edited": ("path", "tool_call_id"),
    "session_error": ("error", "iteration"),
    "session_idle": ("wake_interval_ms", "path_changed", "timer"),
    "pre_finish": _TURN,
    "post_finish": ("status", "text", "iteration"),
    "on_unsettled_detected": ("status", "iteration", "queued", "children"),
    "pre_suspend": (*_ASLEEP, "iteration"),
    "post_suspend": (*_ASLEEP, "iteration"),
    "pre_resume": _AWAKE,
    "post_resume": _AWAKE,
    "pre_drain": ("status", "iteration", "queued"),
    "post_drain": ("status", "iteration", "delivered", "left"),
    "on_drain_decision": ("decision", "reason", "ids", "iteration"),
    "loop_checkpoint": ("kind", "iteration", "delivered"),
}  # fmt: skip
_PROVIDED = frozenset(("post_tool_use", "post_agent_turn", "post_step", "on_budget_threshold"))
_ALIASES = {"session_error": ("error",)}


def _event(name: str, family: Family) -> HookEvent:
    return HookEvent(
        name=name,
        family=family,
        payload=_PAYLOADS[name],
        verdict=_VERDICTS.get(name, "none"),
        reminders=family != "worker",
        provided=family in ("worker", "session") or name in _PROVIDED,
        aliases=_ALIASES.get(name, ()),
    )


EVENTS: dict[str, HookEvent] = {name: _event(name, family) for family, names in _TABLE for name in names}
"""Every event by its snake_case name, in the order of the catalogue."""

PROVIDED = tuple(event.name for event in EVENTS.values() if event.provided)
"""The events that a reminder provider may subscribe to."""

_SPELLINGS: dict[str, HookEvent] = {
    spelling: event
    for event in EVENTS.values()
    for name in (event.name, *event.aliases)
    for spelling in (name, pascal(name))
}


def find_event(name: object) -> HookEvent:
    """The event that `name` means, in either spelling.

    Raises:
        UnknownEventError: no such event; names the nearest.
    """
    event = _SPELLINGS.get(name) if isinstance(name, str) else None
    if event is None:
        raise UnknownEventError(f"unknown hook event {shown(name)}; {near_matches(name)}")
    return event


def near_matches(name: object, known: tuple[str, ...] = tuple(EVENTS)) -> str:
    """What to say about a name that is not in `known`: the nearest, or all."""
    from difflib import get_close_matches  # only a mistake pays for loading it

    near = get_close_matches(_snake(name), known, n=3, cutoff=0.5) if isinstance(name, str) else []
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
