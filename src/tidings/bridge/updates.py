"""What an observer is told of a reminder's life: the three updates of seed 004, from log records. Pure.

`fired` becomes `reminder_emitted`, `deduped` and `expired` their namesakes; other records are for the log
alone. Records carry no body, so the caller hands in the reminder. How a client is told (as updates of their
own, or inside `_meta`) is the protocol's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidings.core.reminder import Payload, Reminder, Source

SOURCES: dict[Source, str] = {
    "bridge": "bridge",
    "stdlib_provider": "provider",
    "hook": "hook",
    "in_pipeline": "host",
    "inherited": "inherited",
}
"""Our sources in the words of seed 004 (decision 33)."""

PHASES = {"ttl": "ttl_expired", "cleared": "cleared", "compaction": "compacted_out"}
"""Why a reminder left, in the words of seed 004 (decision 33)."""

KINDS = ("reminder_emitted", "reminder_deduped", "reminder_expired")
_PREFIX = "transcript.reminder."


def update_of(
    kind: str, payload: Mapping[str, object], find: Callable[[str], Reminder | None]
) -> Payload | None:
    """The update that a lifecycle record means, if it means one; `find` gives a reminder by its id."""
    name = kind.removeprefix(_PREFIX)
    if name == "fired":
        reminder = find(str(payload["reminder_id"]))
        return None if reminder is None else emitted(reminder, str(payload.get("rendered_role", "")))
    if name == "deduped":
        ids = payload.get("replaced_ids")
        dropped = [str(one) for one in ids] if isinstance(ids, (list, tuple)) else []
        return deduped(str(payload["reminder_id"]), str(payload.get("dedupe_key")), dropped)
    if name == "expired":
        turn = payload.get("expired_at_turn")
        return expired(
            str(payload["reminder_id"]),
            str(payload.get("reason")),
            turn if isinstance(turn, int) else None,
        )
    return None


def emitted(reminder: Reminder, rendered_role: str = "") -> Payload:
    """A reminder stands in a request that the model answered."""
    provenance = reminder.provenance
    update: Payload = {
        "sessionUpdate": "reminder_emitted",
        "reminderId": reminder.id,
        "body": reminder.body,
        "tags": list(reminder.tags),
        "source": SOURCES[reminder.source],
        "firedAtTurn": reminder.fired_at_turn,
    }
    if reminder.dedupe_key is not None:
        update["dedupeKey"] = reminder.dedupe_key
    if provenance.provider_id is not None and reminder.source in ("stdlib_provider", "hook"):
        update["providerId"] = provenance.provider_id
    more: Payload = {"roleHint": reminder.role_hint, "ttlTurns": reminder.ttl_turns}
    if rendered_role:
        more["renderedRole"] = rendered_role
    return _copied(update, more)


def deduped(reminder_id: str, dedupe_key: str, dropped_ids: list[str]) -> Payload:
    """A newer reminder took the place of older ones with its key."""
    return _copied(
        {
            "sessionUpdate": "reminder_deduped",
            "reminderId": reminder_id,
            "dedupeKey": dedupe_key,
            "droppedReminderIds": dropped_ids,
        }
    )


def expired(reminder_id: str, reason: str, turn: int | None = None) -> Payload:
    """A reminder left: `reason` is the log's word for it."""
    update: Payload = {
        "sessionUpdate": "reminder_expired",
        "reminderId": reminder_id,
        "phase": PHASES.get(reason, "cleared"),
    }
    if turn is not None:
        update["expiredAtTurn"] = turn
    return _copied(update)


def carried(updates: Sequence[Payload]) -> Payload:
    """Updates for the `_meta.harn` of something else: a list, and the singular when there is just one."""
    told = [_copy(update) for update in updates]
    return {"reminders": told, "reminder": told[0]} if len(told) == 1 else {"reminders": told}


def _copy(update: Payload) -> object:
    """What an update carries under its own `_meta.harn.reminder`: it says more than the root."""
    meta = update.get("_meta")
    harn = meta.get("harn") if isinstance(meta, dict) else None
    return harn.get("reminder", update) if isinstance(harn, dict) else update


def _copied(update: Payload, more: Payload | None = None) -> Payload:
    """With the copy under `_meta.harn.reminder` that older readers look at (decision 32)."""
    return {**update, "_meta": {"harn": {"reminder": {**update, **(more or {})}}}}
