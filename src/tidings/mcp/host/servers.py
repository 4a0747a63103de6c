"""MCP servers beside a session: connected all at once, their reminders let in, their tools offered.

    async with Servers("mcp.json", session=session) as servers:
        await agent_loop(task, model=model, tools=await servers.tools(), session=session)

A server that cannot be reached is a record and a status, never an error of the run. Leaving the block ends
every connection and every process that was started.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import httpx2
import msgspec

from tidings.agent.session import Session
from tidings.agent.tools.function import Function
from tidings.agent.tools.tool import Tool
from tidings.errors import CallerError
from tidings.mcp.config import ConfigError, Server, read_config
from tidings.mcp.host.connection import AnswerError
from tidings.mcp.host.intake import Intake
from tidings.mcp.host.link import Link, OnPush, Status
from tidings.mcp.host.listing import Caches, Listing
from tidings.mcp.host.settings import Backoff, Clock, Deadlines, SteadyClock
from tidings.mcp.host.tools import tools_of
from tidings.mcp.host.writes import Writes

Config: TypeAlias = str | Path | Mapping[str, object] | Iterable[Server]
"""A config file, its decoded content, or servers."""

_LEAVES = 5
"""How often the deadline of one step fits into the end of a server: three steps, and the wire's own."""

_logger = logging.getLogger("tidings.mcp")


class Servers:
    """The MCP servers of one session. Use it in one event loop, the one that runs the agent."""

    def __init__(
        self,
        config: Config,
        *,
        session: Session,
        deadlines: Deadlines | None = None,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        caches: Caches | None = None,
        auth: Mapping[str, httpx2.Auth] | None = None,
        on_push: OnPush | None = None,
    ) -> None:
        """Nothing is connected before the block begins.

        Raises:
            ConfigError: with every problem of the config.
        """
        self.session = session
        self._deadlines = deadlines or Deadlines()
        self._clock = clock or SteadyClock()
        kept = caches or Caches()
        self._links: dict[str, Link] = {}
        for server in _enabled(config):
            self._links[server.name] = Link(
                server,
                Intake(server, session, self._clock.now),
                Listing(server, kept.of(server), self._clock.now),
                deadlines=self._deadlines,
                backoff=backoff or Backoff(),
                clock=self._clock,
                auth=(auth or {}).get(server.name),
                on_push=on_push,
            )
        self._running: dict[Link, asyncio.Task[None]] = {}
        self._intakes: list[asyncio.Task[None]] = []
        self._writes: dict[Path, Writes] = {}
        self._used = False

    async def __aenter__(self) -> Self:
        """Connect to all at once; each has its deadline, and one that fails is tried again meanwhile.

        Raises:
            CallerError: these were used before.
        """
        if self._used:
            raise CallerError("these Servers were used already; make new ones for another block")
        self._used = True
        for name, link in self._links.items():
            self._intakes.append(asyncio.create_task(link.intake.run(), name=f"tidings.mcp.{name}.intake"))
            self._running[link] = asyncio.create_task(link.run(), name=f"tidings.mcp.{name}")
        try:
            await asyncio.gather(*(link.settled.wait() for link in self._links.values()))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def links(self) -> tuple[Link, ...]:
        """Each server over time, in the order of the config."""
        return tuple(self._links.values())

    def __getitem__(self, name: str) -> Status:
        """How it stands with the server of that name."""
        return self._link(name).status()

    def status(self) -> tuple[Status, ...]:
        """How it stands with each server, in the order of the config."""
        return tuple(link.status() for link in self._links.values())

    def capabilities(self, name: str) -> Mapping[str, object]:
        """What the server of that name says that it can do; empty before it was ever connected."""
        spoken = self._link(name).spoken
        return {} if spoken is None else spoken.capabilities

    async def given_up(self) -> None:
        """Wait until no server is connected or tried any more."""
        if self._running:
            await asyncio.wait(self._running.values())

    async def tools(self) -> list[Tool]:
        """The tools of all servers that are connected; one that does not list its own is a record."""
        links = [link for link in self._links.values() if link.connection is not None]
        listed = await asyncio.gather(*(self._listed(link) for link in links))
        taken: set[str] = set()
        return [
            tool for link, tools in zip(links, listed, strict=True) for tool in tools_of(link, tools, taken)
        ]

    def heard(self, tools: Iterable[Tool | Function], root: Path | str) -> list[Tool]:
        """The same tools; the files below `root` that they write are told to servers with `own_writes`."""
        place = Path(root).resolve()
        if place not in self._writes:
            self._writes[place] = Writes(self.links, place)
        return self._writes[place].heard(tools)

    async def _listed(self, link: Link) -> tuple[dict[str, object], ...]:
        connection = link.connection
        if connection is None:
            return ()
        try:
            return await link.listing.tools(connection, self._deadlines.request)
        except AnswerError as error:
            link.intake.warn("mcp_no_tools", f"its tools are not offered: {error}")
            return ()

    def _link(self, name: str) -> Link:
        if name not in self._links:
            raise CallerError(
                f"there is no MCP server {name!r}; there are {', '.join(self._links) or 'none'}"
            )
        return self._links[name]

    async def _end(self) -> None:
        """Take leave of all at once; who does not let go in time is cancelled."""
        for link, task in self._running.items():
            link.closing.set()
            if link.connection is None:
                task.cancel()
        tasks = [*self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=_LEAVES * self._deadlines.stop)
        await _cancelled([*tasks, *self._intakes])
        self._running.clear()
        self._intakes.clear()
        for link in self._links.values():
            link.intake.close()


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    """End what is left; an error that nobody has seen is logged."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.error("%s ended with an error", task.get_name(), exc_info=error)


def _enabled(config: Config) -> list[Server]:
    servers = [server for server in _servers(config) if server.enabled]
    twice = sorted({one.name for one in servers if sum(one.name == other.name for other in servers) > 1})
    if twice:
        raise ConfigError(f"two servers are named {', '.join(map(repr, twice))}; names must differ")
    return servers


def _servers(config: Config) -> Iterable[Server]:
    if isinstance(config, Mapping):
        return read_config(config, os.environ)
    if not isinstance(config, (str, Path)):
        return config
    try:
        decoded = msgspec.json.decode(Path(config).read_bytes())
    except OSError as error:
        raise ConfigError(f"{str(config)!r} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(config)!r} is not JSON: {error}") from error
    return read_config(decoded, os.environ)
