"""What the agent writes, told to the servers that watch files, so that they do not tell it again.

Only a server whose config says `own_writes` hears of it, through the tool that `tidings watch` offers for
this; the model is not shown that tool. The word goes out the moment a file is written, and the call that
wrote it comes back when it has arrived, or after a second: what is not told in time costs a needless
reminder, and is recorded once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from tidings.agent.tools.function import Function
from tidings.agent.tools.hearing import hearing
from tidings.agent.tools.tool import Tool
from tidings.core.reminder import Payload
from tidings.mcp.host.connection import AnswerError, Connection
from tidings.mcp.host.link import Link
from tidings.mcp.names import OWN_WRITES
from tidings.shell.ids import new_id

DEADLINE = 1.0
MOST_AT_ONCE = 1_000
"""How many files one message names; more wait for the next."""
LARGEST_HASHED = 20_000_000


class Writes:
    """Tells `links` of the files below `root` that the agent writes. Use it in the loop of the servers."""

    def __init__(self, links: Sequence[Link], root: Path) -> None:
        self._links = [link for link in links if link.server.own_writes]
        self._root = root
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None
        self._offers: dict[Link, tuple[Connection, bool]] = {}
        self._said: set[Link] = set()

    def heard(self, tools: Iterable[Tool | Function]) -> list[Tool]:
        """The same tools; what they emit as `file_edited` is told."""
        return hearing(tools, self._hear, self._settled)

    def _hear(self, event: str, payload: Payload) -> None:
        path = payload.get("path")
        if event == "file_edited" and isinstance(path, str):
            self._loop.call_soon_threadsafe(self._begin, str(self._root / path))

    def _begin(self, path: str) -> None:
        self._waiting[path] = None
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="tidings.mcp.own-writes")

    async def _settled(self) -> None:
        """Wait until everything so far is told, but not for long."""
        await asyncio.sleep(0)  # what a thread has just said is begun first
        if self._telling is not None:
            await asyncio.wait({self._telling}, timeout=DEADLINE)

    async def _tell(self) -> None:
        while self._waiting:
            paths = [*self._waiting][:MOST_AT_ONCE]
            for path in paths:
                del self._waiting[path]
            writes = await asyncio.to_thread(_described, paths)
            await asyncio.gather(*(self._tell_one(link, writes) for link in self._links))

    async def _tell_one(self, link: Link, writes: list[Payload]) -> None:
        connection = link.connection
        if connection is None:
            return
        try:
            async with asyncio.timeout(DEADLINE):
                if not await self._takes(link, connection):
                    self._warn(link, f"it does not offer {OWN_WRITES}; start it with --own-writes")
                    return
                result = await connection.call_tool(OWN_WRITES, {"writes": writes}, new_id())
        except TimeoutError:
            self._warn(link, f"it did not answer within {DEADLINE:g} seconds")
        except AnswerError as error:
            self._warn(link, str(error))
        else:
            if result.get("isError"):
                self._warn(link, "it refused them")

    async def _takes(self, link: Link, connection: Connection) -> bool:
        """Whether the server offers the tool; asked once for each connection."""
        known = self._offers.get(link)
        if known is None or known[0] is not connection:
            listed = await link.listing.tools(connection, DEADLINE)
            known = (connection, any(tool.get("name") == OWN_WRITES for tool in listed))
            self._offers[link] = known
        return known[1]

    def _warn(self, link: Link, why: str) -> None:
        if link not in self._said:
            self._said.add(link)
            link.intake.warn("mcp_own_writes", f"it does not know what the agent writes: {why}")


def _described(paths: Iterable[str]) -> list[Payload]:
    return [_one(Path(path)) for path in paths]


def _one(path: Path) -> Payload:
    """A file and, unless it is too large or gone again, the hash of its content."""
    told: Payload = {"path": str(path)}
    try:
        if path.stat().st_size <= LARGEST_HASHED:
            told["sha256"] = sha256(path.read_bytes()).hexdigest()
    except OSError:
        return told
    return told
