"""One registered hook or provider, and the checks that registering makes. Values and pure readers.

`Registry` keeps these in order; `hooks.py` and `providers/` call them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

import msgspec

from tidings.agent.calling import DEADLINE, Slot
from tidings.agent.context import Context
from tidings.agent.events import (
    PROVIDED,
    Family,
    HookEvent,
    UnknownEventError,
    find_event,
    near_matches,
    pascal,
)
from tidings.core.producers import shown
from tidings.core.seams import SEAMS
from tidings.errors import CallerError

Function: TypeAlias = Callable[[Context], object]

SUBJECTS: dict[Family, tuple[str, ...]] = {
    "tool": ("tool_name", "tool"),
    "turn": ("persona", "agent"),
    "notification": ("persona", "agent"),
    "step": ("step",),
    "session": ("kind",),
    "worker": ("worker", "agent_id"),
}
"""The payload fields that a hook's pattern is compared with: the first that holds a string."""

REGISTRARS: dict[str, tuple[Family, ...]] = {
    "register_tool_hook": ("tool",),
    "register_persona_hook": ("turn", "notification"),
    "register_step_hook": ("step",),
    "register_worker_hook": ("worker",),
    "register_session_hook": ("session", "notification"),
}
"""Which families of events each registering function takes."""


CANONICAL = (
    "token_pressure",
    "idle_nudge",
    "tool_output_truncated",
    "post_compact_recap",
    "resume_continuity",
    "project_facts",
    "workspace_anchor",
    "grounded_review",
)
"""The ids of the canonical providers, in the order they are evaluated (`providers/table.py`)."""


class RegistrationError(CallerError):
    """A hook or provider that cannot be registered as it was given."""


class Hook(msgspec.Struct, frozen=True, eq=False):
    """A function, the events it hears, and the patterns its subject must match (none: any)."""

    name: str
    events: tuple[str, ...]
    function: Function
    patterns: tuple[str, ...] = ()
    deadline: float = DEADLINE
    slot: Slot = msgspec.field(default_factory=Slot)

    def hears(self, event: HookEvent, payload: Mapping[str, object]) -> bool:
        """Whether it is to be called for `event` with `payload`."""
        if event.name not in self.events:
            return False
        if not self.patterns:
            return True
        subject = subject_of(event, payload)
        return subject is not None and any(fnmatchcase(subject, pattern) for pattern in self.patterns)


class Provider(msgspec.Struct, frozen=True, eq=False):
    """A custom reminder provider."""

    id: str
    subscribes_to: tuple[str, ...]
    evaluate: Function
    deadline: float = DEADLINE
    slot: Slot = msgspec.field(default_factory=Slot)


def subject_of(event: HookEvent, payload: Mapping[str, object]) -> str | None:
    """What a pattern is compared with: the tool's, persona's, step's, worker's or seam's name."""
    for field in SUBJECTS[event.family]:
        value = payload.get(field)
        if isinstance(value, Mapping):
            value = value.get("name")
        if isinstance(value, str):
            return value
    return None


def read_events(registrar: str, given: object) -> tuple[str, ...]:
    """The events that `given` (a name or a list of names) means, all of the registrar's families.

    Raises:
        UnknownEventError: an unknown name, or one that another registrar takes.
    """
    names = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    if not names:
        raise UnknownEventError(f"{registrar}: name at least one event")
    events = [find_event(name) for name in names]
    for event in events:
        if event.family not in REGISTRARS[registrar]:
            right = next(name for name, families in REGISTRARS.items() if event.family in families)
            raise UnknownEventError(f"{registrar} does not take {event.name}; use {right}")
    return tuple(dict.fromkeys(event.name for event in events))


def read_subscriptions(id: str, given: object) -> tuple[str, ...]:
    """The events a provider subscribes to.

    Raises:
        RegistrationError: nothing, or not a list.
        UnknownEventError: an unknown event, or one that providers cannot hear.
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        fix = 'must be a non-empty list of events, such as ["session_idle"]'
        raise RegistrationError(f"provider {id!r}: `subscribes_to` {fix}; got {shown(given)}")
    events = [find_event(name) for name in given]
    for event in events:
        if not event.provided:
            fix = near_matches(event.name, PROVIDED)
            raise UnknownEventError(f"provider {id!r}: {event.name} is for hooks only; {fix}")
    return tuple(dict.fromkeys(event.name for event in events))


def read_patterns(given: object) -> tuple[str, ...]:
    """Shell patterns: one, a list, or None and "*" for any.

    Raises:
        RegistrationError: anything else.
    """
    if given is None or given == "*":
        return ()
    patterns = (given,) if isinstance(given, str) else given
    if isinstance(patterns, Sequence) and patterns and all(isinstance(p, str) and p for p in patterns):
        return tuple(patterns)
    raise RegistrationError(f"a pattern must be a string such as 'read_*' or a list; got {shown(given)}")


def read_kinds(given: object) -> tuple[str, ...]:
    """The seams a checkpoint hook hears: one, a list, or None and "*" for all.

    Raises:
        RegistrationError: an unknown seam.
    """
    kinds = read_patterns(given)
    names = {spelling: seam for seam in SEAMS for spelling in (seam, pascal(seam))}
    for kind in kinds:
        if kind not in names:
            raise RegistrationError(f"unknown checkpoint {kind!r}; {near_matches(kind, SEAMS)}")
    return tuple(dict.fromkeys(names[kind] for kind in kinds))


def read_function(owner: str, given: object) -> Function:
    """`given`, if it can be called.

    Raises:
        RegistrationError: it cannot.
    """
    if not callable(given):
        raise RegistrationError(f"{owner} must be a function that takes one context; got {shown(given)}")
    return given


def read_deadline(given: object) -> float:
    """Seconds per call.

    Raises:
        RegistrationError: not a positive, finite number.
    """
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < math.inf:
        raise RegistrationError(f"`deadline` must be a positive number of seconds; got {shown(given)}")
    return float(given)


def name_of(function: Function) -> str:
    """What to call a function in records and messages."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(name).replace("<locals>.", "")
