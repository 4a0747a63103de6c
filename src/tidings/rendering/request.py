"""The request that rendering gives: the vendor's body, and what became of each reminder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from tidings.core.fire import Shot, Shown, Unused, Warned
from tidings.core.reminder import Payload, Reminder
from tidings.rendering.plan import hint_warnings, shown

Placement: TypeAlias = Literal["seed", "append_only"]


class Issued(msgspec.Struct, frozen=True, kw_only=True):
    """An append-only entry at its place beside the messages; JSON-ready for storing.

    It stands before `messages[at]` as a message of its own, or as a last part of `messages[at]`.
    """

    at: int
    place: Literal["message", "part"]
    content: Payload
    reminder_ids: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered request. `body` holds what rendering decides: merge it with model and settings.

    `dropped` are the reminders it could not use, `deferred` external ones that wait for the next
    because of the size budget; `issued` goes into the next append-only `render`.
    """

    route: str
    placement: Placement
    body: Payload
    rendered: Sequence[Reminder] = ()
    roles: Mapping[str, str] = {}
    appended: tuple[Shown, ...] = ()
    dropped: tuple[Unused, ...] = ()
    issued: tuple[Issued, ...] = ()
    deferred: tuple[str, ...] = ()
    lost: Mapping[str, str] = {}
    waiting: tuple[Warned, ...] = ()
    announced: frozenset[str] = frozenset()

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
        standing = frozenset(i for issued in self.issued for i in issued.reminder_ids)
        return Shot(
            placement=self.placement,
            issued=tuple(self.rendered) if self.placement == "append_only" else (),
            shown=self.fired,
            unused=self.dropped,
            warnings=self.warnings,
            standing=standing,
            announced=self.announced,
        )
