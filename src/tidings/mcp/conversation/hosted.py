"""The servers of a `tidings.mcp` host as peers that can be asked about messages.

The one page that knows the host's connections. A peer outlives its connection: it speaks through the one
that is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.mcp.conversation.consent import target_of
from tidings.mcp.host.connection import Connection
from tidings.mcp.host.link import Link
from tidings.mcp.host.servers import Servers


class NotConnectedError(TidingsError):
    """The server went away before it could be asked."""


class HostedPeer:
    """One server of a host."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.name = link.server.name
        self.target = target_of(link.server)

    @property
    def notifies(self) -> bool:
        """Not over HTTP in the stateless era: there only requests pass."""
        connection = self._link.connection
        modern = connection is not None and connection.spoken.is_modern
        return not (modern and self._link.server.url)

    def capabilities(self) -> Mapping[str, object] | None:
        """What the server says of itself; None while it is not connected."""
        connection = self._link.connection
        return None if connection is None else connection.spoken.capabilities

    async def request(self, method: str, params: Payload) -> object:
        """Send a request and give its result as the server wrote it.

        Raises:
            NotConnectedError: there is no connection.
            MCPError: the server refuses, or the connection ended.
        """
        return await self._connection().request(method, params)

    async def notify(self, method: str, params: Payload) -> None:
        """Send a notification.

        Raises:
            NotConnectedError: there is no connection.
        """
        await self._connection().notify(method, params)

    def _connection(self) -> Connection:
        connection = self._link.connection
        if connection is None:
            raise NotConnectedError(f"the MCP server {self.name!r} is not connected")
        return connection


def peers_of(servers: Servers) -> list[HostedPeer]:
    """The servers of a host, in the order of its config."""
    return [HostedPeer(link) for link in servers.links]
