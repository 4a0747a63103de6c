"""Tables of the code, printed: for records.md, diagnostics.md, log.md and untrusted-text.md."""

from __future__ import annotations

from docs.parts.markdown import code, fenced, table
from tidings.core import records, trust
from tidings.diagnostics.catalogue import CATALOGUE
from tidings.diagnostics.entry import Diagnostic
from tidings.log import entry, group, port
from tidings.shell import journal

WHEN: dict[str, str] = {
    "injected": "a reminder became pending",
    "fired": "a reminder was in an answered request",
    "deduped": "a reminder, or compaction, replaced older ones with its key",
    "expired": "a reminder left: `reason` is `ttl`, `compaction` or `cleared`",
    "dropped": "a reminder could not be used: `reason` is `invalid`; `capability_mismatch` is for routes "
    "without any slot, of which there is none",
    "inherited": "a child session received a copy",
    "provider_evaluated": "a provider was asked at an event; `fired` says whether it gave a reminder",
    "queued": "`session.remind` accepted a reminder; it waits in the mailbox",
    "revoked": "a queued reminder was taken back",
    "warning": "something works differently from what its producer may expect",
    "cache_hint": "the system text of a session on a caching route changed; once per session",
    "restricted": "a reminder asked for more than its trust tier may have",
}

CHANGES: dict[str, tuple[tuple[str, ...], str]] = {
    "transcript.snapshot": (
        ("transcript",),
        "`checkpoint` or `compact`: the whole transcript; `session.checkpoint` adds `session`, the rest",
    ),
    "transcript.message": (("message",), "`append_message`"),
    "transcript.injected": (("event",), "`inject_reminder` or `receive_handoff`: the whole event"),
    "transcript.audited": (("event",), "the loop let an `audit_only` reminder in: the whole event"),
    "transcript.cleared": (("event_ids",), "`clear_reminders` removed something"),
    "transcript.passed": (("turn",), "`post_turn`"),
    "transcript.fired": (
        ("turn", "postponed", "invalid", "standing", "withdrawn", "warned", "waiting"),
        "`mark_fired`: what the request changed besides; a list that would be empty is left out",
    ),
}


def record_kinds() -> str:
    """The kinds of the lifecycle topic."""
    rows = [(f"`transcript.reminder.{k}`", WHEN[k], code(fields)) for k, fields in records.KINDS.items()]
    return table(("kind", "written when", "payload"), rows)


def change_kinds() -> str:
    """The kinds of the transcript topic."""
    rows = [(f"`{kind}`", when, code(fields)) for kind, (fields, when) in CHANGES.items()]
    return table(("kind", "written by", "payload"), rows)


def diagnostics() -> str:
    """The table of codes, then each with its examples."""
    rows = [(f"[`{d.code}`](#{d.code.lower()})", d.title, d.severity, _reporters(d)) for d in CATALOGUE]
    head = table(("code", "meaning", "severity", "reported"), rows)
    return "\n\n".join([head, *map(_diagnostic, CATALOGUE)])


def _diagnostic(known: Diagnostic) -> str:
    language = "python no-run"
    broken = known.code == "TDG-000"
    return "\n\n".join(
        (
            f"## {known.code}",
            f"**{known.title[0].upper()}{known.title[1:]}.** {known.meaning}",
            fenced(known.example, "text" if broken else language),
            f"Fix: {known.fix}",
            fenced(known.fixed, language),
        )
    )


def _reporters(known: Diagnostic) -> str:
    words = {"runtime": "at run time", "lint": "by `tidings lint`"}
    return ", ".join(words[reporter] for reporter in known.reported_by)


def trust_limits() -> str:
    """The longest body of each tier, and the budget of a request."""
    rows = [(f"a body of tier `{tier}`", _size(limit)) for tier, limit in trust.LIMITS.items()]
    return table(
        ("what", "at most"),
        [*rows, ("the external text of one request, as it is rendered", _size(trust.REQUEST_BUDGET))],
    )


def _size(count: int) -> str:
    mebibytes, rest = divmod(count, 1024 * 1024)
    return f"{count // 1024} KiB" if rest else f"{mebibytes} MiB"


def log_limits() -> str:
    """What the log and its journal bound."""
    rows = (
        ("characters of a topic or kind", f"{entry.MAX_NAME}"),
        ("a payload as JSON", _size(entry.MAX_PAYLOAD_BYTES)),
        ("levels of a payload", f"{entry.MAX_DEPTH}"),
        ("records that a live subscriber may fall behind (`max_lag`)", f"{port.DEFAULT_MAX_LAG:,}"),
        ("awaited appends under way in one event loop (`queue_limit`)", f"{group.QUEUE_LIMIT:,}"),
        ("records that wait while the active log cannot be written", f"{journal.WAITING:,}"),
    )
    return table(("what", "at most"), rows)


def trust_powers() -> str:
    """What needs a grant."""
    return "\n".join(f"- `{power}`" for power in trust.POWERS)
