"""Retention: what is too old, too many or too big leaves the hub's log, bit by bit in the background.

The hub's own records go behind a snapshot of its board, what sessions told behind a snapshot of how far
they are known. Every purge leaves a checkpoint in the log and, for what a user can see, a record
`hub.purged` among the hub's own. `tidings up` runs this; `purging.py` lets a user ask for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Container
from heapq import heapify, heappop, heappush

import msgspec

from tidings.core.records import Record
from tidings.errors import TidingsError
from tidings.hub import snapshot
from tidings.hub.policy import Policy
from tidings.hub.store import SETTLED_TOPIC, TOPIC, Store
from tidings.hub.told import PREFIX, SNAPSHOT, Told
from tidings.log import EventLog
from tidings.log.folded import furthest
from tidings.log.search import cursor_before
from tidings.log.steps import in_steps, tidy_checkpoints

PURGED = "hub.purged"
TICK_SECONDS = 5.0
PASS_SECONDS = 900.0
SAVE_EVERY = 20_000
"""After how many records a snapshot is written: a start replays no more than that."""
SETTLED_MOST = 500
WORTHWHILE = 500
"""How many records of a topic must be too old to be purged at once; fewer wait a little longer."""
PATIENCE = 0.05
"""How much longer than its age allows, as a part of it."""
ROOM = 0.9
"""To which part of its bound a log that grew too big is cut back."""
SHRUNK = 20_000
"""How many records of a topic go at once when the log is too big."""

_logger = logging.getLogger(__name__)


class Due(msgspec.Struct, frozen=True):
    """A topic, up to where it is to be purged, and why."""

    topic: str
    through: int
    reason: str


class Purged(msgspec.Struct, frozen=True):
    """What was purged: `count` records of a topic, the last of them `purged_through`."""

    topic: str
    count: int
    purged_through: int
    reason: str


class Retention:
    """Keeps one hub's log within its policy. Calls belong in one event loop."""

    def __init__(
        self,
        store: Store,
        told: Told,
        live: Callable[[], Container[str]],
        clock: Callable[[], int],
        policy: Policy,
    ) -> None:
        self.policy = policy
        self._store = store
        self._log = store.log
        self._told = told
        self._live = live
        self._clock = clock
        self._busy = asyncio.Lock()

    async def run(self) -> None:
        """Tend the log until cancelled; what fails is told and tried again later."""
        due = time.monotonic()
        while True:
            try:
                await self.tend()
                if time.monotonic() >= due:
                    due = time.monotonic() + PASS_SECONDS
                    await self.enforce()
            except Exception as error:
                unknown = not isinstance(error, TidingsError)
                _logger.warning("hub: the log could not be tended: %s", error, exc_info=unknown)
            await asyncio.sleep(TICK_SECONDS)

    async def tend(self) -> None:
        """Write a snapshot when it is time, and keep what nobody reads short."""
        async with self._busy:
            if self._store.cursor - self._store.saved >= SAVE_EVERY:
                await self._save()
            kept = self._log.latest(SETTLED_TOPIC) - self._log.purged_through(SETTLED_TOPIC)
            if kept > SETTLED_MOST:
                await self._cut(SETTLED_TOPIC, self._log.latest(SETTLED_TOPIC) - 1)
            await asyncio.to_thread(tidy_checkpoints, self._log)

    async def enforce(self) -> list[Purged]:
        """Purge what the policy lets go, once; a topic that cannot be purged is told and passed over.

        Raises:
            LogError: the log cannot be read.
        """
        found = await asyncio.to_thread(overdue, self._log, self.policy, self._clock())
        done = [await self._tried(each) for each in found]
        if self.policy.max_size is not None and self._log.size() > self.policy.max_size:
            done += await self._shrink(int(self.policy.max_size * ROOM))
        return [each for each in done if each.count]

    async def _tried(self, due: Due) -> Purged:
        try:
            return await self.purge(due)
        except TidingsError as error:
            _logger.warning("hub: topic %r could not be purged: %s", due.topic, error)
            return Purged(due.topic, 0, self._log.purged_through(due.topic), due.reason)

    async def purge(self, due: Due) -> Purged:
        """Purge one topic behind a snapshot, and record it."""
        async with self._busy:
            purge = self._purge_told if due.topic.startswith(PREFIX) else self._purge_own
            count = await purge(due)
        done = Purged(due.topic, count, self._log.purged_through(due.topic), due.reason)
        if count:
            self._store.commit([Record(PURGED, msgspec.structs.asdict(done))])
        return done

    async def _purge_own(self, due: Due) -> int:
        """Purge the hub's own records, up to where the board's snapshot holds everything."""
        if due.through > self._store.saved:
            await self._save()
        return await self._cut(due.topic, min(due.through, self._store.saved))

    async def _save(self) -> None:
        """Write a snapshot of the board; only the last is of use."""
        await self._store.save()
        await self._cut(snapshot.TOPIC, await asyncio.to_thread(furthest, self._log, snapshot.TOPIC))

    async def _purge_told(self, due: Due) -> int:
        """Purge what a session told; all of it, and how far it is known, if it is no longer there."""
        await self._told.snapshot(due.topic, self._clock())
        count = await self._cut(due.topic, due.through)
        if due.topic not in self._live():
            self._told.forget(due.topic)
            left = self._log.read(due.topic, self._log.purged_through(due.topic))
            if all(record.kind == SNAPSHOT for record in left):
                await asyncio.to_thread(self._log.purge, due.topic, self._log.latest(due.topic))
        return count

    async def _cut(self, topic: str, through: int) -> int:
        """Purge up to a cursor, resting as long as each step took; gives how many records went."""
        steps = in_steps(self._log, topic, through)
        count = 0
        while True:
            begun = time.monotonic()
            purged = await asyncio.to_thread(next, steps, None)
            if purged is None:
                return count
            count += purged.count
            await asyncio.sleep(time.monotonic() - begun)

    async def _shrink(self, size: int) -> list[Purged]:
        """Purge what is oldest, wherever it is, until the log is small enough."""
        ages = await asyncio.to_thread(oldest, self._log)
        done = []
        while ages and self._log.size() > size:
            _, topic = heappop(ages)
            through = min(self._log.purged_through(topic) + SHRUNK, self._log.latest(topic))
            purged = await self._tried(Due(topic, through, "size"))
            done.append(purged)
            if purged.count and self._log.latest(topic) - purged.purged_through > WORTHWHILE:
                heappush(ages, (first_at(self._log, topic), topic))
        return done


