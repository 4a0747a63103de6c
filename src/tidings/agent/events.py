"""The hook events of the loop: a closed catalogue, as data, and the reader of their names.

`EVENTS` says for each event which family registers it, whether what a hook returns may carry
reminders, what it may decide, and whether a reminder provider may subscribe to it. Names are read in
snake_case or PascalCase (seed 001 uses both) and kept in snake_case.
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
_PROVIDED = frozenset(("post_tool_use", "post_agent_turn", "post_step", "on_budget_threshold"))
_ALIASES = {"session_error": ("error",)}


def _event(name: str, family: Family) -> HookEvent:
    return HookEvent(
        name=name,
        family=family,
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
