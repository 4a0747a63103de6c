"""Seams and modes: where a running loop lets in what waits in its mailbox. Data, and two readers.

The catalogue is closed. `DRAINS` says which delivery modes each seam takes in, in the order they
are taken (seed 001, "From a host bridge"); `NEEDS` which of them let an external reminder in only
by grant. The mailbox asks these tables and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal, TypeAlias, TypeVar, get_args

from tidings.core.producers import shown
from tidings.errors import DiagnosticError, Problem

T = TypeVar("T")

Mode: TypeAlias = Literal["interrupt_immediate", "finish_step", "audit_only"]
Seam: TypeAlias = Literal[
    "iteration_start",
    "pre_compact",
    "post_compact",
    "pre_tool_dispatch",
    "post_tool_dispatch",
    "iteration_end",
    "daemon_idle_pre",
    "daemon_idle_post",
    "loop_exit",
]

MODES: tuple[Mode, ...] = get_args(Mode)
SEAMS: tuple[Seam, ...] = get_args(Seam)

DRAINS: dict[Seam, tuple[Mode, ...]] = {
    "iteration_start": ("interrupt_immediate", "finish_step"),
    "pre_compact": (),
    "post_compact": (),
    "pre_tool_dispatch": ("interrupt_immediate",),
    "post_tool_dispatch": ("interrupt_immediate", "finish_step"),
    "iteration_end": ("interrupt_immediate", "finish_step"),
    "daemon_idle_pre": ("interrupt_immediate",),
    "daemon_idle_post": ("interrupt_immediate",),
    "loop_exit": ("audit_only",),
}

NEEDS: dict[Seam, str] = {"daemon_idle_pre": "wake_idle", "daemon_idle_post": "wake_idle"}
"""The grant without which a seam lets no external reminder in: it would wake the agent (decision 21)."""

DEFAULT_MODE: Mode = "finish_step"
_FORMER = "wait_for_completion"


def with_mode(value: object, context: str, make: Callable[[], T]) -> tuple[T, Mode, bool]:
    """What `make` gives, beside the mode that `value` names; problems of both are told at once.

    Raises:
        DiagnosticError: with every problem of either.
    """
    try:
        made = make()
    except DiagnosticError as wrong:
        try:
            read_mode(value, context)
        except DiagnosticError as mode_too:
            raise DiagnosticError(wrong.context, wrong.problems + mode_too.problems) from None
        raise
    return made, *read_mode(value, context)


def drains(seam: Seam, mode: Mode, grants: Collection[str] | None = None) -> bool:
    """Whether what was sent with `mode` is let in at `seam`.

    `grants` are those of an external sender; None is a sender who needs none.
    """
    return mode in DRAINS[seam] and (grants is None or seam not in NEEDS or NEEDS[seam] in grants)


def read_mode(value: object, context: str) -> tuple[Mode, bool]:
    """The delivery mode that `value` names, and whether it is the former name (decision 12).

    Absent means `finish_step`; `wait_for_completion` is read as `audit_only`, to be warned about.

    Raises:
        DiagnosticError: HARN-RMD-002 for anything else.
    """
    if value is None:
        return DEFAULT_MODE, False
    if value == _FORMER:
        return "audit_only", True
    for mode in MODES:
        if value == mode:
            return mode, False
    fix = f"`mode` must be one of {', '.join(MODES)}; got {shown(value)}"
    raise DiagnosticError(context, (Problem("HARN-RMD-002", "mode", shown(value), fix),))
