"""Hook events and canonical providers, printed: for hooks.md and providers.md."""

from __future__ import annotations

from docs.parts.markdown import code, table
from tidings.agent.events import DECIDES, EVENTS, HookEvent
from tidings.agent.providers.table import TABLE, Key, Row
from tidings.agent.registration import REGISTRARS, SUBJECTS

RAISED: dict[str, str] = {
    "pre_tool_use": "before each call of a batch, in order",
    "post_tool_use": "for each closed call, whatever its status",
    "pre_agent_turn": "before each request",
    "post_agent_turn": "after the answer and its tools",
    "on_budget_threshold": "before each request while 70 % of the window or more are used; "
    "less if `refresh_ratio` is lower",
    "on_handoff_emitted": "`td.spawn` handed reminders to a child",
    "worker_spawned": "`td.spawn` started a child",
    "worker_suspended": "a child ended with `suspended`",
    "worker_resumed": "at the start of the loop after `session.resume()`",
    "worker_completed": "a child ended with `done`",
    "worker_failed": "a child ended with any other status, or its loop raised",
    "worker_cancelled": "a child ended with `cancelled`",
    "session_start": "each `agent_loop` begins, resumed sessions included",
    "session_end": "each `agent_loop` ends; reminders stay pending for the next one",
    "user_prompt_submit": "before the task becomes a message",
    "pre_compact": "before a compaction",
    "post_compact": "after a compaction",
    "post_turn": "after the commit of each answer",
    "permission_asked": "a person was asked about a call; heard after the batch, so nothing can be decided",
    "permission_replied": "the answer; heard after the batch",
    "file_edited": "`write_file` or `edit_file` changed a file; heard after the batch",
    "session_error": "the model gave no usable answer",
    "session_idle": "after each sleep of a daemon",
    "pre_finish": "the loop would end with `done`, or a daemon would wait; an objection lets it go on",
    "post_finish": "the loop ends with `done`; a daemon does not",
    "loop_checkpoint": "a seam let something in",
}
"""When this version raises an event; the others only come from `session.emit`."""

RULES: dict[str, str] = {
    "token_pressure": "use of the window crosses 70 %, 85 % or 95 % upward; each once until a compaction. "
    "At 95 % also `preserve_on_compact`",
    "idle_nudge": "a daemon has been idle for `idle_seconds` or longer",
    "tool_output_truncated": "a tool's output was cut before the model saw it",
    "post_compact_recap": "a compaction archived messages; carries up to 4 KiB of the summary",
    "resume_continuity": "always: says why the session slept, why it woke, with what input; the digest "
    "when the transcript was not continued",
    "project_facts": "facts pass the filters; on `on_budget_threshold` only from `refresh_ratio` on",
    "workspace_anchor": "the session has an `anchor`",
    "grounded_review": "the payload has concrete evidence: a tool's runtime error, a verifier that did not "
    "accept, a diagnostic of severity error, a failure line of a known check such as pytest, mypy, tsc",
}

KEYS: dict[str, str] = {
    "token_pressure.context_window": "tokens of the window, instead of the route's",
    "idle_nudge.idle_seconds": "how long is idle",
    "idle_nudge.seconds": "the same; wins when both are given",
    "project_facts.namespace": "which facts; replaces `scope`",
    "project_facts.scope": "`project/facts`, `workspace/facts` or `user/facts`",
    "project_facts.root": "the folder whose `.tidings/facts.db` is asked; the current one unless given",
    "project_facts.max_facts": "facts in one reminder; 0 switches it off",
    "project_facts.min_confidence": "facts below are left out",
    "project_facts.kind_filter": "only these kinds",
    "project_facts.relevance_query": "what to look for, instead of the task",
    "project_facts.refresh_ratio": "share of the window from which facts are told again",
    "grounded_review.max_findings": "findings in one reminder; the rest are counted",
    "grounded_review.limit": "the same; wins when both are given",
    "grounded_review.text_scan": "whether the output of known checks is read",
    "grounded_review.include_warnings": "whether warnings count",
}


def hook_events() -> str:
    """Every event: who registers, what may come back, when it happens."""
    head = ("event", "family", "reminders", "may decide with", "providers", "raised when")
    return table(head, [_event(event) for event in EVENTS.values()])


def _event(event: HookEvent) -> tuple[str, ...]:
    return (
        f"`{event.name}`",
        event.family,
        "yes" if event.reminders else "",
        code(sorted(DECIDES[event.verdict])),
        "yes" if event.provided else "",
        RAISED.get(event.name, "not raised by this version"),
    )


def registrars() -> str:
    """Which function takes which family, and what a pattern is compared with."""
    rows = []
    for name, families in REGISTRARS.items():
        fields = dict.fromkeys(field for family in families for field in SUBJECTS[family])
        rows.append((f"`td.{name}`", ", ".join(families), code(fields)))
    rows.append(("`td.register_checkpoint_hook`", "`loop_checkpoint`, by seam", ""))
    return table(("function", "families", "a pattern is compared with"), rows)


def providers() -> str:
    """The canonical providers: what they hear, when they fire, what their reminders carry."""
    rows = [(f"`{row.id}`", code(row.subscribes_to), RULES[row.id], _fields(row)) for row in TABLE.values()]
    return table(("provider", "hears", "fires when", "reminder"), rows)


def _fields(row: Row) -> str:
    kept = "; `preserve_on_compact`" if row.preserve_on_compact else ""
    return (
        f"tags {code(row.tags)}; key `{row.dedupe_key.format('…')}`; ttl {row.ttl_turns}; "
        f"`{row.propagate}`; hint `{row.role_hint}`{kept}"
    )


def provider_keys() -> str:
    """Every config key."""
    rows = [_key(row, key) for row in TABLE.values() for key in row.keys]
    return table(("key", "takes", "default", "meaning"), rows)


def _key(row: Row, key: Key) -> tuple[str, ...]:
    name = f"{row.id}.{key.name}"
    default = "" if key.default is None else f"`{key.default!r}`"
    return f"`{name}`", _takes(key), default, KEYS[name]


def _takes(key: Key) -> str:
    words = {"number": "a number", "whole": "a whole number", "flag": "true or false", "text": "a string"}
    taken = words.get(key.kind, "a list of strings")
    if key.choices:
        return f"{taken} out of {code(key.choices)}"
    if key.low is None:
        return taken
    return f"{taken}, {key.low:g} " + (f"to {key.high:g}" if key.high is not None else "or more")
