"""What the emitter asks of the SDK's objects, through their public names only.

A server, high-level or low-level, becomes the low-level one; a request's context says who asks: which
client, which conversation, which channel leads back. Called by the middleware, the listen handler and
`serve`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import Notification, ServerNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tidings.bridge.rpc import Id
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.names import EXTENSION, SESSION_META
from tidings.mcp.stdio import Pipe

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.session import ServerSession

Context: TypeAlias = ServerRequestContext[Any, Any]
AnyServer: TypeAlias = "Server[Any] | MCPServer[Any]"

_Plain = Notification[dict[str, Any], str]

SESSION_HEADER = "mcp-session-id"
WATCHED = "tidings.watched"
"""In an ASGI scope: our `http.Watch` stands in front and tells when the GET stream is open."""


class Channel(Protocol):
    """A way back to one client; `send` waits while the client does not read."""

    async def send(self, method: str, params: Payload) -> None:
        """Send one notification."""


class SessionChannel:
    """A channel through the SDK: of a request when `request_id` is given, else the connection's own."""

    def __init__(self, session: ServerSession, request_id: Id = None) -> None:
        self._session = session
        self._request_id = cast("str | int | None", request_id)

    async def send(self, method: str, params: Payload) -> None:
        """Send one notification; once the client is gone it goes nowhere."""
        message = _Plain(method=method, params=params)
        await self._session.send_notification(cast("ServerNotification", message), self._request_id)


def lowlevel(server: AnyServer) -> Server[Any]:
    """The low-level server of either kind.

    Raises:
        CallerError: it is no server of the official SDK.
    """
    if isinstance(server, Server):
        return server
    if not hasattr(server, "streamable_http_app") or not hasattr(type(server), "session_manager"):
        fix = "give an mcp.server.mcpserver.MCPServer or an mcp.server.lowlevel.Server"
        raise CallerError(f"`server` is no server of the MCP SDK: {shown(server)}; {fix}")
    try:
        return server.session_manager.app
    except RuntimeError:  # no manager yet; building the app makes one, and runs nothing
        server.streamable_http_app()
        return server.session_manager.app


def channel_of(ctx: Context, request_id: Id = None) -> Channel:
    """The channel back to the client of `ctx`: its pipe if it has one of ours, else the SDK's."""
    pipe = ctx.request
    return pipe if isinstance(pipe, Pipe) else SessionChannel(ctx.session, request_id)


def is_modern(ctx: Context) -> bool:
    """Whether the client speaks the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def has_declared(ctx: Context) -> bool:
    """Whether the client said that it takes reminders."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


def http_header(ctx: Context, name: str) -> str | None:
    """A header of the request, when it came over HTTP."""
    headers = getattr(ctx.request, "headers", None)
    return headers.get(name) if isinstance(headers, Mapping) else None


def over_http(ctx: Context) -> bool:
    """Whether the message came over HTTP."""
    return isinstance(getattr(ctx.request, "headers", None), Mapping)


def is_watched(ctx: Context) -> bool:
    """Whether we are told when the client's GET stream is open."""
    scope = getattr(ctx.request, "scope", None)
    return isinstance(scope, Mapping) and scope.get(WATCHED) is True


def conversation(ctx: Context) -> str | None:
    """The conversation that a request names in its `_meta`."""
    meta = (ctx.params or {}).get("_meta")
    handle = meta.get(SESSION_META) if isinstance(meta, Mapping) else None
    return handle if isinstance(handle, str) else None


def peer_of(ctx: Context) -> Hashable:
    """Who asks: the connection where there is one, else as near as a stateless request lets us tell."""
    if not is_modern(ctx) and ctx.session.client_params is not None:
        return id(ctx.session.client_params)
    if isinstance(ctx.request, Pipe):
        return ctx.request
    if not over_http(ctx):
        return "local"
    client = getattr(ctx.request, "client", None)
    secret = (http_header(ctx, "authorization") or "").encode()
    return (getattr(client, "host", ""), sha256(secret).digest())
