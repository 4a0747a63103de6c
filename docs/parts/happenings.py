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
    "pre_step": "before the tools of an iteration, as step `tools`; before the function of `td.run_step`",
    "post_step": "after their results are committed; after the function, whether it returned or raised",
    "on_budget_threshold": "before each request while 70 % of the window or more are used; "
    "less if `refresh_ratio` is lower",
    "on_approval_requested": "a question of the gate goes to a person; not when a hook settled it, or when "
    "nobody is there",
    "on_handoff_emitted": "`td.spawn` handed reminders to a child",
    "on_persona_paused": "after `post_suspend`",
    "on_persona_resumed": "after `post_resume`",
    "worker_spawned": "`td.spawn` started a child",
    "worker_progressed": "a child finished an iteration; heard only while the parent's loop runs",
    "worker_waiting_for_input": "a child's gate asks a person; heard only while the parent's loop runs",
    "worker_suspended": "a child ended with `suspended`",
    "worker_resumed": "a resumed session goes on: its own hooks hear it, and those of its parent",
    "worker_completed": "a child ended with `done` or `idle`",
    "worker_failed": "a child ended with `failed`, or its loop raised",
    "worker_stopped": "a child ended with any other status: it is not done, and nothing failed",
    "worker_cancelled": "a child ended with `cancelled`, or its task was cancelled",
    "session_start": "each `agent_loop` begins, resumed sessions included",
    "session_end": "each `agent_loop` ends; reminders stay pending for the next one",
    "user_prompt_submit": "before the task becomes a message",
    "pre_compact": "before a compaction; a refusal leaves the conversation as it is",
    "post_compact": "after a compaction",
    "post_turn": "after the commit of each answer",
    "permission_asked": "no rule settles a call; before anyone is asked",
    "permission_replied": "that question is settled, by a hook, a person or the gate",
    "file_edited": "`write_file` or `edit_file` changed a file; heard after the batch",
    "session_error": "the model gave no usable answer",
    "session_idle": "after each sleep of a daemon",
    "pre_finish": "the loop would end with `done`, or a daemon would wait; an objection lets it go on",
    "post_finish": "the loop ends with `done`, a daemon with `idle`",
    "on_unsettled_detected": "the loop ends while something is queued that is not `audit_only`, or while "
    "children run",
    "pre_suspend": "at the seam after `session.suspend()`; a refusal withdraws the suspension, and work "
    "goes on",
    "post_suspend": "no hook objected: the loop ends with `suspended`",
    "pre_resume": "a loop begins after `session.resume()`; a refusal ends it with `suspended`, and the "
    "next one asks again",
    "post_resume": "no hook objected: the loop goes on",
    "pre_drain": "each loop, before `loop_exit`; a refusal leaves `audit_only` items queued",
    "post_drain": "each loop, after `loop_exit`",
    "on_drain_decision": "after `loop_exit`, for items that are left, and for children that still run",
    "loop_checkpoint": "a seam let something in",
}
"""When an event is raised."""

FIELDS: dict[str, str] = {
    "agent_id, session_id, task": "the child, or the session itself; its task, empty when it goes on "
    "without one",
    "allowed, by": "the verdict, and whose it is",
    "archived_messages": "how many messages left the conversation",
    "arguments": "of the call; also as `args`",
    "cause, input, continue_transcript": "what `session.resume` was given",
    "children": "agent ids of children that still run",
    "decision": "`left_queued` or `left_running`",
    "delivered, left": "how many items the seam let in, how many still wait",
    "digest": "what `session.suspend` was given",
    "error": "what went wrong, else None",
    "ids": "of the items, or of the children",
    "iteration, iterations": "counted from 1; 0 before the first; None in a step of your own",
    "kind": "the seam",
    "messages": "how many there are",
    "path": "relative to the workspace",
    "persona": "the session's `agent_id`, else its id",
    "prompt": "the task",
    "queued": "ids of what waits in the mailbox",
    "reason": "why, in words",
    "reminders": "how many were handed down",
    "result": "of a tool: `text`, `truncated`, its own data; of a step: what the function gave",
    "status, ok, duration_ms": "how the loop, child or call ended",
    "step": "its name: what a pattern is compared with",
    "succeeded": "true or false for each of `tools`",
    "summary": "what the conversation was shortened to, perhaps empty",
    "suspended_at_turn": "the last turn before the suspension",
    "text": "what the model said",
    "tokens_used, context_window, ratio": "use of the window",
    "tool_name, tool_call_id": "the call",
    "tools": "names of the tools, in the order of the calls; none in a step of your own",
    "truncated, original_size": "whether the output was cut, and its size before",
    "turn": "the number of the answered request",
    "wake_interval_ms, path_changed, timer": "how long it has been idle, and whether that is work",
}
"""What the fields of the payloads mean."""

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
        RAISED[event.name],
    )


def hook_payloads() -> str:
    """What each event carries."""
    return table(("event", "payload"), [(f"`{e.name}`", code(e.payload)) for e in EVENTS.values()])


def payload_fields() -> str:
    """What the fields mean."""
    rows = [(code(names.split(", ")), meaning) for names, meaning in FIELDS.items()]
    return table(("field", "meaning"), rows)


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
