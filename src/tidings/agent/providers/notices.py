"""The five providers that only restate what the loop knows: idle, truncation, recap, resume, anchor.

Each is a pure function from a `Situation` to a reminder spec or None; its fields come from `TABLE`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.agent.providers.quoting import in_ticks, one_line
from tidings.agent.providers.situation import Situation, first, mapping, number, text
from tidings.agent.providers.table import TABLE
from tidings.core.reminder import Payload
from tidings.core.text import scrub, truncate

RECAP_BYTES = 4096
_LINE = 400
_ROOTS = 20


def idle_nudge(situation: Situation) -> Payload | None:
    """Fires when the daemon slept at least as long as configured."""
    settings = situation.settings
    least = number(first(settings.get("seconds"), settings.get("idle_seconds"))) or 60.0
    slept = number(situation.payload.get("wake_interval_ms"))
    if slept is None or slept < least * 1000:
        return None
    body = (
        f"The session was idle for {slept / 1000:.0f} seconds. Files, processes and plans may have changed "
        "since: check what you rely on before you go on."
    )
    return TABLE["idle_nudge"].spec(body)


def tool_output_truncated(situation: Situation) -> Payload | None:
    """Fires when a tool's output was cut or compacted before the model saw it."""
    payload = situation.payload
    if is_whole(payload):
        return None
    result = mapping(payload.get("result"))
    tool = one_line(first(payload.get("tool_name"), payload.get("tool"), "tool"), 120) or "tool"
    size = number(first(payload.get("original_size"), result.get("original_size")))
    whole = f" It was {size:,.0f} characters long." if size is not None else ""
    body = (
        f"The output of {in_ticks(tool, 120)} was truncated before you saw it.{whole} "
        "Ask for the part you need, such as a range or a narrower search, before you rely on it."
    )
    return TABLE["tool_output_truncated"].spec(body, key=tool)


def is_whole(payload: Mapping[str, object]) -> bool:
    """Whether nothing says that a tool's output was cut or compacted."""
    result = mapping(payload.get("result"))
    return not (
        payload.get("truncated") is True
        or payload.get("compacted") is True
        or result.get("truncated") is True
        or result.get("compacted") is True
    )


def post_compact_recap(situation: Situation) -> Payload | None:
    """Fires when a compaction archived messages."""
    archived = number(situation.payload.get("archived_messages"))
    if archived is None or archived < 1:
        return None
    count = f"{archived:.0f} earlier message{'' if archived == 1 else 's were'}"
    opening = f"{count}{' was' if archived == 1 else ''} archived by compaction."
    summary = scrub(truncate(text(situation.payload.get("summary")).strip(), RECAP_BYTES))
    caution = "Re-read files and results before you rely on details from before."
    body = f"{opening} Recap:\n{summary}" if summary else f"{opening} {caution}"
    return TABLE["post_compact_recap"].spec(body)


CAUSES = {
    "parent": "the parent agent resumed it",
    "timeout": "its waiting time was over",
    "trigger": "a trigger fired",
    "operator": "an operator resumed it",
}
"""What woke a worker, by initiator."""


def resume_continuity(situation: Situation) -> Payload | None:
    """Tells a resumed worker why it slept, why it woke, and what it was doing; its parent hears nothing."""
    payload = situation.payload
    if payload.get("session_id") not in (None, situation.session.get("id")):
        return None
    turn = number(payload.get("suspended_at_turn"))
    reason = one_line(text(payload.get("reason")) or "unspecified", _LINE)
    at = f" at turn {turn:.0f}" if turn is not None else ""
    lines = [
        f"This session was suspended{at} and is resumed now.",
        f"Reason for the suspension: {reason}",
        f"Resumed because: {_cause(payload)}",
    ]
    if (given := payload.get("input")) not in (None, "", {}, []):
        lines.append(f"Input given with the resume: {one_line(_shown(given), _LINE)}")
    digest = text(payload.get("digest"))
    if payload.get("continue_transcript") is False and digest:
        lines.append(f"The earlier transcript is gone. Digest of it: {one_line(digest, 2000)}")
    return TABLE["resume_continuity"].spec("\n".join(lines))


def _cause(payload: Mapping[str, object]) -> str:
    initiator = text(first(payload.get("initiator"), payload.get("cause")))
    words = CAUSES.get(initiator) or one_line(initiator, _LINE) or "unspecified"
    trigger = first(payload.get("trigger_id"), payload.get("trigger_event_id"))
    return f"{words} ({one_line(trigger, 120)})" if trigger is not None else words


def workspace_anchor(situation: Situation) -> Payload | None:
    """Says which folder is the workspace, and which others are mounted; only when one is set."""
    session, payload = situation.session, situation.payload
    given = first(payload.get("workspace_anchor"), session.get("workspace_anchor"), session.get("anchor"))
    anchor = {"primary": given} if isinstance(given, str) else mapping(given)
    primary = text(first(anchor.get("primary"), anchor.get("primary_path"), anchor.get("path")))
    if not primary:
        return None
    lines = [f"The workspace of this session is {in_ticks(primary, _LINE)}."]
    roots = first(anchor.get("additional_roots"), anchor.get("roots"), session.get("roots"))
    given_roots = list(roots) if isinstance(roots, (list, tuple)) else []
    lines += [_root(root) for root in given_roots[:_ROOTS]]
    if len(given_roots) > _ROOTS:
        lines.append(f"- and {len(given_roots) - _ROOTS} more")
    if when := text(first(anchor.get("anchored_at"), anchor.get("updated_at"))):
        lines.append(f"Anchored at {one_line(when, 60)}.")
    lines.append("Read relative paths from there, and stay inside these folders.")
    return TABLE["workspace_anchor"].spec("\n".join(lines))


def _root(root: object) -> str:
    if isinstance(root, str):
        return f"- also mounted: {in_ticks(root, _LINE)}"
    fields = mapping(root)
    mode = one_line(text(first(fields.get("mount_mode"), fields.get("mode"))), 40)
    return f"- also mounted: {in_ticks(fields.get('path', ''), _LINE)}{f' ({mode})' if mode else ''}"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, msgspec.MsgspecError, UnicodeError):
        return repr(value)
