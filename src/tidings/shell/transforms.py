"""The functions people call: each stamps ids, runs one pure transform and writes its records.

What they decide is in `tidings.core`; where the records go is in `journal.py`. All of them take an
immutable transcript and give a result that holds the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypedDict

import msgspec

from tidings.core import compaction, inherit, lifecycle, records
from tidings.core.archive import archive
from tidings.core.compaction import KEEP, Compacted, Compactor
from tidings.core.fire import Fired, fire
from tidings.core.inherit import Inherited
from tidings.core.lenient import build_leniently
from tidings.core.lifecycle import Passed, Removed, Selector
from tidings.core.messages import Message
from tidings.core.producers import ProducerName, build, ignored_fields
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Propagate, Reminder, RoleHint, Trust
from tidings.core.transcript import Transcript, event_of
from tidings.core.trust import admit
from tidings.shell.ids import new_id
from tidings.shell.journal import current_journal, write

if TYPE_CHECKING:
    from typing import Unpack

    from tidings.rendering.request import Request


class ReminderOptions(TypedDict, total=False):
    """What `inject_reminder` takes: seed 001's ReminderSpec without what Tidings stamps."""

    body: str
    tags: list[str] | tuple[str, ...]
    dedupe_key: str | None
    ttl_turns: int | None
    preserve_on_compact: bool
    propagate: Propagate
    role_hint: RoleHint


class SelectorOptions(TypedDict, total=False):
    """What `clear_reminders` takes; all given must match."""

    id: str | None
    tag: str | None
    dedupe_key: str | None


class Injected(msgspec.Struct, frozen=True):
    """What `inject_reminder` gave."""

    transcript: Transcript
    reminder_id: str
    deduped_count: int


def inject_reminder(
    transcript: Transcript,
    options: Mapping[str, object] | None = None,
    /,
    **fields: Unpack[ReminderOptions],
) -> Injected:
    """Append a pending reminder; older ones with its dedupe key leave. Give keywords or one mapping.

    Raises:
        DiagnosticError: HARN-RMD-001 or HARN-RMD-005, with every problem.
    """
    return admit_reminder(transcript, _one(options, fields), producer="pipeline")


def admit_reminder(
    transcript: Transcript,
    options: Mapping[str, object],
    *,
    producer: ProducerName,
    origin: str | None = None,
    provider_id: str | None = None,
    grants: frozenset[str] = frozenset(),
) -> Injected:
    """What `inject_reminder` is for pipeline code, for any producer: adapters and hooks call this.

    The producer decides source and trust; `grants` are the user's, by origin.

    Raises:
        DiagnosticError: with the producer's codes (decision 10).
        DuplicateReminderError: the sender's own id is pending with other content.
    """
    turn = lifecycle.stamp_turn(transcript)
    reminder = build(producer, options, id=new_id(), turn=turn, origin=origin, provider_id=provider_id)
    admitted = admit(reminder, grants)
    result = lifecycle.inject(transcript, admitted.reminder, new_id())
    if current_journal() is not None:
        noted = admitted.records if result.accepted else ()
        if ignored := ignored_fields(producer, options):
            about = {"reminder_id": result.reminder.id, "fields": list(ignored)}
            text = "unknown fields were ignored"
            noted += (records.warning("unknown_fields", origin or producer, text, **about),)
        write(result.transcript, (*noted, *result.records), result.changes)
    return Injected(result.transcript, result.reminder.id, len(result.left))


def inject_prepared(transcript: Transcript, reminder: Reminder) -> Injected:
    """Append a reminder that passed the gate earlier: what a seam lets in from the mailbox."""
    result = lifecycle.inject(transcript, reminder, new_id())
    _tell(result)
    return Injected(result.transcript, result.reminder.id, len(result.left))


def archive_reminder(transcript: Transcript, reminder: Reminder) -> Transcript:
    """Keep a reminder for the audit alone: in the events, never pending, never rendered."""
    result = archive(transcript, reminder, new_id())
    write(result.transcript, (), result.changes)
    return result.transcript


