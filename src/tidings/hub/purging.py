"""The operation that purges on request: what a user wants gone from the hub's log, and what went.

The same steps as the hub's own retention, within a time that a caller can wait: an answer that says
`more` is asked again. `operations.py` lists it; `tidings purge` asks it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tidings.bridge.shapes import Wire
from tidings.core.producers import shown
from tidings.errors import CallerError
from tidings.hub.failure import NotThereError, UnknownSessionError
from tidings.hub.retention import Due, purgeable
from tidings.hub.service import Hub
from tidings.hub.shapes import Asked, Name
from tidings.hub.told import told_topic
from tidings.log import EventLog
from tidings.log.search import cursor_before

SECONDS = 20.0
AT_ONCE = 20_000
"""How many records of a topic go before the time is looked at."""
LONGEST = 100 * 365 * 86_400.0


class Purge(Asked, frozen=True, kw_only=True):
    """Purges what is older, of one session, of one topic, or of everything; `dryRun` only tells."""

    older_than_seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
    session_id: Name | None = None
    topic: Annotated[str, msgspec.Meta(min_length=1, max_length=512)] | None = None
    dry_run: bool = False


class PurgeRow(Wire, frozen=True, kw_only=True):
    """A topic: how many records went, or would at most, and the last of them."""

    topic: str
    count: int
    purged_through: int


class PurgeAnswer(Wire, frozen=True, kw_only=True):
    """What went, and whether there is more: then ask again."""

    purged: list[PurgeRow]
    more: bool


async def purge(hub: Hub, asked: Purge) -> PurgeAnswer:
    """Purge what is older than so many seconds."""
    before = hub.now_ms() - int(asked.older_than_seconds * 1000)
    found = await asyncio.to_thread(_due, hub.store.log, _topics(hub, asked), before)
    if asked.dry_run:
        return PurgeAnswer(purged=[_planned(hub.store.log, each) for each in found], more=False)
    until, rows = time.monotonic() + SECONDS, []
    for each in found:
        row, is_done = await _purged(hub, each, until)
        rows.append(row)
        if not is_done:
            return PurgeAnswer(purged=rows, more=True)
    return PurgeAnswer(purged=rows, more=False)


def _topics(hub: Hub, asked: Purge) -> list[str]:
    """The topics that are meant.

    Raises:
        UnknownSessionError: nothing is known of the session.
        NotThereError: the topic is not one to be purged.
        CallerError: both are given.
    """
    known = purgeable(hub.store.log)
    if asked.session_id is not None:
        if asked.topic is not None:
            raise CallerError("`topic` and `sessionId` are given; give one of them")
        if not hub.knows(asked.session_id):
            raise UnknownSessionError(asked.session_id)
        return [topic for topic in known if topic == told_topic(asked.session_id)]
    if asked.topic is None:
        return known
    if asked.topic not in known:
        choice = ", ".join(known[:10]) or "none"
        raise NotThereError(f"`topic` is {shown(asked.topic)}; give one of {choice}")
    return [asked.topic]


def _due(log: EventLog, topics: list[str], before_ms: int) -> list[Due]:
    found = [Due(topic, cursor_before(log, topic, before_ms), "asked") for topic in topics]
    return [each for each in found if each.through > log.purged_through(each.topic)]


def _planned(log: EventLog, due: Due) -> PurgeRow:
    count = due.through - log.purged_through(due.topic)
    return PurgeRow(topic=due.topic, count=count, purged_through=due.through)


async def _purged(hub: Hub, due: Due, until: float) -> tuple[PurgeRow, bool]:
    """Purge a topic as far as the time allows; gives what went, and whether that was all."""
    log, count = hub.store.log, 0
    while True:
        part = min(due.through, log.purged_through(due.topic) + AT_ONCE)
        done = await hub.retention.purge(replace(due, through=part))
        count += done.count
        row = PurgeRow(topic=due.topic, count=count, purged_through=done.purged_through)
        if part == due.through or not done.count:
            return row, True
        if time.monotonic() > until:
            return row, False
