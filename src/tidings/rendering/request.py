"""The request that rendering gives: the vendor's body, and what became of each reminder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from tidings.core.fire import Shot, Shown, Unused, Warned
from tidings.core.reminder import Payload, Reminder
from tidings.core.table import Slot, slot_of
from tidings.rendering.plan import Planned, hint_warnings, shown

Placement: TypeAlias = Literal["seed", "append_only"]


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """An append-only entry at its place beside the messages; JSON-ready for storing.

    It stands before `messages[at]` as a message of its own, or as a last part of `messages[at]`. An id
    of an external origin is a pair with that origin, because two may use the same.
    """

    at: int
    place: Literal["message", "part"]
    content: Payload
    reminder_ids: tuple[Slot, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered request. `body` holds what rendering decides: merge it with model and settings.

    `dropped` are the reminders it could not use, `late` those that wait for the next: external ones
    beyond the size budget, or all new ones when nothing may be appended, and `held` says why.
    `issued` goes into the next append-only `render`.
    """

    route: str
    placement: Placement
    body: Payload
    rendered: Sequence[Reminder] = ()
    roles: Mapping[str, str] = {}
    appended: tuple[Shown, ...] = ()
    dropped: tuple[Unused, ...] = ()
    issued: tuple[Issued, ...] = ()
    late: tuple[Reminder, ...] = ()
    held: str | None = None
    lost: Mapping[str, str] = {}
    waiting: tuple[Warned, ...] = ()
    announced: frozenset[Slot] = frozenset()
    planned: Planned | None = None

    @property
    def deferred(self) -> tuple[str, ...]:
        """The ids of those that wait, in the order they will be taken."""
        return tuple(reminder.id for reminder in self.late)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """Hints that the route could not keep, and origins that had to wait."""
        return (*self.waiting, *hint_warnings(self.rendered, self.lost))

    @property
    def fired(self) -> tuple[Shown, ...]:
        """The reminders in it, each with its role; append-only: those that it issues anew."""
        return self.appended if self.placement == "append_only" else shown(self.rendered, self.roles)

    @property
    def shot(self) -> Shot:
        """What `mark_fired` writes after the answer."""
        if self.planned is not None:
            return self.planned.shot
        standing = frozenset(i for issued in self.issued for i in issued.reminder_ids)
        return Shot(
            placement=self.placement,
            issued=tuple(self.rendered),
            shown=self.fired,
            unused=self.dropped,
            warnings=self.warnings,
            standing=standing,
            announced=self.announced,
            waiting=tuple(slot_of(r) for r in self.late if r.trust == "external"),
        )