def overdue(log: EventLog, policy: Policy, now: int) -> list[Due]:
    """What is too old, or too much of one session."""
    found = []
    for topic in purgeable(log):
        by_age, by_count = _too_old(log, topic, policy, now), _too_many(log, topic, policy)
        if max(by_age, by_count) > log.purged_through(topic):
            reason = "age" if by_age >= by_count else "session_records"
            found.append(Due(topic, max(by_age, by_count), reason))
    return found


def purgeable(log: EventLog) -> list[str]:
    """The topics that are purged for what is in them: the hub's own, and what sessions told."""
    return [topic for topic in log.topics() if topic == TOPIC or topic.startswith(PREFIX)]


def oldest(log: EventLog) -> list[tuple[int, str]]:
    """When each of them begins, if it has more than its snapshot, as a heap."""
    ages = [
        (first_at(log, topic), topic)
        for topic in purgeable(log)
        if log.latest(topic) > log.purged_through(topic) + 1
    ]
    heapify(ages)
    return ages


def first_at(log: EventLog, topic: str) -> int:
    """When the first record that is kept was written."""
    first = next(log.read(topic, log.purged_through(topic), limit=1), None)
    return 0 if first is None else first.occurred_at_ms


def _too_old(log: EventLog, topic: str, policy: Policy, now: int) -> int:
    """Up to where it is too old; 0 while that is not worth a purge."""
    if policy.max_age is None or (first := first_at(log, topic)) >= now - policy.max_age:
        return 0
    through = cursor_before(log, topic, now - policy.max_age)
    is_late = first < now - policy.max_age * (1 + PATIENCE)
    return through if is_late or through - log.purged_through(topic) >= WORTHWHILE else 0


def _too_many(log: EventLog, topic: str, policy: Policy) -> int:
    if policy.max_session_records is None or not topic.startswith(PREFIX):
        return 0
    through = log.latest(topic) - policy.max_session_records
    return through if through - log.purged_through(topic) >= WORTHWHILE else 0
