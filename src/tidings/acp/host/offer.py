"""What a reminder asks, held against what the agent advertised: lowered, or refused (decision 31). Pure.

Lowered, a reminder reaches fewer agents or comes later; a role hint becomes a humbler one, or is left out
for the agent to choose. `LOWER` is the table; what it does not offer is refused. Only values that the
caller gave are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.acp.capabilities import Capabilities
from tidings.acp.host.client import Beyond
from tidings.acp.host.failure import BeyondError, NotAdvertisedError
from tidings.bridge.methods import METHODS, Operation
from tidings.core.reminder import ROLE_HINTS, Payload

LOWER: dict[str, dict[str, tuple[str | None, ...]]] = {
    "propagate": {"all": ("session", "none"), "session": ("none",), "none": ()},
    "role_hint": {hint: (*ROLE_HINTS[at + 1 :], None) for at, hint in enumerate(ROLE_HINTS)},
    "mode": {"interrupt_immediate": ("finish_step",), "finish_step": (), "audit_only": ()},
}
"""For each value, what may stand in its place, the nearest first. None: leave it to the agent."""


class Lowered(msgspec.Struct, frozen=True):
    """A field that was sent lower than it was asked for; `given` None means that it was left out."""

    field: str
    asked: str
    given: str | None


class Offer(msgspec.Struct, frozen=True):
    """The options as they may be sent, and what was lowered."""

    options: Payload
    lowered: tuple[Lowered, ...] = ()


def offer(options: Mapping[str, object], agent: Capabilities, beyond: Beyond) -> Offer:
    """`options` within what `agent` advertises.

    Raises:
        BeyondError: a value is outside and may not, or cannot, be lowered.
    """
    allowed = {"propagate": agent.propagate, "role_hint": agent.role_hints, "mode": agent.modes}
    changed: Payload = dict(options)
    lowered: list[Lowered] = []
    for field, values in allowed.items():
        asked = options.get(field)
        if not isinstance(asked, str) or asked in values:
            continue
        given = _lower(field, asked, values, beyond)
        lowered.append(Lowered(field, asked, given))
        changed[field] = given
    return Offer({name: value for name, value in changed.items() if value is not None}, tuple(lowered))


def _lower(field: str, asked: str, allowed: tuple[str, ...], beyond: Beyond) -> str | None:
    if beyond == "lower":
        for candidate in LOWER[field].get(asked, ()):
            if candidate is None or candidate in allowed:
                return candidate
    raise BeyondError(field, asked, allowed)


def method_for(operation: Operation, agent: Capabilities | None) -> str:
    """The name under which `agent` says that it does this.

    Raises:
        NotAdvertisedError: it says no such thing.
    """
    if agent is not None and agent.inject:
        for name in agent.methods:
            if METHODS.get(name) == operation:
                return name
        if operation == "inject_reminder":
            extension = bool(agent.methods) and all(name.startswith("_") for name in agent.methods)
            return "_session/inject_reminder" if extension else "session/inject_reminder"
    raise NotAdvertisedError(
        f"the agent does not advertise `{operation}`; see `host.reminders` for what it does"
    )
