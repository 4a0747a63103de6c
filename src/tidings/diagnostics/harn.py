"""The eight HARN-RMD codes of seed 001, "Diagnostic codes", as data.

Where the seed leaves a code open, decisions 10, 15, 16 and 17 say what triggers it. Read through
`catalogue.py`.
"""

from __future__ import annotations

from tidings.diagnostics.entry import Diagnostic

_PROVIDERS = """\
def check_disk(ctx):
    return {"reminder": {"body": "The disk is nearly full.", "ttl_turns": 1}}

"""

HARN: tuple[Diagnostic, ...] = (
    Diagnostic(
        code="HARN-RMD-001",
        title="unknown key or wrong shape of a reminder's options",
        meaning=(
            "A strict producer was given a key that does not exist, a value of the wrong type, a "
            "blank body, or no body at all. Nothing was injected. `clear_reminders` reports an "
            "unknown or empty selector with the same code."
        ),
        example="""\
td.inject_reminder(transcript, body="src/app.py changed on disk.", ttl=3)
""",
        fix=(
            "Use the documented keys and types. The error lists every problem at once, and names "
            "the nearest key for a misspelt one."
        ),
        fixed="""\
td.inject_reminder(transcript, body="src/app.py changed on disk.", ttl_turns=3)
""",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "From a pipeline"',
    ),
    Diagnostic(
        code="HARN-RMD-002",
        title="malformed reminder from a host or a server",
        meaning=(
            "A reminder that arrived over a wire (session/remind, notifications/reminder) has no "
            "usable body or a field of the wrong type. `content` is the key of session/inject, "
            "which is user input; a reminder's text is `body`."
        ),
        example="""\
notification = {
    "jsonrpc": "2.0",
    "method": "session/remind",
    "params": {"content": "Dependencies changed; rerun the tests.", "ttl_turns": 1},
}
""",
        fix="Send the text as `body`; put fields of your own under `_meta`.",
        fixed="""\
notification = {
    "jsonrpc": "2.0",
    "method": "session/remind",
    "params": {"body": "Dependencies changed; rerun the tests.", "ttl_turns": 1},
}
""",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "From a host bridge"',
    ),
    Diagnostic(
        code="HARN-RMD-003",
        title="role hint that the route cannot keep",
        meaning=(
            'The hints "user_block" and "ephemeral_cache" ask for an Anthropic-style content '
            "block. The chosen route has no such slot, so the reminder falls back to the route's "
            "own form. A hint is a request, not a guarantee; the reminder is still delivered."
        ),
        example="""\
td.inject_reminder(
    transcript, body="The policy excerpt applies now.", ttl_turns=1, role_hint="user_block"
)
td.route("openai/gpt-5")
""",
        fix=(
            'Leave the hint out, or use "system" or "developer"; keep the block hints for code '
            "that only ever talks to an Anthropic route."
        ),
        fixed="""\
td.inject_reminder(
    transcript, body="The policy excerpt applies now.", ttl_turns=1, role_hint="developer"
)
td.route("openai/gpt-5")
""",
        severity="warning",
        reported_by=("runtime", "lint"),
        section='system reminders, "Capability-aware rendering"',
    ),
    Diagnostic(
        code="HARN-RMD-004",
        title="discardable reminder without an end",
        meaning=(
            "The reminder has no ttl_turns and is not preserved on compaction: it stays in every "
            "request for as long as nothing is compacted, and then vanishes. Both are surprises. "
            "The linter reports it only where preserve_on_compact is written as False; at run time "
            "the effective shape counts, once per session and producer."
        ),
        example="""\
td.inject_reminder(
    transcript, body="The build is red.", tags=["build"], preserve_on_compact=False
)
""",
        fix="Give it a ttl_turns, or preserve_on_compact=True if it should outlive compaction.",
        fixed="""\
td.inject_reminder(transcript, body="The build is red.", tags=["build"], ttl_turns=2)
""",
        severity="warning",
        reported_by=("runtime", "lint"),
        section='system reminders, "Compaction interaction"',
    ),
    Diagnostic(
        code="HARN-RMD-005",
        title="unknown `propagate` value",
        meaning=(
            "`propagate` says how far sub-agents inherit the reminder, and the value given is none "
            "of the known ones. Nothing was injected."
        ),
        example="""\
td.inject_reminder(
    transcript, body="Use small commits.", ttl_turns=4, propagate="children"
)
""",
        fix=(
            'Use "session" for direct sub-agents, "all" for their sub-agents too, "none" to keep it here.'
        ),
        fixed="""\
td.inject_reminder(
    transcript, body="Use small commits.", ttl_turns=4, propagate="session"
)
""",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "Sub-agent propagation"',
    ),
    Diagnostic(
        code="HARN-RMD-006",
        title="reminder provider returned a malformed reminder",
        meaning=(
            "What a provider's `evaluate` returned is not a reminder: the body is missing or blank, "
            "a field has the wrong type, or it is something else altogether. Inside a loop this "
            "becomes a record and the other providers still run."
        ),
        example="""\
def evaluate(ctx):
    return {"reminder": {"body": "Re-check the touched files.", "ttl_turns": 0}}


td.register_reminder_provider(
    id="workspace_guard", subscribes_to=["session_idle"], evaluate=evaluate
)
""",
        fix="Return None, a reminder's options, {'reminder': {...}}, or a list of those.",
        fixed="""\
def evaluate(ctx):
    return {"reminder": {"body": "Re-check the touched files.", "ttl_turns": 1}}


td.register_reminder_provider(
    id="workspace_guard", subscribes_to=["session_idle"], evaluate=evaluate
)
""",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "From a provider"',
    ),
    Diagnostic(
        code="HARN-RMD-007",
        title="too many reminder providers",
        meaning=(
            "More than eight providers of your own are enabled; the canonical ones do not count. "
            "Each of them may add text to every request. The loop refuses to start and names them."
        ),
        example=_PROVIDERS
        + "\n".join(
            f'td.register_reminder_provider(id="disk_{n}", subscribes_to=["post_tool_use"], '
            "evaluate=check_disk)"
            for n in range(1, 10)
        )
        + "\n",
        fix='Join providers that watch the same thing, or disable some with providers=["-id"].',
        fixed=_PROVIDERS + 'td.register_reminder_provider(id="disk", subscribes_to=["post_tool_use"], '
        "evaluate=check_disk)\n",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "Canonical stdlib providers"',
    ),
    Diagnostic(
        code="HARN-RMD-008",
        title="reminder from a hook event that takes none",
        meaning=(
            "Worker lifecycle events are observational: no transcript stands behind them, so a "
            "reminder returned from such a hook cannot be injected and is refused."
        ),
        example="""\
def finished(event):
    return {"reminder": {"body": "The worker is done.", "ttl_turns": 1}}


td.register_worker_hook("worker_completed", finished)
""",
        fix="Return the reminder from a session, tool, step or persona hook instead.",
        fixed="""\
def finished(event):
    return {"reminder": {"body": "The worker is done.", "ttl_turns": 1}}


td.register_session_hook("post_turn", finished)
""",
        severity="error",
        reported_by=("runtime", "lint"),
        section='system reminders, "From a hook"',
    ),
)
