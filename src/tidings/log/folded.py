"""Which topics are folded into state, and where they may be cut without losing any. A table and its check.

Whoever folds such a topic starts from a snapshot, so only what a snapshot holds may be purged. A topic
without snapshots goes as a whole or stays. All other topics are observations: any of their past may
go. Every log asks `check_cut` before it purges; written against the port alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from tidings.errors import LogUsageError
from tidings.log.port import EventLog
from tidings.log.record import LogRecord
from tidings.log.search import kept, last


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """Topics that are state: their pattern, the kind of their snapshots, and what to do to get one.

    Snapshots stand in the topic itself unless `where` names another; up to which cursor one holds
    everything says its member `covers`, else all before it is meant. One without the member `within`
    lacks what the kinds in `parts` say. `forgettable` topics may go as a whole.
    """

    pattern: str
    fix: str
    snapshot: str | None = None
    where: str | None = None
    covers: str | None = None
    parts: tuple[str, ...] = ()
    within: str | None = None
    forgettable: bool = False


TABLE = (
    Folded(
        pattern="session.*.transcript",
        snapshot="transcript.snapshot",
        parts=("mailbox.", "session."),
        within="session",
        forgettable=True,
        fix="call session.checkpoint() (td.checkpoint(transcript) where no td.Session wrote), then purge "
        "what lies before it, or purge all of the topic to forget the session",
    ),
    Folded(
        pattern="session.*.approvals",
        forgettable=True,
        fix="its answers hold for good: purge all of the topic to forget them",
    ),
    Folded(pattern="bridge.sessions", fix="it lists the sessions of this log and stays"),
    Folded(
        pattern="hub",
        snapshot="hub.snapshot",
        where="hub.snapshots",
        covers="cursor",
        fix="the hub purges it behind a snapshot: run `tidings purge` while it runs",
    ),
    Folded(
        pattern="hub.snapshots",
        snapshot="hub.snapshot",
        covers="before",
        fix="the hub starts from the last snapshot",
    ),
    Folded(
        pattern="told.*",
        snapshot="told.snapshot",
        parts=("",),
        within="ends",
        forgettable=True,
        fix="the hub purges it behind a snapshot: run `tidings purge` while it runs",
    ),
)
"""Every kind of topic that somebody folds."""


def rule_of(topic: str) -> Folded | None:
    """What `topic` is, when it is folded."""
    return next((each for each in TABLE if fnmatchcase(topic, each.pattern)), None)


def furthest(log: EventLog, topic: str) -> int:
    """The last cursor that may be purged while the topic's state stays."""
    rule = rule_of(topic)
    if rule is None:
        return log.latest(topic)
    snapshot = _last_whole(log, rule.where or topic, rule)
    return log.purged_through(topic) if snapshot is None else _covered(snapshot, rule)


def check_cut(log: EventLog, topic: str, through: int) -> bool:
    """Whether `topic` must go whole, if it is cut after `through`.

    Raises:
        LogUsageError: it would lose what no snapshot holds; the message says what to do.
    """
    rule = rule_of(topic)
    if rule is None or through <= (allowed := furthest(log, topic)):
        return False
    if rule.forgettable and through >= log.latest(topic):
        return True
    raise LogUsageError(
        f"topic {topic!r} cannot be purged up to {through}, only up to {allowed}: "
        f"what lies behind is in no snapshot; {rule.fix}"
    )


def _last_whole(log: EventLog, topic: str, rule: Folded) -> LogRecord | None:
    """The last snapshot that holds everything before it."""
    if rule.snapshot is None:
        return None
    newest = last(log, topic, rule.snapshot)
    if newest is None or rule.within is None or rule.within in newest.payload:
        return newest
    found = deque(_whole_ones(log, topic, rule), maxlen=1)
    return found[0] if found else None


def _whole_ones(log: EventLog, topic: str, rule: Folded) -> Iterator[LogRecord]:
    """Snapshots with the other parts in them, and those from before there were other parts."""
    apart = False
    for record in kept(log, topic):
        complete = record.kind == rule.snapshot and rule.within in record.payload
        if complete or (record.kind == rule.snapshot and not apart):
            yield record
        apart = apart or complete or record.kind.startswith(rule.parts)


def _covered(snapshot: LogRecord, rule: Folded) -> int:
    said = None if rule.covers is None else snapshot.payload.get(rule.covers)
    return said if isinstance(said, int) else snapshot.cursor - 1
