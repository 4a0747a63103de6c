"""What an interposer can really do for a reminder, and a request lowered to that. Pure.

The agent is not ours: a reminder reaches it as a block of a prompt and nowhere else, sub-agents are its own
business, and only an agent that can be steered is interrupted. What asks for more gets less, and
a `restricted` record says so (decision 31).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.acp.capabilities import Capabilities
from tidings.core.records import Record, record
from tidings.core.reminder import Payload
from tidings.core.seams import Mode

MODES: tuple[Mode, ...] = ("finish_step", "audit_only")
STEERED_MODES: tuple[Mode, ...] = ("interrupt_immediate", *MODES)
_INSTEAD = {"propagate": "session", "role_hint": "user_block"}
_KEPT = {"propagate": ("session", "none"), "role_hint": ("user_block",)}
_KNOWN = {"propagate": ("all",), "role_hint": ("system", "developer", "ephemeral_cache")}


def capabilities(modes: Sequence[Mode]) -> Capabilities:
    """What the interposer advertises in the agent's name."""
    return Capabilities(
        inject=True,
        emit=True,
        propagate=_KEPT["propagate"],
        role_hints=_KEPT["role_hint"],
        modes=tuple(modes),
        methods=(
            "session/inject_reminder",
            "session/pending_injections",
            "session/revoke_reminder",
            "session/clear_reminders",
        ),
    )


class Lowered(msgspec.Struct, frozen=True):
    """Options and mode that can be kept, and each field that asked for more."""

    options: Payload
    mode: str | None
    excesses: tuple[tuple[str, str, str], ...] = ()

    def records(self, reminder_id: str, origin: str | None) -> list[Record]:
        """One `restricted` for each excess."""
        return [
            record(
                "restricted",
                reminder_id=reminder_id,
                field=field,
                asked=asked,
                given=given,
                origin=origin,
                trust="host",
            )
            for field, asked, given in self.excesses
        ]


def lowered(options: Mapping[str, object], mode: str | None, modes: Sequence[Mode]) -> Lowered:
    """`options` within what can be kept. Wrong values stay: the gate names them."""
    kept = dict(options)
    excesses: list[tuple[str, str, str]] = []
    for field, instead in _INSTEAD.items():
        asked = kept.get(field)
        if isinstance(asked, str) and asked in _KNOWN[field]:
            kept[field] = instead
            excesses.append((field, asked, instead))
    if mode == "interrupt_immediate" and mode not in modes:
        mode = "finish_step"
        excesses.append(("mode", "interrupt_immediate", mode))
    return Lowered(kept, mode, tuple(excesses))
