"""What of a log is older than a time and may go: a plan to look at first, and to carry out.

Folded topics go only as far as a snapshot holds them; what has to stay is told with the way out. Sessions
are forgotten only when they are meant by name. `tidings purge --log` is the caller.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from tidings.log.folded import furthest, rule_of
from tidings.log.port import EventLog
from tidings.log.search import cursor_before
from tidings.log.steps import in_steps, tidy_checkpoints


class Planned(msgspec.Struct, frozen=True):
    """`count` records of a topic, the last of them `purged_through`; `whole` when nothing is left."""

    topic: str
    count: int
    purged_through: int
    whole: bool = False


class Kept(msgspec.Struct, frozen=True):
    """`count` old records of a topic that stay, and what would let them go."""

    topic: str
    count: int
    fix: str


class Plan(msgspec.Struct, frozen=True):
    """What goes, and what stays although it is old."""

    going: list[Planned]
    staying: list[Kept]


def plan(log: EventLog, topics: Iterable[str], before_ms: int, *, forget: bool = False) -> Plan:
    """What is older than a time; `forget` lets sessions go as a whole that have nothing younger.

    Raises:
        LogCorruptError: what would go does not verify.
    """
    made = Plan([], [])
    for topic in topics:
        wanted = cursor_before(log, topic, before_ms)
        whole = forget and _may_go_whole(log, topic, wanted)
        through = wanted if whole else min(wanted, furthest(log, topic))
        going = log.purge(topic, through, dry_run=True)
        if going is not None:
            made.going.append(Planned(topic, going.count, going.purged_through, whole))
        rule = rule_of(topic)
        stays = wanted - max(through, log.purged_through(topic))
        if rule is not None and stays > 0:
            made.staying.append(Kept(topic, stays, rule.fix))
    return made


def carry_out(log: EventLog, made: Plan) -> list[Planned]:
    """Purge what is planned, in steps between which others can write; gives what went.

    Raises:
        LogError: the log cannot be purged; what went before stays gone.
    """
    done = [_purged(log, each) for each in made.going]
    tidy_checkpoints(log)
    return [each for each in done if each.count]


def _may_go_whole(log: EventLog, topic: str, wanted: int) -> bool:
    rule = rule_of(topic)
    return rule is not None and rule.forgettable and wanted >= log.latest(topic)


def _purged(log: EventLog, planned: Planned) -> Planned:
    if planned.whole:
        purged = log.purge(planned.topic, planned.purged_through)
        count = 0 if purged is None else purged.count
    else:
        count = _in_steps(log, planned)
    return msgspec.structs.replace(planned, count=count, purged_through=log.purged_through(planned.topic))


def _in_steps(log: EventLog, planned: Planned) -> int:
    count, begun = 0, time.monotonic()
    for purged in in_steps(log, planned.topic, planned.purged_through):
        count += purged.count
        time.sleep(time.monotonic() - begun)
        begun = time.monotonic()
    return count
