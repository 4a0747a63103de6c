"""The tools that one server lists, read when needed and kept as long as they hold (seed 002, caching).

A modern server says how long; of a legacy one that tells of changes the list holds until it does. What is
private is kept per authorization context, so that two sessions with other credentials never share it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256

import msgspec

from tidings.core.reminder import Payload
from tidings.mcp.cache import Cache
from tidings.mcp.config import Server
from tidings.mcp.host.connection import AnswerError, Connection
from tidings.mcp.names import TOOLS_CHANGED

MOST_PAGES = 50
MOST_TOOLS = 1_000
MOST_SERVERS = 100
_METHOD = "tools/list"


class Caches:
    """The kept results of several servers, by what they are: a url, or a command and where it runs.

    Hand one to several `Servers` and what is public is asked once for all.
    """

    def __init__(self, most: int = MOST_SERVERS) -> None:
        self._caches: OrderedDict[str, Cache] = OrderedDict()
        self._most = most

    def of(self, server: Server) -> Cache:
        """The cache of one server; the one used longest ago leaves when there are too many."""
        target = _digest(server.url, server.command, server.cwd)
        cache = self._caches.setdefault(target, Cache())
        self._caches.move_to_end(target)
        if len(self._caches) > self._most:
            self._caches.popitem(last=False)
        return cache


class Listing:
    """What one server lists to one session."""

    def __init__(self, server: Server, cache: Cache, now: Callable[[], float]) -> None:
        self._cache = cache
        self._context = _digest(sorted(server.headers.items()), sorted(server.env.items()))
        self._now = now
        self._known: tuple[Payload, ...] | None = None

    def renew(self) -> None:
        """A new connection: what an earlier one listed without saying for how long is forgotten."""
        self._known = None

    def heard(self, method: str, params: Mapping[str, object]) -> None:
        """A notification: what it makes stale is thrown away."""
        self._cache.heard(method, params)
        if method == TOOLS_CHANGED:
            self._known = None

    async def tools(self, connection: Connection, deadline: float) -> tuple[Payload, ...]:
        """The server's tools.

        Raises:
            AnswerError: it does not list them, or not in time.
        """
        if "tools" not in connection.spoken.capabilities:
            return ()
        if self._known is not None:
            return self._known
        try:
            async with asyncio.timeout(deadline):
                found = await self._read(connection)
        except TimeoutError:
            raise AnswerError(f"it did not list its tools within {deadline:g} seconds") from None
        if _tells_changes(connection):
            self._known = found
        return found

    async def _read(self, connection: Connection) -> tuple[Payload, ...]:
        found: list[Payload] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._page(connection, cursor)
            listed = page.get("tools")
            found += [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or len(found) >= MOST_TOOLS:
                return tuple(found[:MOST_TOOLS])
            cursor = following
        raise AnswerError(f"its list of tools has more than {MOST_PAGES} pages")

    async def _page(self, connection: Connection, cursor: str | None) -> Payload:
        params: Payload = {} if cursor is None else {"cursor": cursor}
        kept = self._cache.get(_METHOD, params, context=self._context, now=self._now())
        if kept is not None:
            return kept
        page = await connection.list_tools(cursor)
        self._cache.put(_METHOD, params, page, context=self._context, now=self._now())
        return page


def _tells_changes(connection: Connection) -> bool:
    """Whether a legacy server says that its list is told when it changes: then it holds until then."""
    tools = connection.spoken.capabilities.get("tools")
    told = isinstance(tools, Mapping) and tools.get("listChanged") is True
    return told and not connection.spoken.is_modern


def _digest(*parts: object) -> str:
    return sha256(msgspec.json.encode(parts)).hexdigest()
