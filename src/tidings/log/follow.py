"""Following a topic: history by pages, then live, over any source that can give a page.

There is no queue of records: a subscriber keeps a position, reads what lies after it, and sleeps on
its bell. The bell is hushed before each read, so a commit between reading and sleeping still wakes
it. Between pages the loop gets its turn. Used by every log's `subscribe`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from tidings.errors import LogUnavailableError, SubscriberLaggedError
from tidings.log.record import LogRecord
from tidings.log.wake import Bell

FIRST_PAGE = 16
LARGEST_PAGE = 256
PAGE_CHARACTERS = 1 << 18


class Page(msgspec.Struct, frozen=True):
    """Records after a position, the position they reach, the topic's last cursor, their length."""

    records: list[LogRecord]
    position: int
    head: int
    characters: int


class Source(Protocol):
    """What a log offers its subscribers."""

    @property
    def closed(self) -> bool:
        """Whether the log was closed."""
        ...

    def page(self, topic: str, position: int, kind_prefix: str, size: int) -> Page:
        """Read what matches among the `size` cursors after `position`."""
        ...

    def listen(self, topic: str) -> AbstractContextManager[Bell]:
        """Hang up a bell that rings when `topic` may have grown."""
        ...


async def follow(
    source: Source, topic: str, position: int, kind_prefix: str, max_lag: int
) -> AsyncGenerator[LogRecord, None]:
    """Yield what lies after `position` and then what comes, until the source closes.

    Raises:
        SubscriberLaggedError: it had caught up once and is more than `max_lag` behind now.
    """
    if source.closed:
        return
    live, size = False, FIRST_PAGE
    with source.listen(topic) as bell:
        while True:
            bell.hush()
            page = _page_or_end(source, topic, position, kind_prefix, size)
            if page is None:
                return
            if live and page.head - position > max_lag:
                raise SubscriberLaggedError(topic, resume_from=position, latest=page.head)
            for record in page.records:
                yield record
            position, size = page.position, next_size(size, page.characters)
            if position < page.head:
                await asyncio.sleep(0)
            else:
                live = True
                await bell.wait()


def check_kept(topic: str, position: int, base: int, head: int) -> None:
    """Refuse to read from a position whose following records were dropped up to `base`.

    Raises:
        SubscriberLaggedError: with the number of records that are gone.
    """
    if position < base:
        raise SubscriberLaggedError(topic, resume_from=base, latest=head, missed=base - position)


def next_size(size: int, characters: int) -> int:
    """Choose the next page's size: half when the last one was long, else up to twice."""
    return max(1, size // 2) if characters > PAGE_CHARACTERS else min(LARGEST_PAGE, size * 2)


def _page_or_end(source: Source, topic: str, position: int, kind_prefix: str, size: int) -> Page | None:
    try:
        return None if source.closed else source.page(topic, position, kind_prefix, size)
    except LogUnavailableError:
        if source.closed:
            return None
        raise
