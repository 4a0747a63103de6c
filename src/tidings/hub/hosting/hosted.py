"""A session of a host as the hub knows it: its turns, and the reminders that stand before its model. Pure.

Deciding gives records; `evolve` turns a session and a record into the next, live and when the log is
replayed. A reminder is offered (the hook answered with it), then rendered (the host went on, so it is
assumed), then seen (its text was found in the host's own file). It stands until its ttl, a newer one with
its key, a clear or a compaction ends it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from tidings.core.records import Record
from tidings.core.reminder import Payload, Reminder
from tidings.hosts.happening import Host

OFFERED = "hub.host.offered"
TURN = "hub.host.turn"
DECLINED = "hub.host.declined"
COMPACTED = "hub.host.compacted"
SEEN = "hub.host.seen"
CLEARED = "hub.host.cleared"
CHILD = "hub.host.child"
AUDITED = "hub.host.audited"
WARNING = "hub.host.warning"

TIMES = 256
"""How many ends of turns are remembered, to tell how long a reminder has waited."""
STANDING = 500
"""How many standing reminders of a session are kept track of; the oldest are let go first."""
DECLINED_MOST = 64
"""How many calls may be declined for what is not told in the meantime: then calls run again."""

Shown: TypeAlias = Literal["offered", "rendered", "seen"]
_LONGEST = 200


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder that was offered: the turn that first shows it, how many are left, and how sure that is.

    `due` says that it has to be shown again, because a compaction took it away.
    """

    reminder: Reminder
    first: int
    left: int | None
    shown: Shown = "offered"
    due: bool = False


Older: TypeAlias = Mapping[str, Sequence[Standing]]
"""What stands with the key of a new reminder, by its id."""


class Hosted(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a host. `times` are the ends of its last turns, `declined` the calls held back now."""

    session_id: str
    turn: int = 0
    times: tuple[int, ...] = ()
    declined: tuple[str, ...] = ()
    standing: Mapping[str, Standing] = msgspec.field(default_factory=dict)

    def waited(self, since_ms: int) -> int:
        """How many turns ended after that time."""
        return len(self.times) - bisect_right(self.times, since_ms)

    def unsure(self) -> list[Standing]:
        """What was rendered as far as is known, without a proof of it."""
        return [one for one in self.standing.values() if one.shown == "rendered"]

    def replaced_by(self, reminders: Iterable[Reminder]) -> Older:
        """What stands with the keys of these, each in its namespace."""
        keys = {each.id: _key(each) for each in reminders if each.dedupe_key is not None}
        if not keys:
            return {}
        found: dict[tuple[str | None, str | None], list[Standing]] = {}
        for one in self.standing.values():
            found.setdefault(_key(one.reminder), []).append(one)
        return {name: found[key] for name, key in keys.items() if key in found}


def _key(reminder: Reminder) -> tuple[str | None, str | None]:
    return reminder.dedupe_key, reminder.scope


def scoped(host: Host, session_id: str) -> str:
    """The id of a host's session at the hub: two hosts may use the same one."""
    name = f"{host}:{session_id}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 17]}~{sha256(name.encode()).hexdigest()[:16]}"


def evolve(session: Hosted, record: Record, reminders: Sequence[Reminder] = ()) -> Hosted:
    """`session` after one of its records; an offer comes with its reminders."""
    payload = record.payload
    match record.kind:
        case "hub.host.offered":
            return _offered(session, msgspec.convert(payload["turn"], int), reminders, payload)
        case "hub.host.turn":
            at = msgspec.convert(payload["at_ms"], int)
            return _answered(session, msgspec.convert(payload["turn"], int), at)
        case "hub.host.declined":
            calls = msgspec.convert(payload["calls"], tuple[str, ...])
            return replace(session, declined=(*session.declined, *calls))
        case "hub.host.compacted":
            return replace(session, standing=_compacted(session.standing))
        case "hub.host.seen":
            names = msgspec.convert(payload["reminder_ids"], list[str])
            return replace(session, standing=_seen(session.standing, names))
        case "hub.host.cleared":
            gone = msgspec.convert(payload["reminder_ids"], set[str])
            left = {name: one for name, one in session.standing.items() if name not in gone}
            return replace(session, standing=left)
    return session


def _offered(session: Hosted, first: int, reminders: Sequence[Reminder], payload: Payload) -> Hosted:
    again = msgspec.convert(payload.get("again", ()), tuple[str, ...])
    standing = {
        name: replace(one, due=False, shown="offered") if name in again else one
        for name, one in session.standing.items()
    }
    for same in session.replaced_by(reminders).values():
        for other in same:
            standing.pop(other.reminder.id, None)
    for reminder in reminders:
        standing[reminder.id] = Standing(reminder=reminder, first=first, left=reminder.ttl_turns)
    for name in list(standing)[: max(0, len(standing) - STANDING)]:
        del standing[name]
    return replace(session, declined=(), standing=standing)


def _answered(session: Hosted, turn: int, at_ms: int) -> Hosted:
    standing = {
        name: replace(one, left=left, shown=_shown(one, turn))
        for name, one in session.standing.items()
        if (left := _left(one, turn)) is None or left > 0
    }
    times = (*session.times, at_ms)[-TIMES:]
    return replace(session, turn=turn, times=times, declined=(), standing=standing)


def _shown(one: Standing, turn: int) -> Shown:
    """How sure it is that it was shown, once `turn` is answered."""
    return "rendered" if one.shown == "offered" and one.first <= turn else one.shown


def _left(one: Standing, turn: int) -> int | None:
    """The ttl after the pass of `turn`; what a later turn first shows is left alone (decision 1)."""
    return one.left if one.left is None or one.first > turn else one.left - 1


def _compacted(standing: Mapping[str, Standing]) -> dict[str, Standing]:
    """Ttls count down, and only what is to be preserved is kept, to be shown again (decision 4)."""
    kept = {}
    for name, one in standing.items():
        left = None if one.left is None else one.left - 1
        if one.reminder.preserve_on_compact and (left is None or left > 0):
            kept[name] = replace(one, left=left, due=True)
    return kept


def _seen(standing: Mapping[str, Standing], names: Iterable[str]) -> dict[str, Standing]:
    found = set(names)
    return {name: replace(one, shown="seen") if name in found else one for name, one in standing.items()}
