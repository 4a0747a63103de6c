"""Purging a long past in short steps, so that whoever writes waits for no more than one of them.

Each step is a purge of its own, with its checkpoint. The hub runs the steps in a thread and rests between
them; `tidings purge --log` does the same with a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidings.log.port import EventLog
from tidings.log.record import CHECKPOINTS, Checkpoint

STEP = 2_000
"""How many records one step takes; more only where a single commit has more."""
CHECKPOINTS_MOST = 1_000
"""How many checkpoints are kept beyond those that count."""


def in_steps(log: EventLog, topic: str, through: int, step: int = STEP) -> Iterator[Checkpoint]:
    """Purge up to and including a cursor, as `EventLog.purge` does, a step each time that it is asked.

    Raises:
        LogUsageError, LogUnavailableError, LogCorruptError: as `EventLog.purge`; what went before stays so.
    """
    size = step
    while (base := log.purged_through(topic)) < through:
        purged = log.purge(topic, min(through, base + size))
        if purged is not None:
            size = step
            yield purged
        elif base + size >= through:
            return
        else:
            size *= 2


def tidy_checkpoints(log: EventLog, most: int = CHECKPOINTS_MOST) -> Checkpoint | None:
    """Purge the checkpoints once there are far more than can count; those that do are stated again."""
    kept = log.latest(CHECKPOINTS) - log.purged_through(CHECKPOINTS)
    if kept <= most or kept <= most + 2 * len(log.topics()):
        return None
    return log.purge(CHECKPOINTS, log.latest(CHECKPOINTS))
