"""The port: what every event log promises, whichever store is underneath.

Cursors count from 1 in each topic, without gaps, in commit order, whoever writes. A record is
visible to every reader when the append returns. `tidings.testing.log_contract` holds an
implementation to these words; `memory` and `sqlite` are ours.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from tidings.log.entry import Draft, Written
from tidings.log.record import Checkpoint, LogRecord, Verified

DEFAULT_MAX_LAG = 10_000


class EventLog(Protocol):
    """An append-only log of topics; every method may raise `LogUnavailableError` once closed."""

    def append(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record and return it with its cursor; it is visible and outlives `kill -9`.

        Raises:
            LogUsageError: a bad topic, kind or payload.
            LogUnavailableError: the log is full, read-only, locked or closed; nothing was written.
        """
        ...

    def append_batch(self, drafts: Iterable[Draft]) -> tuple[LogRecord, ...]:
        """Write (topic, kind, payload) drafts in one commit: all of them, or none.

        Raises:
            LogUsageError: a bad topic, kind or payload; the message names the draft's place.
            LogUnavailableError: the log is full, read-only, locked or closed; nothing was written.
        """
        ...

    async def append_durable(self, topic: str, kind: str, payload: Mapping[str, object]) -> LogRecord:
        """Write one record together with its neighbours; acknowledged as the durability promises.

        The queue behind it is bounded: when it is full, producers wait here. Cancelling the wait
        does not take back a record that was queued already.

        Raises:
            LogUsageError: a bad topic, kind or payload.
            LogUnavailableError: the log could not keep the record.
        """
        ...

    def latest(self, topic: str) -> int:
        """Return the cursor of the topic's last record, 0 when it has none."""
        ...

    def purged_through(self, topic: str) -> int:
        """Return the cursor of the last record that is no longer kept, 0 when all are.

        `read(topic, purged_through(topic))` reads all that is left.
        """
        ...

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics that have records, sorted."""
        ...

    def read(
        self, topic: str, from_cursor: int = 0, kind_prefix: str = "", limit: int | None = None
    ) -> Iterator[LogRecord]:
        """Iterate over the records after `from_cursor` that exist now, at most `limit` of them.

        Raises:
            LogUsageError: a bad topic, cursor, prefix or limit.
            SubscriberLaggedError: records after `from_cursor` are no longer kept.
        """
        ...

    def subscribe(
        self,
        topic: str,
        from_cursor: int = 0,
        kind_prefix: str = "",
        max_lag: int = DEFAULT_MAX_LAG,
    ) -> AsyncGenerator[LogRecord, None]:
        """Follow a topic: history after `from_cursor`, then live, each record once and in order.

        Ends when the log is closed. Nothing is queued for a slow consumer: it reads by cursor.

        Raises:
            LogUsageError: a bad topic, cursor, prefix or lag.
            SubscriberLaggedError: once live, it fell more than `max_lag` records behind, or records after
                its position are no longer kept.
        """
        ...

    def purge(self, topic: str, through_cursor: int, *, dry_run: bool = False) -> Checkpoint | None:
        """Delete a topic's records up to and including a cursor; return the checkpoint that stays.

        All of it is one transaction. A commit goes whole or stays whole, so the cut is at the end of the
        last commit up to the cursor; None when nothing can go. Cursors go on as before. With `dry_run`
        nothing changes. Blocks while it works: in an event loop, call it in a thread, a few thousand
        records at a time.

        Raises:
            LogUsageError: a bad topic or cursor, or a topic that is folded and has no snapshot behind the
                cut (`tidings.log.folded`); the message names the way out.
            LogUnavailableError: the log is read-only, locked or closed; nothing was deleted.
            LogCorruptError: what would go does not verify; nothing was deleted.
        """
        ...

    def size(self) -> int:
        """Return how many bytes the records take where they are kept, roughly."""
        ...

    def verify(self) -> Verified:
        """Check every record against the hash chain, from a topic's last checkpoint on if it was purged.

        Blocks while it reads the whole log.

        Raises:
            LogCorruptError: naming the topic and cursor of the first thing that does not verify.
        """
        ...

    def close(self) -> None:
        """Release everything; queued appends are finished first. Closing twice is harmless."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@runtime_checkable
class SeriesLog(Protocol):
    """What a log may offer besides: a short way for records that are much the same."""

    def append_series(self, written: Written) -> None:
        """Write lines and series in one commit, as `append_batch` would write what they stand for.

        Raises:
            LogUsageError: a bad topic, kind or payload.
            LogUnavailableError: the log is full, read-only, locked or closed; nothing was written.
        """
        ...
