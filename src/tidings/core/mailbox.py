"""The mailbox: what came from outside and waits for a seam, in the order it came. Pure.

One line for user messages and reminders. Same-key reminders all wait; the transcript dedupes when
they are let in, newest wins (decision 13). An item is arrived, then exactly one of queued, drained
or revoked; the last ids of the gone ones are remembered so that a late revoke gets its answer. An id
of an external origin is its own: two origins may use the same (decision 3).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from tidings.core.reminder import Payload, Reminder
from tidings.core.seams import DRAINS, Mode, Seam, drains
from tidings.core.table import Slot, slot_of
from tidings.errors import CallerError

CAPACITY = 1_000
"""How many items wait at most; the sender of one more is told."""

REMEMBERED = 10_000
"""How many delivered and revoked ids are remembered."""

RevokeStatus: TypeAlias = Literal["revoked", "already_revoked", "already_delivered", "unknown_reminder_id"]


class MailboxFullError(CallerError):
    """The mailbox holds as much as it may; nothing that was accepted is lost."""


class RevokeError(CallerError):
    """A reminder that cannot be revoked: `reason` is already_delivered or unknown_reminder_id."""

    def __init__(self, reminder_id: str, reason: str) -> None:
        self.reminder_id = reminder_id
        self.reason = reason
        super().__init__(f"reminder {reminder_id!r} cannot be revoked: {reason}")


class UserMessage(msgspec.Struct, frozen=True):
    """A user's words, sent while the agent works."""

    id: str
    content: object


class Item(msgspec.Struct, frozen=True):
    """One thing that waits, how it wants to be let in, and the grants of an external sender."""

    mode: Mode
    what: Reminder | UserMessage
    grants: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The reminder's or message's id."""
        return self.what.id

    @property
    def slot(self) -> Slot:
        """The id in the namespace of its origin."""
        return self.what.id if isinstance(self.what, UserMessage) else slot_of(self.what)

    def enters(self, seam: Seam) -> bool:
        """Whether `seam` lets it in."""
        external = isinstance(self.what, Reminder) and self.what.trust == "external"
        return drains(seam, self.mode, self.grants if external else None)


class Mailbox(msgspec.Struct, frozen=True):
    """What waits, and the ids of what no longer does."""

    items: tuple[Item, ...] = ()
    delivered: tuple[Slot, ...] = ()
    revoked: tuple[Slot, ...] = ()

    def push(self, item: Item) -> Mailbox:
        """With `item` at the end.

        Raises:
            MailboxFullError: too much waits already.
        """
        if len(self.items) >= CAPACITY:
            raise MailboxFullError(
                f"{CAPACITY} items wait for this session already; send again when some were delivered"
            )
        return replace(self, items=(*self.items, item))

    def drain(self, seam: Seam) -> tuple[Mailbox, tuple[Item, ...]]:
        """Without what `seam` lets in, and that: mode by mode, first come first served."""
        entering = [item for item in self.items if item.enters(seam)]
        if not entering:
            return self, ()
        taken = tuple(item for mode in DRAINS[seam] for item in entering if item.mode == mode)
        left = tuple(item for item in self.items if not item.enters(seam))
        gone = tuple(item.slot for item in taken)
        return replace(self, items=left, delivered=remembered(self.delivered + gone)), taken

    def revoke(self, name: Slot) -> tuple[Mailbox, RevokeStatus]:
        """Without the queued reminder of this id, and what to answer (decision 13).

        An id without its origin is that of an external reminder only where no other has it.
        """
        queued = [item for item in self.items if isinstance(item.what, Reminder)]
        exact = [item for item in queued if item.slot == name]
        for item in exact or [item for item in queued if item.id == name]:
            left = tuple(other for other in self.items if other is not item)
            revoked = remembered((*self.revoked, item.slot))
            return replace(self, items=left, revoked=revoked), "revoked"
        if _named(name, self.revoked):
            return self, "already_revoked"
        return self, "already_delivered" if _named(name, self.delivered) else "unknown_reminder_id"

    def find(self, name: Slot) -> Reminder | UserMessage | None:
        """What waits under this id."""
        for item in self.items:
            if item.slot == name:
                return item.what
        return None

    def holds(self, message: UserMessage) -> bool:
        """Whether this message waits already; two of one id could not be told apart in the log.

        Raises:
            CallerError: something else waits under its id.
        """
        waiting = self.find(message.id)
        if waiting not in (None, message):
            fix = "send the same content again, or choose a new id"
            raise CallerError(f"message `id` {message.id!r} waits with other content; {fix}")
        return waiting is not None

    def same_key(self, reminder: Reminder) -> int:
        """How many queued reminders share the key and namespace of `reminder`."""
        if reminder.dedupe_key is None:
            return 0
        place = (reminder.dedupe_key, reminder.scope)
        queued = (item.what for item in self.items if isinstance(item.what, Reminder))
        return sum((other.dedupe_key, other.scope) == place for other in queued)

    def rows(self) -> list[Payload]:
        """What `session/pending_injections` answers, in order."""
        return [_row(position, item) for position, item in enumerate(self.items)]


def _row(position: int, item: Item) -> Payload:
    if isinstance(item.what, UserMessage):
        return {
            "kind": "user_message",
            "id": item.id,
            "messageId": item.id,
            "mode": item.mode,
            "position": position,
            "content": item.what.content,
        }
    reminder = item.what
    return {
        "kind": "reminder",
        "id": item.id,
        "reminderId": item.id,
        "mode": item.mode,
        "position": position,
        "body": reminder.body,
        "tags": list(reminder.tags),
        "dedupeKey": reminder.dedupe_key,
        "ttlTurns": reminder.ttl_turns,
        "preserveOnCompact": reminder.preserve_on_compact,
        "propagate": reminder.propagate,
        "roleHint": reminder.role_hint,
        "source": reminder.source,
        "firedAtTurn": reminder.fired_at_turn,
        "originatingAgentId": reminder.originating_agent_id,
    }


def remembered(ids: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """As many of the last ids as are kept for a late revoke."""
    return ids[-REMEMBERED:]


def _named(name: Slot, among: tuple[Slot, ...]) -> bool:
    """Whether this is one of them, or the id of one of them: who revokes need not name the origin."""
    return name in among or any(name == each[1] for each in among if not isinstance(each, str))
