"""A reminder that a sender asks for becomes an item of the mailbox, with what is told of it.

Nothing is changed here: what a session would have to do is worked out, from what it holds. `Session.remind`
does it, in one step.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tidings.agent.arguments import expect
from tidings.agent.store import Stored
from tidings.core import records
from tidings.core.lifecycle import inject
from tidings.core.mailbox import Item, UserMessage
from tidings.core.producers import PRODUCERS, ProducerName, build, ignored_fields
from tidings.core.records import Record
from tidings.core.reminder import Reminder
from tidings.core.seams import with_mode
from tidings.core.table import slot_of
from tidings.core.trust import admit, admit_mode
from tidings.errors import DuplicateReminderError
from tidings.shell.ids import new_id


class Accepted(msgspec.Struct, frozen=True):
    """A reminder on its way into the mailbox; `named` says that the sender chose its id."""

    reminder: Reminder
    item: Item
    named: bool
    told: tuple[Record, ...]


def accept(
    given: Mapping[str, object],
    mode: str | None,
    producer: ProducerName,
    origin: str | None,
    grants: frozenset[str],
) -> Accepted:
    """Read what a sender gave, and hold it to what the sender may.

    Raises:
        CallerError: nobody is called as `producer` says.
        DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
    """
    expect("producer", producer, _is_producer, f"one of {', '.join(PRODUCERS)}")
    asked = given.get("mode") if mode is None else mode
    fields = {name: value for name, value in given.items() if name != "mode" or mode is not None}
    read, delivery, former = with_mode(
        asked, "session/remind", lambda: build(producer, fields, id=new_id(), origin=origin)
    )
    admitted = admit(read, grants)
    way = admit_mode(admitted.reminder, delivery, grants)
    item = Item(way.mode, admitted.reminder, way.grants)
    warned = _warnings(read, former, ignored_fields(producer, fields))
    told = (*admitted.records, *warned, *way.records, _queued(admitted.reminder, item))
    return Accepted(admitted.reminder, item, "id" in fields, told)


def _is_producer(given: object) -> bool:
    return isinstance(given, str) and given in PRODUCERS


def is_known(stored: Stored, reminder: Reminder) -> bool:
    """Whether the same reminder was accepted before (decision 6).

    Raises:
        DuplicateReminderError: its id was, with other content.
    """
    box, name = stored.mailbox, slot_of(reminder)
    waiting = box.find(name)
    if waiting is None:
        is_pending = not inject(stored.transcript, reminder, reminder.id).accepted
        return is_pending or name in box.delivered or name in box.revoked
    if isinstance(waiting, UserMessage):
        raise DuplicateReminderError(reminder.id, ("kind",))
    if replace(waiting, fired_at_turn=0) != replace(reminder, fired_at_turn=0):
        raise DuplicateReminderError(reminder.id, ("content",))
    return True


def will_replace(stored: Stored, reminder: Reminder) -> int:
    """How many queued and pending ones have its dedupe key."""
    if not reminder.dedupe_key:
        return 0
    same = (reminder.dedupe_key, reminder.scope)
    pending = [each for each in stored.transcript.pending if (each.dedupe_key, each.scope) == same]
    return stored.mailbox.same_key(reminder) + len(pending)


def _queued(reminder: Reminder, item: Item) -> Record:
    return records.record(
        "queued",
        reminder_id=reminder.id,
        mode=item.mode,
        source=reminder.source,
        dedupe_key=reminder.dedupe_key,
        tags=list(reminder.tags),
        origin=reminder.provenance.origin,
    )


def _warnings(reminder: Reminder, former: bool, ignored: tuple[str, ...]) -> list[Record]:
    label = records.producer_label(reminder)
    found: list[Record] = []
    if former:
        text = "wait_for_completion is read as audit_only: the model never sees such a reminder"
        found.append(records.warning("mode_renamed", label, text, reminder_id=reminder.id))
    if ignored:
        about = {"reminder_id": reminder.id, "fields": list(ignored)}
        found.append(records.warning("unknown_fields", label, "unknown fields were ignored", **about))
    return found
