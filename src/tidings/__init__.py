"""Tidings tells a running AI agent what just happened around it.

    import tidings as td

Everything public is a name of this module; each lives in the package named beside it and is
loaded when first used, so that importing Tidings costs little more than importing msgspec.
"""

from __future__ import annotations

from importlib import import_module

from tidings.version import __version__

TYPE_CHECKING = False  # as in `typing`, which costs more than all the rest of a small command's start

if TYPE_CHECKING:
    from tidings.agent.audit import audit_log as audit_log
    from tidings.agent.emitted import EventsFullError as EventsFullError
    from tidings.agent.loop import agent_loop as agent_loop
    from tidings.agent.loop import llm_call as llm_call
    from tidings.agent.models.choose import model as model
    from tidings.agent.models.scripted import ScriptedModel as ScriptedModel
    from tidings.agent.port import ModelError as ModelError
    from tidings.agent.registry import Registry as Registry
    from tidings.agent.registry import clear_reminder_providers as clear_reminder_providers
    from tidings.agent.registry import register_checkpoint_hook as register_checkpoint_hook
    from tidings.agent.registry import register_persona_hook as register_persona_hook
    from tidings.agent.registry import register_reminder_provider as register_reminder_provider
    from tidings.agent.registry import register_session_hook as register_session_hook
    from tidings.agent.registry import register_step_hook as register_step_hook
    from tidings.agent.registry import register_tool_hook as register_tool_hook
    from tidings.agent.registry import register_worker_hook as register_worker_hook
    from tidings.agent.result import Compaction as Compaction
    from tidings.agent.result import Daemon as Daemon
    from tidings.agent.result import LoopResult as LoopResult
    from tidings.agent.session import Session as Session
    from tidings.agent.steps import run_step as run_step
    from tidings.agent.subagents import spawn as spawn
    from tidings.agent.subagents import spawn_tool as spawn_tool
    from tidings.agent.tools.approval import Gate as Gate
    from tidings.agent.tools.approval import Reply as Reply
    from tidings.agent.tools.function import tool as tool
    from tidings.agent.tools.rules import Rule as Rule
    from tidings.agent.tools.workspace import workspace_tools as workspace_tools
    from tidings.core.mailbox import MailboxFullError as MailboxFullError
    from tidings.core.mailbox import RevokeError as RevokeError
    from tidings.core.redaction import redact as redact
    from tidings.core.reminder import Reminder as Reminder
    from tidings.core.text import scrub as scrub
    from tidings.core.transcript import Transcript as Transcript
    from tidings.diagnostics.explain import explain as explain
    from tidings.errors import CallerError as CallerError
    from tidings.errors import DiagnosticError as DiagnosticError
    from tidings.errors import DuplicateReminderError as DuplicateReminderError
    from tidings.errors import LogCorruptError as LogCorruptError
    from tidings.errors import LogError as LogError
    from tidings.errors import LogUnavailableError as LogUnavailableError
    from tidings.errors import LogUsageError as LogUsageError
    from tidings.errors import PlacementError as PlacementError
    from tidings.errors import Problem as Problem
    from tidings.errors import RouteError as RouteError
    from tidings.errors import SubscriberLaggedError as SubscriberLaggedError
    from tidings.errors import TidingsError as TidingsError
    from tidings.errors import TranscriptError as TranscriptError
    from tidings.log.open import open_log as open_log
    from tidings.recall.default import facts_store as facts_store
    from tidings.recall.default import invalidate_facts as invalidate_facts
    from tidings.recall.default import recall_facts as recall_facts
    from tidings.recall.default import store_fact as store_fact
    from tidings.rendering.render import render as render
    from tidings.rendering.request import Issued as Issued
    from tidings.rendering.request import Request as Request
    from tidings.rendering.route import Route as Route
    from tidings.rendering.route import add_route as add_route
    from tidings.rendering.route import load_routes as load_routes
    from tidings.rendering.route import route as route
    from tidings.shell.journal import active_log as active_log
    from tidings.shell.journal import scope as scope
    from tidings.shell.replay import replay as replay
    from tidings.shell.transforms import append_message as append_message
    from tidings.shell.transforms import checkpoint as checkpoint
    from tidings.shell.transforms import clear_reminders as clear_reminders
    from tidings.shell.transforms import compact as compact
    from tidings.shell.transforms import handoff as handoff
    from tidings.shell.transforms import inject_reminder as inject_reminder
    from tidings.shell.transforms import mark_fired as mark_fired
    from tidings.shell.transforms import post_turn as post_turn
    from tidings.shell.transforms import receive_handoff as receive_handoff
    from tidings.shell.transforms import reminder_event as reminder_event

_HOME = {
    "agent.models.scripted": ("ScriptedModel",),
    "agent.port": ("ModelError",),
    "agent.tools.approval": (
        "Gate",
        "Reply",
    ),
    "agent.tools.rules": ("Rule",),
    "core.mailbox": ("MailboxFullError", "RevokeError"),
    "agent.tools.workspace": ("workspace_tools",),
    "recall.default": (
        "facts_store",
        "invalidate_facts",
        "recall_facts",
        "store_fact",
    ),
    "agent.audit": ("audit_log",),
    "agent.emitted": ("EventsFullError",),
    "agent.loop": (
        "agent_loop",
        "llm_call",
    ),
    "agent.models.choose": ("model",),
    "agent.registry": (
        "Registry",
        "clear_reminder_providers",
        "register_checkpoint_hook",
        "register_persona_hook",
        "register_reminder_provider",
        "register_session_hook",
        "register_step_hook",
        "register_tool_hook",
        "register_worker_hook",
    ),
    "agent.result": (
        "Compaction",
        "Daemon",
        "LoopResult",
    ),
    "agent.session": ("Session",),
    "agent.steps": ("run_step",),
    "agent.subagents": (
        "spawn",
        "spawn_tool",
    ),
    "agent.tools.function": ("tool",),
    "core.redaction": ("redact",),
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
