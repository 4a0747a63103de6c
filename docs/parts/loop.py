"""The agent loop's tables, printed: seams, options, statuses and session records."""

from __future__ import annotations

import inspect
from typing import get_args

from docs.parts.markdown import code, table
from tidings.agent.loop import agent_loop
from tidings.agent.result import LoopResult, Status
from tidings.core.seams import DRAINS, MODES, NEEDS, Mode, Seam

SEAM_WHEN: dict[str, str] = {
    "iteration_start": "before each request, and before compaction",
    "pre_compact": "a compaction begins; no hook objected",
    "post_compact": "a compaction is committed",
    "pre_tool_dispatch": "the model asked for tools and none has started",
    "post_tool_dispatch": "the results of the batch are in the history",
    "iteration_end": "the model answered without tool calls and would end the loop",
    "daemon_idle_pre": "before each sleep of a daemon",
    "daemon_idle_post": "after each sleep of a daemon",
    "loop_exit": "the loop ends, whatever the status; no request follows",
}

OPTIONS: dict[str, str] = {
    "task": "the user's words; None goes on with what the session holds",
    "system": "the system prompt: a string, or the parts that `render` takes",
    "model": "a name ([Models](models.md)), or a model of your own, which stays open",
    "tools": "tools, or plain functions ([Tools](tools.md))",
    "session": "the session to work in; without it a new one is made from the next two options",
    "session_id": "the id of the session to open; used when `session` is not given",
    "log": "the log of that session; without it the active log, if any",
    "reminders": "which providers are asked, and their config ([Providers](providers.md#options))",
    "registry": "hooks and custom providers; the default one is what `td.register_…` fill",
    "max_iterations": "model requests at most, forced turns and a daemon's later work included",
    "daemon": "wait for news instead of ending ([Run a daemon](../how-to/run-a-daemon.md))",
    "approval": "who may let tools run ([Approve tools](../how-to/approve-tools.md))",
    "compaction": "when and how the conversation is shortened; without it never",
    "context_window": "tokens; replaces what the route says",
    "workspace": "the folder that approval rules take paths to be in; without it the session's `anchor`",
    "tool_deadline": "seconds per tool call, where the tool says nothing else",
    "recall": "what `project_facts` asks; None asks nobody",
    "on_text": "hears text as it streams; one that raises is a `warning` record, and hears no more",
}

STATUSES: dict[str, str] = {
    "done": "the model answered without tool calls, nothing was waiting and no hook objected",
    "cut_short": "the last answer was cut off by the output limit; `error` says what to do",
    "budget_exhausted": "`max_iterations` were used",
    "failed": "the model gave no usable answer; `error` says why",
    "cancelled": "`session.cancel()`",
    "blocked": "a hook refused the task (`text` is the reason), or the model refused to answer",
    "suspended": "`session.suspend()`, unless a hook withdrew it; `session.resume()` before the next loop",
    "idle": "a daemon heard nothing for `max_idle_seconds`",
}

RESULT: dict[str, str] = {
    "text": "the last answer without tool calls; empty when there was none",
    "status": "one of the [statuses](#statuses)",
    "iterations": "how many iterations began",
    "transcript": "the session's transcript",
    "receipts": "one per tool call of this run, in order ([Tools](tools.md#receipts))",
    "usage": "tokens of all answers, summaries included, as the vendor counted them",
    "undelivered": "what still waits in the mailbox, as rows of `pending_injections`",
    "error": "why it failed or was cut short, else None",
}

SESSION_CHANGES: dict[str, tuple[tuple[str, ...], str]] = {
    "mailbox.queued": (("item",), "`remind` or `inject`: mode, grants, and the whole reminder or message"),
    "mailbox.drained": (("ids",), "a seam let these in, in the same commit as what they became"),
    "mailbox.revoked": (("ids",), "`revoke_reminder`, or `clear` for queued ones"),
    "session.emitted": (
        ("id", "event", "payload"),
        "`emit`, in a commit of its own; what a tool raises, with the next step",
    ),
    "session.heard": (("ids",), "hooks were told of these events, in the commit of what they added"),
    "session.state": (
        ("issued", "suspension", "resumption", "pressure"),
        "what the loop keeps beside the transcript, after it changed",
    ),
}


def seams() -> str:
    """Seams against modes, and when each seam is passed."""
    rows = [(f"`{seam}`", *(_taken(seam, mode) for mode in MODES), SEAM_WHEN[seam]) for seam in DRAINS]
    return table(("seam", *(f"`{mode}`" for mode in MODES), "passed when"), rows)


def _taken(seam: Seam, mode: Mode) -> str:
    if mode not in DRAINS[seam]:
        return ""
    return f"yes; external ones by the grant `{NEEDS[seam]}`" if seam in NEEDS else "yes"


def options() -> str:
    """The arguments of `agent_loop`."""
    parameters = inspect.signature(agent_loop).parameters.values()
    rows = [(f"`{p.name}`", _default(p.name, p.default), OPTIONS[p.name]) for p in parameters]
    return table(("argument", "default", "meaning"), rows)


def _default(name: str, default: object) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    return "the project's facts" if name == "recall" else f"`{default!r}`"


def statuses() -> str:
    """How a loop may end."""
    return table(("status", "meaning"), [(f"`{name}`", STATUSES[name]) for name in get_args(Status)])


def result() -> str:
    """The fields of `LoopResult`."""
    rows = [(f"`{name}`", RESULT[name]) for name in LoopResult.__struct_fields__]
    return table(("field", "meaning"), rows)


def session_kinds() -> str:
    """The kinds that a session writes beside the transcript's."""
    rows = [(f"`{kind}`", when, code(fields)) for kind, (fields, when) in SESSION_CHANGES.items()]
    return table(("kind", "written when", "payload"), rows)
