"""Compaction: the transcript is rebuilt shorter, and the reminders go through their order.

Decision 4: finite ttls count down, expired ones leave, the newest of each key stays, then the
strategy runs (a custom compactor sees every survivor), and only `preserve_on_compact` is kept.
Pure, except for what a custom compactor does; if it raises, nothing has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from tidings.core import records
from tidings.core.lifecycle import check_turn, invalid_id
from tidings.core.listing import Listing
from tidings.core.messages import Message, MessageList
from tidings.core.producers import shown
from tidings.core.records import Change, Record
from tidings.core.reminder import Payload, Reminder
from tidings.core.shelf import Shelf
from tidings.core.table import Entry
from tidings.core.transcript import REMINDER_KIND, State, Transcript
from tidings.errors import CallerError

Strategy: TypeAlias = Literal["truncate", "custom"]
Compactor: TypeAlias = Callable[[Sequence[Message], Sequence[Reminder]], object]

KEEP = 20


class Compacted(msgspec.Struct, frozen=True):
    """What compaction gave. `reminders` are the survivors that the strategy saw."""

    transcript: Transcript
    reminders: tuple[Reminder, ...]
    records: tuple[Record, ...]
    archived_messages: int

    @property
    def changes(self) -> tuple[Change, ...]:
        """The whole new transcript, from which replay goes on."""
        return (Change("transcript.snapshot", {"transcript": self.transcript.to_dict()}),)


def compact(
    transcript: Transcript,
    *,
    strategy: str = "truncate",
    custom_compactor: Compactor | None = None,
    keep: int = KEEP,
    turn: int | None = None,
) -> Compacted:
    """Shorten the transcript. `turn` is the last finished turn; None counts every ttl down.

    Raises:
        CallerError: an unknown strategy, a bad `keep`, or a compactor's unusable answer.
    """
    _check(strategy, custom_compactor, keep, turn)
    state = transcript.state
    aged = state.shelf.age(turn)
    written = [_expired_before(state.shelf, entry) for entry in aged.expired]
    shelf, collapsed = _newest_per_key(aged.shelf)
    written += collapsed
    survivors = tuple(shelf.remaining(entry) for entry in shelf.entries())
    if strategy == "custom" and custom_compactor is not None:
        base = _custom(transcript, custom_compactor, survivors)
    else:
        base = replace(state, messages=MessageList.of(truncated(transcript.messages, keep)))
    written += [
        records.expired(reminder, "compaction")
        for reminder in survivors
        if not reminder.preserve_on_compact
    ]
    others, invalid = _without_invalid(base)
    written += invalid
    kept = shelf.change([(e, None) for e in shelf.entries() if not e.reminder.preserve_on_compact])
    marks = replace(state.marks, standing=frozenset(), withdrawn=(), waiting=())
    following = replace(
        state,
        messages=base.messages,
        shelf=kept,
        others=others,
        marks=marks,
        next_seq=base.next_seq,
    )
    archived = max(0, len(state.messages) - len(base.messages))
    return Compacted(Transcript.of(following), survivors, tuple(written), archived)


def _check(strategy: str, custom: Compactor | None, keep: object, turn: int | None) -> None:
    if strategy not in ("truncate", "custom"):
        raise CallerError(f"`strategy` must be truncate or custom; got {shown(strategy)}")
    if (strategy == "custom") != (custom is not None):
        raise CallerError('`custom_compactor` goes with strategy="custom", and only with it')
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
        raise CallerError(f"`keep` must be a number of messages, 0 or more; got {shown(keep)}")
    if turn is not None:
        check_turn(turn)


def _expired_before(shelf: Shelf, entry: Entry) -> Record:
    reminder = shelf.remaining(entry)
    about: Payload = {"ttl_turns_before": reminder.ttl_turns, "expired_at_boundary": "pre_compact"}
    return records.expired(reminder, "ttl", about)


def _newest_per_key(shelf: Shelf) -> tuple[Shelf, list[Record]]:
    """Collapse same-key reminders; a lower trust tier never replaces a higher one (decision 3)."""
    by_key: dict[object, list[Entry]] = {}
    for entry in shelf.entries():
        if entry.key is not None:
            by_key.setdefault(entry.key, []).append(entry)
    removed: list[Entry] = []
    written: list[Record] = []
    for same in by_key.values():
        for index in range(len(same) - 1, 0, -1):
            newest = same[index]
            older = [e for e in same[:index] if e.rank <= newest.rank and e not in removed]
            if older and newest not in removed:
                removed += older
                written.append(records.deduped(tuple(e.reminder for e in older), newest.reminder))
    return shelf.change([(entry, None) for entry in removed]), written


def _custom(transcript: Transcript, compactor: Compactor, survivors: tuple[Reminder, ...]) -> State:
    answer = compactor(transcript.messages, Listing(survivors))
    state = transcript.state
    if isinstance(answer, Transcript):
        given = answer.state
        others = tuple(
            (state.next_seq + seq, event)
            for seq, event in enumerate(answer.events)
            if event.get("kind") != REMINDER_KIND
        )
        return replace(
            state,
            messages=given.messages,
            others=others,
            next_seq=state.next_seq + len(answer.events),
        )
    if isinstance(answer, Mapping):
        answer = answer.get("messages")
    if isinstance(answer, Sequence) and all(isinstance(message, Mapping) for message in answer):
        return replace(state, messages=MessageList.of(answer))
    raise CallerError(
        "a custom compactor returns a transcript, a list of messages, or an object with `messages`; "
        f"got {shown(answer)}"
    )


def _without_invalid(base: State) -> tuple[tuple[tuple[int, Payload], ...], list[Record]]:
    kept, written = [], []
    for seq, event in base.others:
        if event.get("kind") == REMINDER_KIND:
            written.append(records.dropped(invalid_id(event), "invalid"))
        else:
            kept.append((seq, event))
    return tuple(kept), written


def truncated(messages: Sequence[Message], keep: int) -> tuple[Message, ...]:
    """Leading system messages and the last `keep`, never parting a tool call from its result."""
    head = 0
    while head < len(messages) and messages[head].get("role") in ("system", "developer"):
        head += 1
    start = max(head, len(messages) - keep)
    while start > head and start < len(messages) and holds_tool_result(messages[start]):
        start -= 1
    return (*messages[:head], *messages[start:])


def holds_tool_result(message: Message) -> bool:
    """Whether a message, in any vendor's form, answers a tool call made before it."""
    if message.get("role") in ("tool", "function"):
        return True
    if message.get("type") in ("function_call_output", "custom_tool_call_output"):
        return True
    for name in ("content", "parts"):
        blocks = message.get(name)
        if isinstance(blocks, (list, tuple)) and any(_is_result_block(block) for block in blocks):
            return True
    return False


def _is_result_block(block: object) -> bool:
    return isinstance(block, Mapping) and (
        block.get("type") in ("tool_result", "function_response")
        or "functionResponse" in block
        or "function_response" in block
    )
