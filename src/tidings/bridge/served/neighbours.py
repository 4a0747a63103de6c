"""Servers beside a session whose tools it may use, named by the host when it opens the session.

How one connects to them is handed in (`Settings.connect`), because protocols never import one another. They
are connected in the background, so that opening a session waits for nobody; the first prompt does, within
the deadlines of whoever connects. Without a way to connect, what was named is written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Protocol, TypeAlias

from tidings.agent.session import Session
from tidings.agent.tools.tool import Tool
from tidings.errors import TidingsError


class Neighbours(Protocol):
    """Connected servers."""

    async def tools(self) -> list[Tool]:
        """Their tools, as they are now."""
        ...


Connect: TypeAlias = Callable[[Sequence[object], Session], AbstractAsyncContextManager[Neighbours]]
"""Connects the named servers to a session; raises a CallerError for names that cannot be used."""


class Neighbourhood:
    """The servers of one session, from the moment they are named until it is closed."""

    def __init__(self, session: Session, connect: Connect | None, note: Callable[[str, str], None]) -> None:
        self._session = session
        self._connect = connect
        self._note = note
        self._stack = AsyncExitStack()
        self._joining: asyncio.Task[Neighbours] | None = None

    async def invite(self, entries: Sequence[object]) -> None:
        """Connect to `entries` instead of those before; comes back at once.

        Raises:
            CallerError: an entry that cannot be used.
        """
        await self.close()
        if not entries:
            return
        if self._connect is None:
            text = f"{len(entries)} MCP servers were named; tidings[mcp] is needed to connect to them"
            self._note("mcp_servers_ignored", text)
            return
        joined = self._connect(entries, self._session)
        self._joining = asyncio.create_task(
            self._stack.enter_async_context(joined), name="tidings.served.neighbours"
        )

    async def tools(self) -> list[Tool]:
        """The tools of those that are connected; what goes wrong costs the tools, not the prompt."""
        if self._joining is None:
            return []
        try:
            return await (await asyncio.shield(self._joining)).tools()
        except TidingsError as error:
            self._note("mcp_tools_missing", f"the tools of MCP servers are not there: {error}")
            return []

    async def close(self) -> None:
        """Let go of all of them."""
        joining, self._joining = self._joining, None
        if joining is not None:
            joining.cancel()
            await asyncio.wait({joining})
        await self._stack.aclose()