def clear_reminders(
    transcript: Transcript,
    selector: Mapping[str, object] | None = None,
    /,
    **fields: Unpack[SelectorOptions],
) -> Removed:
    """Remove the pending reminders that match `id`, `tag` and `dedupe_key`, as far as given.

    Raises:
        DiagnosticError: HARN-RMD-001 for an unknown or empty selector.
    """
    result = lifecycle.clear(transcript, Selector.of(_one(selector, fields)))
    _tell(result)
    return result


def reminder_event(options: Mapping[str, object], /) -> Payload:
    """The transcript event for a reminder-like dict; what is missing or wrong gets its default."""
    return event_of(build_leniently(options, id=new_id()), new_id())


def append_message(transcript: Transcript, message: Message) -> Transcript:
    """`transcript.append`, written to the session's transcript topic so that replay knows it."""
    following = transcript.append(message)
    write(following, (), (said(message),))
    return following


def said(message: Message) -> Change:
    """A message was added to the conversation."""
    return Change("transcript.message", {"message": dict(message)})


def checkpoint(transcript: Transcript) -> Transcript:
    """Write the whole transcript to its topic: replay starts from the last one."""
    write(transcript, (), (Change("transcript.snapshot", {"transcript": transcript.to_dict()}),))
    return transcript


def post_turn(transcript: Transcript, *, turn: int) -> Passed:
    """The pass after answered request `turn`: ttls count down, what ran out leaves."""
    result = lifecycle.post_turn(transcript, turn)
    _tell(result)
    return result


def compact(
    transcript: Transcript,
    *,
    strategy: str = "truncate",
    custom_compactor: Compactor | None = None,
    keep: int = KEEP,
    turn: int | None = None,
) -> Compacted:
    """Shorten the transcript; only `preserve_on_compact` reminders stay.

    "truncate" keeps the last `keep` messages without parting a tool call from its result; "custom"
    calls `custom_compactor(messages, reminders)`. `turn` is the last finished turn.
    """
    result = compaction.compact(
        transcript, strategy=strategy, custom_compactor=custom_compactor, keep=keep, turn=turn
    )
    _tell(result)
    return result


def handoff(transcript: Transcript, *, agent_id: str | None = None) -> list[Payload]:
    """What a direct child inherits: the handoff envelope's `reminder_propagation`, JSON-ready."""
    return inherit.handoff(transcript, agent_id)


def receive_handoff(
    child: Transcript,
    envelope: object,
    *,
    sub_agent_id: str | None = None,
    trust: Trust = "operator",
) -> Inherited:
    """Seed a child transcript with inherited copies, before its first turn."""
    result = inherit.receive(child, envelope, sub_agent_id=sub_agent_id, new_id=new_id, trust=trust)
    _tell(result)
    return result


def mark_fired(transcript: Transcript, request: Request, *, turn: int) -> Fired:
    """Call after the answer to `request`: writes `fired`, prunes invalid events.

    A request that failed is not marked: it fires nothing and spends no ttl (decision 8).
    """
    result = fire(transcript, request.shot, turn)
    write(result.transcript, result.told, result.changes)
    return result


class _Result(Protocol):
    """What every transform of the core gives."""

    @property
    def transcript(self) -> Transcript: ...
    @property
    def records(self) -> tuple[Record, ...]: ...
    @property
    def changes(self) -> tuple[Change, ...]: ...


def _tell(result: _Result) -> None:
    """Write what a transform did; without an active log not even the records are built."""
    if current_journal() is not None:
        write(result.transcript, result.records, result.changes)


def _one(options: Mapping[str, object] | None, fields: Mapping[str, object]) -> Mapping[str, object]:
    """The mapping or the keywords; with both, the keywords win."""
    if options is None:
        return dict(fields)
    return {**options, **fields} if fields else options
