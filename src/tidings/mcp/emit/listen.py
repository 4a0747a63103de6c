"""`subscriptions/listen` for the SDK: one call is one stream, driven by the router.

A listen handler that the server had before (the SDK's own with its bus, or the author's) keeps working:
it runs beside each stream, and what it sends goes onto that stream's queue. So the core kinds arrive
whether they were published with us or with the SDK, and nothing goes past the filter, the tag and the
bound.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import HandlerEntry
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, SubscriptionsListenRequestParams

from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.emit.delivery import Delivery
from tidings.mcp.emit.sdk import Context, channel_of, has_declared, over_http
from tidings.mcp.events import Event, Filter, read_filter
from tidings.mcp.names import (
    EXTENSION,
    MISSING_CAPABILITY,
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    Profile,
)
from tidings.mcp.router import Stream, TooManyStreamsError
from tidings.mcp.stdio import Pipe

SERVED_BY = {
    TOOLS_CHANGED: "tools/list",
    PROMPTS_CHANGED: "prompts/list",
    RESOURCES_CHANGED: "resources/list",
}
"""A server that serves the list can tell that it changed."""


class Listen:
    """The handler. `before` is the entry that stood in its place."""

    def __init__(
        self, server: Server[Any], delivery: Delivery, profile: Profile, before: HandlerEntry[Any] | None
    ) -> None:
        self._server = server
        self._delivery = delivery
        self._profile = profile
        self._before = before

    async def __call__(self, ctx: Context, params: SubscriptionsListenRequestParams) -> Payload:
        """Serve one stream until the client cancels it or the server ends it."""
        stream = self._open(ctx)
        tap = _Tap(stream)
        try:
            async with anyio.create_task_group() as group:
                if self._before is not None and (stream.filter.changes or stream.filter.uris):
                    group.start_soon(tap.run, self._before, ctx, params)
                with contextlib.suppress(anyio.BrokenResourceError):  # the client is gone: nobody to tell
                    await self._send_all(ctx, stream)
                group.cancel_scope.cancel()
        finally:
            self._delivery.stream_closed(stream)
            await self._count_lost(stream)
        if tap.failure is not None:
            raise tap.failure
        return stream.result()

    def _open(self, ctx: Context) -> Stream:
        asked = (ctx.params or {}).get("notifications")
        if isinstance(asked, Mapping) and asked.get(EXTENSION) is not None and not has_declared(ctx):
            _refuse_undeclared()
        peer = ctx.request if isinstance(ctx.request, Pipe) else object()
        try:
            wanted = read_filter(asked, self._supported())
        except CallerError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        try:
            stream = self._delivery.router.open(ctx.request_id, wanted, profile=self._profile, peer=peer)
        except TooManyStreamsError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from None
        except CallerError as error:
            raise MCPError(INVALID_REQUEST, str(error)) from None
        self._delivery.adopt(stream)
        return stream

    def _supported(self) -> Filter:
        served = {
            change
            for change, method in SERVED_BY.items()
            if self._server.get_request_handler(method) is not None
        }
        uris = {"*"} if RESOURCES_CHANGED in served else set()
        return Filter(changes=frozenset(served), uris=frozenset(uris), extensions={EXTENSION: {}})

    async def _send_all(self, ctx: Context, stream: Stream) -> None:
        channel = channel_of(ctx, ctx.request_id)
        acknowledgement = stream.acknowledgement()
        await channel.send(acknowledgement.method, acknowledgement.params)
        while (frame := await stream.next()) is not None:
            await channel.send(frame.method, frame.params)
            self._delivery.tally.sent += 1
        if isinstance(channel, Pipe):
            channel.owe(stream.id)
        if over_http(ctx):
            return
        for frame in stream.farewell():
            await channel.send(frame.method, frame.params)
            if isinstance(channel, Pipe):
                channel.silence(stream.id)

    async def _count_lost(self, stream: Stream) -> None:
        """What still waited when the client left. The stream has ended: `next` does not wait."""
        while (frame := await stream.next()) is not None:
            event = Event(method=frame.method, params=frame.params)
            self._delivery.tally.lost(event, f"listen stream {stream.id!r}")


class _Tap:
    """Stands in for a session: what another listen handler sends goes onto our stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.failure: MCPError | None = None

    async def run(
        self, entry: HandlerEntry[Any], ctx: Context, params: SubscriptionsListenRequestParams
    ) -> None:
        """Run the handler; when it ends, or refuses, the stream ends."""
        try:
            await entry.handler(replace(ctx, session=cast("ServerSession", self)), params)
        except MCPError as error:
            self.failure = error
        self._stream.end()

    async def send_notification(self, notification: Any, related_request_id: object = None) -> None:
        """Put a notification on the stream, which takes what was asked for: no second acknowledgement."""
        del related_request_id
        message = notification.model_dump(by_alias=True, mode="json", exclude_none=True)
        params = message.get("params", {})
        key = f"{message['method']}:{params['uri']}" if "uri" in params else message["method"]
        self._stream.put(Event(method=message["method"], params=params, key=key))


def _refuse_undeclared() -> None:
    raise MCPError(
        MISSING_CAPABILITY,
        f"declare {EXTENSION} in clientCapabilities.extensions to listen to its notifications",
        {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    )
