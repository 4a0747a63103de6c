"""The host: starts an ACP agent as a process, agrees with it on what both can do, and opens sessions.

    async with Host.start(["agent", "--acp"]) as host:
        session = await host.new_session(folder)

Stands on the official SDK, behind `Link`. Whether the agent takes reminders is read from what it
advertises; it is never asked to find out. However the block ends, the process is stopped.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import acp
from acp.core import ClientSideConnection
from acp.schema import (
    AcpMcpServer,
    ClientCapabilities,
    HttpMcpServer,
    Implementation,
    McpServerStdio,
    NewSessionRequest,
    SseMcpServer,
)

from tidings.acp.capabilities import Capabilities, agent_reminders, client_advertised
from tidings.acp.host.asking import Asking
from tidings.acp.host.callbacks import Callbacks
from tidings.acp.host.client import Client, Deadlines
from tidings.acp.host.failure import AgentStartError, BusyError, NotAdvertisedError
from tidings.acp.host.feed import Feeds
from tidings.acp.host.link import Link
from tidings.acp.host.notes import Note, Notes
from tidings.acp.host.process import AgentProcess, start_process
from tidings.acp.host.session import Session
from tidings.acp.host.wiring import Wiring
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError

PROTOCOL = 1
McpServers: TypeAlias = list[HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio]


class Host:
    """A running agent and the connection to it. Made by `Host.start`."""

    def __init__(self, wiring: Wiring, process: AgentProcess) -> None:
        self._wiring = wiring
        self._process = process
        self._sessions: dict[str, Session] = {}

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        client: Client | None = None,
        deadlines: Deadlines | None = None,
    ) -> AsyncIterator[Host]:
        """Start an agent and agree with it; stop it at the end of the block.

        `env` is added to our own environment.

        Raises:
            AgentStartError: it cannot be started, or speaks another version of the protocol.
            HostError: it dies, refuses, or does not answer in time.
        """
        brought, waits = client or Client(), deadlines or Deadlines()
        notes = Notes(brought.note)
        process = await start_process(command, cwd=cwd, env=env, notes=notes)
        try:
            feeds, asking = Feeds(notes), Asking(process, notes)
            link = Link(process, feeds, notes, brought.answers())
            callbacks = Callbacks(brought, notes)
            connection = acp.connect_to_agent(callbacks, link)  # type: ignore[arg-type]
            try:
                agent = await _agree(connection, link, asking, brought, waits.start)
                reminders = agent_reminders(agent.get("agentCapabilities"))
                shared = Wiring(
                    connection, link, asking, callbacks, feeds, notes, brought, waits, agent, reminders
                )
                yield cls(shared, process)
            finally:
                await asking.close()
                await connection.close()
        finally:
            await process.stop(waits.stop)

    @property
    def reminders(self) -> Capabilities | None:
        """What the agent advertises of reminders; None when it says nothing of them."""
        return self._wiring.reminders

    @property
    def agent(self) -> Payload:
        """What the agent answered to `initialize`, as it was sent."""
        return self._wiring.agent

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the host noticed and nobody was told: the last ones, oldest first."""
        return self._wiring.notes.all()

    @property
    def connection(self) -> ClientSideConnection:
        """The SDK's own connection, for the rest of the protocol."""
        return self._wiring.connection

    @property
    def exit_code(self) -> int | None:
        """How the agent ended; None while it runs."""
        return self._process.exit_code

    async def authenticate(self, method_id: str) -> None:
        """Log in by one of the agent's `authMethods`.

        Raises:
            HostError: the agent refuses, dies, or does not answer.
        """
        call = self.connection.authenticate(method_id=method_id)
        await self._wiring.asking.ask("authenticate", call, self._wiring.deadlines.call)

    async def new_session(
        self, cwd: str | Path, *, mcp_servers: Sequence[Mapping[str, object]] = ()
    ) -> Session:
        """Begin a conversation about the folder `cwd`.

        Raises:
            HostError: the agent refuses, dies, or does not answer.
        """
        call = self.connection.new_session(cwd=_absolute(cwd), mcp_servers=_servers(mcp_servers))
        found = await self._wiring.asking.ask("session/new", call, self._wiring.deadlines.call)
        details = found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self._hold(found.session_id, details)

    async def load_session(
        self, session_id: str, cwd: str | Path, *, mcp_servers: Sequence[Mapping[str, object]] = ()
    ) -> Session:
        """Take up an earlier conversation; what the agent replays is the session's `history`.

        Raises:
            NotAdvertisedError: the agent does not say that it loads sessions.
            BusyError: this session is held already.
            HostError: the agent refuses, dies, or does not answer.
        """
        capabilities = self.agent.get("agentCapabilities")
        if not isinstance(capabilities, Mapping) or capabilities.get("loadSession") is not True:
            raise NotAdvertisedError("the agent does not advertise `loadSession`; begin a new session")
        if session_id in self._sessions:
            raise BusyError(f"session {session_id!r} is held already; use that one")
        call = self.connection.load_session(
            cwd=_absolute(cwd), session_id=session_id, mcp_servers=_servers(mcp_servers)
        )
        found = await self._wiring.asking.ask("session/load", call, self._wiring.deadlines.call)
        details = found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self._hold(session_id, details)

    def _hold(self, session_id: str, details: Payload) -> Session:
        session = self._sessions[session_id] = Session(session_id, self._wiring, details)
        return session


async def _agree(
    connection: ClientSideConnection, link: Link, asking: Asking, client: Client, deadline: float
) -> Payload:
    """What the agent answers to `initialize`, unknown keys included."""
    call = connection.initialize(
        protocol_version=PROTOCOL,
        client_capabilities=ClientCapabilities.model_validate(client_advertised(client.capabilities())),
        client_info=Implementation(name=client.name, version=client.version),
    )
    found = await asking.ask("initialize", call, deadline)
    if found.protocol_version != PROTOCOL:
        raise AgentStartError(
            f"the agent speaks version {found.protocol_version} of ACP; this host speaks {PROTOCOL}"
        )
    return dict(link.initialized) if isinstance(link.initialized, Mapping) else {}


def _absolute(folder: str | Path) -> str:
    return os.path.abspath(folder)


def _servers(given: Sequence[Mapping[str, object]]) -> McpServers:
    """MCP servers for the agent; the SDK drops what it cannot read, so they are counted."""
    try:
        request = NewSessionRequest.model_validate(
            {"cwd": os.sep, "mcpServers": [dict(one) for one in given]}
        )
    except (ValueError, TypeError) as error:
        raise CallerError(f"`mcp_servers` must be a list of objects: {shown(given)}") from error
    if len(request.mcp_servers) != len(given):
        raise CallerError(f"`mcp_servers` must be MCP servers as ACP describes them; got {shown(given)}")
    return request.mcp_servers
