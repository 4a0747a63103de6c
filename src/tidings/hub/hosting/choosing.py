"""What of all that waits for a session goes into one answer: modes, dedupe, staleness, order. Pure.

Only a look at each envelope's outside is needed to choose, so that ten thousand of them cost little; a
`Reminder` is built for those that may go out. Nothing is lost here: what is not chosen waits on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tidings.core.reminder import Reminder
from tidings.core.seams import DRAINS, Seam, drains
from tidings.hosts.voice import MOST
from tidings.hub.envelope import Envelope
from tidings.hub.hosting.hosted import Hosted
from tidings.hub.rows import reminder_of


class Replaced(msgspec.Struct, frozen=True):
    """An older envelope that a newer one with its key makes needless."""

    envelope: Envelope
    by: Envelope


class Chosen(msgspec.Struct, frozen=True):
    """What may go out now, in order; what needs no delivery any more; and how many wait behind."""

    ready: tuple[Envelope, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    stale: tuple[Envelope, ...] = ()
    behind: int = 0

    def reminders(self) -> list[Reminder]:
        """The reminders of those that may go out."""
        return [reminder_of(envelope) for envelope in self.ready]


def waiting(envelopes: Iterable[Envelope], session_id: str) -> list[Envelope]:
    """Those that wait for this session; what another host has leased does not."""
    return [one for one in envelopes if one.deliveries[session_id].state == "waiting"]


def choose(session: Hosted, seam: Seam, envelopes: Sequence[Envelope]) -> Chosen:
    """What `seam` lets in of the waiting `envelopes`."""
    if not envelopes:
        return Chosen()
    modes = DRAINS[seam]
    newest = {_key(one): one for one in envelopes if one.reminder.get("dedupe_key") is not None}
    replaced, stale = [], []
    fresh: dict[str, list[Envelope]] = {mode: [] for mode in modes}
    for one in envelopes:
        if newest and (last := newest.get(_key(one), one)) is not one:
            replaced.append(Replaced(one, last))
        elif is_stale(session, one):
            stale.append(one)
        elif one.mode in fresh and (one.origin is None or drains(seam, one.mode, one.grants)):
            fresh[one.mode].append(one)
    ordered = [one for mode in modes for one in fresh[mode]]
    return Chosen(tuple(ordered[:MOST]), tuple(replaced), tuple(stale), max(0, len(ordered) - MOST))


def is_stale(session: Hosted, envelope: Envelope) -> bool:
    """Whether more turns went by while it waited than it should have been shown in.

    The request that was under way when it came does not count.
    """
    ttl = envelope.reminder.get("ttl_turns")
    return isinstance(ttl, int) and session.waited(envelope.accepted_at_ms) > ttl


def _key(envelope: Envelope) -> tuple[object, ...]:
    """What makes two the same; what is only recorded replaces nothing that is to be read."""
    return envelope.reminder.get("dedupe_key"), envelope.origin, envelope.mode == "audit_only"
