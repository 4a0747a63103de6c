"""`PollWatcher`: a JSON endpoint that is asked now and then, and told by what is new or changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from tidings.core.producers import shown
from tidings.core.redaction import redact
from tidings.errors import CallerError
from tidings.watchers.reviews.fetching import DEADLINE, Fetched, FetchError, fetch
from tidings.watchers.reviews.items import MOST_ITEMS, Item, Shape, read_items, turned
from tidings.watchers.told import News, Noticed

SHORTEST_INTERVAL = 1.0
LONGEST_WAIT = 900.0
"""Seconds between attempts at a server that fails; what it asks for itself may be four times that."""
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def wait_after(interval: float, failures: int, asked: float | None) -> float:
    """Seconds until the next attempt: doubled with each failure, at least what the server asks for."""
    doubled = (
        interval if not failures else max(interval, min(interval * 2 ** min(failures, 20), LONGEST_WAIT))
    )
    return max(doubled, min(asked or 0.0, 4 * LONGEST_WAIT))


class PollWatcher:
    """Asks `url` every `interval` seconds; `form` says where ids, titles and states stand.

    The first answer is only remembered. `headers` (a token, for one) are sent to this address alone.

    Raises:
        CallerError: an address that is not http(s), a secret over plain http, or too short an interval.
    """

    def __init__(
        self,
        url: str,
        *,
        form: Shape | None = None,
        headers: Mapping[str, str] | None = None,
        interval: float = 60.0,
        deadline: float = DEADLINE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        name: str = "poll",
    ) -> None:
        check_address(url, secret=bool(headers))
        if interval < SHORTEST_INTERVAL:
            raise CallerError(f"`interval` must be {SHORTEST_INTERVAL:g} second or more; got {interval!r}")
        self.name = name
        self._url = url
        self._form = form or Shape()
        self._headers = dict(headers or {})
        self._interval = interval
        self._deadline = deadline
        self._sleep = sleep

    async def watch(self) -> AsyncGenerator[News, None]:
        """What is new or changed."""
        known: dict[str, str] | None = None
        etag: str | None = None
        failures, asked = 0, None
        while True:
            try:
                fetched = await asyncio.to_thread(self._fetch, etag)
                found = self._items(fetched)
            except FetchError as error:
                failures, asked = failures + 1, error.retry_after
                if failures & (failures - 1) == 0:
                    yield Noticed("poll_failed", redact(str(error)), {"count": failures})
            else:
                if failures:
                    yield Noticed("poll_recovered", "the endpoint answers again", {"count": failures})
                failures, asked, etag = 0, None, fetched.etag
                if found is not None:
                    items, left_out = found
                    for told in turned(known, items, self.name):
                        yield told
                    if left_out:
                        message = f"{left_out} items beyond the first {MOST_ITEMS} are not followed"
                        yield Noticed("items_left_out", message, {"left_out": left_out})
                    known = {item.id: item.state for item in items}
            await self._sleep(wait_after(self._interval, failures, asked))

    def _items(self, fetched: Fetched) -> tuple[list[Item], int] | None:
        """The items of a document; None when it has not changed.

        Raises:
            FetchError: there are none where they should stand, as when a service says that it is down.
        """
        if not fetched.changed:
            return None
        found = read_items(fetched.document, self._form)
        if found is None:
            place = "/" + "/".join(self._form.items)
            raise FetchError(f"there are no items with an id at {place}; check --items and --id")
        return found

    def _fetch(self, etag: str | None) -> Fetched:
        return fetch(self._url, self._headers, etag, deadline=self._deadline)


def check_address(url: str, *, secret: bool) -> None:
    """Whether the address can be asked, with a secret or without.

    Raises:
        CallerError: not http(s), or a secret that would travel in the clear.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CallerError(f"`url` must begin with https:// or http://; got {shown(redact(url))}")
    if parts.username or parts.password:
        raise CallerError("`url` holds a user or password; give the token by its variable instead")
    if secret and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CallerError(f"a token would go to {parts.hostname!r} unencrypted; use https")
