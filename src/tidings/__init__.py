"""Tidings tells a running AI agent what just happened around it.

    import tidings as td

Everything public is a name of this module; each lives in the package named beside it and is
loaded when first used, so that importing Tidings costs little more than importing msgspec.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tidings.version import __version__

if TYPE_CHECKING:
    from tidings.core.reminder import Reminder
    from tidings.core.text import scrub
    from tidings.core.transcript import Transcript
    from tidings.diagnostics.explain import explain
    from tidings.errors import (
        CallerError,
        DiagnosticError,
        DuplicateReminderError,
        LogCorruptError,
        LogError,
        LogUnavailableError,
        LogUsageError,
        PlacementError,
        Problem,
        RouteError,
        SubscriberLaggedError,
        TidingsError,
        TranscriptError,
    )
    from tidings.log.open import open_log
    from tidings.rendering.render import render
    from tidings.rendering.request import Issued, Request
    from tidings.rendering.route import Route, add_route, load_routes, route
    from tidings.shell.journal import active_log, scope
    from tidings.shell.replay import replay
    from tidings.shell.transforms import (
        append_message,
        checkpoint,
        clear_reminders,
        compact,
        handoff,
        inject_reminder,
        mark_fired,
        post_turn,
        receive_handoff,
        reminder_event,
    )

_HOME = {
    "core.reminder": ("Reminder",),
    "core.text": ("scrub",),
    "core.transcript": ("Transcript",),
    "diagnostics.explain": ("explain",),
    "errors": (
        "CallerError",
        "DiagnosticError",
        "DuplicateReminderError",
        "LogCorruptError",
        "LogError",
        "LogUnavailableError",
        "LogUsageError",
        "PlacementError",
        "Problem",
        "RouteError",
        "SubscriberLaggedError",
        "TidingsError",
        "TranscriptError",
    ),
    "log.open": ("open_log",),
    "rendering.render": ("render",),
    "rendering.request": ("Issued", "Request"),
    "rendering.route": ("Route", "add_route", "load_routes", "route"),
    "shell.journal": ("active_log", "scope"),
    "shell.replay": ("replay",),
    "shell.transforms": (
        "append_message",
        "checkpoint",
        "clear_reminders",
        "compact",
        "handoff",
        "inject_reminder",
        "mark_fired",
        "post_turn",
        "receive_handoff",
        "reminder_event",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tidings' has no attribute {name!r}")
    value: object = getattr(import_module(f"tidings.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
