"""What the emitter does with messages that pass through the SDK: the outermost `Server.middleware`.

It advertises in the answer to `initialize`, takes in each legacy client when its handshake is done, and
pumps what waits for it for as long as the connection lives: the SDK runs the handler of a notification in
the connection's own task group, so the pump ends with it. With `in_tool_results` it adds to the answers
of tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.context import CallNext, HandlerResult

from tidings.core.reminder import Payload
from tidings.mcp.advertisement import with_reminders
from tidings.mcp.emit import tool_result
from tidings.mcp.emit.connection import Connection
from tidings.mcp.emit.sdk import (
    SESSION_HEADER,
    Channel,
    Context,
    SessionChannel,
    channel_of,
    conversation,
    has_declared,
    http_header,
    is_modern,
    is_watched,
    peer_of,
)
from tidings.mcp.names import LEGACY

if TYPE_CHECKING:
    from tidings.mcp.emit.reminders import Reminders

LISTS = ("tools", "prompts", "resources")


class Middleware:
    """Stands before everything else in `Server.middleware`; `reminders` is whose it is."""

    def __init__(self, reminders: Reminders, name: str) -> None:
        self.reminders = reminders
        self._name = name
        self._delivery = reminders.delivery
        self._special: dict[str, Callable[[Context, CallNext], Awaitable[HandlerResult]]] = {
            "initialize": self._initialize,
            "notifications/initialized": self._initialized,
            "tools/call": self._call_tool,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Handle what concerns us; pass on all else."""
        self.reminders.bind()
        if ctx.request_id is not None:
            await self._meet(ctx)
        special = self._special.get(ctx.method)
        return await (call_next(ctx) if special is None else special(ctx, call_next))

    async def _initialize(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = _as_object(await call_next(ctx))
        capabilities = _as_object(result.get("capabilities"))
        for kind in LISTS:
            if isinstance(found := capabilities.get(kind), dict):
                capabilities[kind] = {**found, "listChanged": True}
        told = with_reminders(capabilities, self.reminders.advertised, LEGACY)
        return {**result, "capabilities": told}

    async def _initialized(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        await call_next(ctx)
        client = ctx.session.client_params
        if is_modern(ctx) or client is None or self._delivery.connection(id(client)) is not None:
            return None
        session = http_header(ctx, SESSION_HEADER)
        connection = Connection(
            session=session,
            declared=has_declared(ctx),
            up=session is None,
            capacity=self._delivery.capacity,
            on_drop=lambda event: self._delivery.tally.lost(event, "a client's connection"),
        )
        self._delivery.connect(id(client), connection)
        try:
            await self._pump(connection, channel_of(ctx))
        finally:
            self._delivery.disconnect(id(client))
        return None

    async def _pump(self, connection: Connection, channel: Channel) -> None:
        while (frame := await connection.next()) is not None:
            connection.sending = True
            try:
                await channel.send(frame.method, frame.params)
            except anyio.BrokenResourceError:
                return
            finally:
                connection.sending = False
            self._delivery.tally.sent += 1
        self._delivery.drained()

    async def _meet(self, ctx: Context) -> None:
        """A request: note who asks and of which conversation, and send what waited for a first request."""
        if self._delivery.leftovers is not None:
            self._delivery.leftovers.meet(peer_of(ctx))
        if is_modern(ctx):
            return
        connection = self._delivery.connection(id(ctx.session.client_params))
        if connection is None:
            return
        if (handle := conversation(ctx)) is not None:
            connection.uses(handle)
        if not connection.up and not is_watched(ctx):
            await self._flush(ctx, connection)

    async def _flush(self, ctx: Context, connection: Connection) -> None:
        """Nobody tells us whether the GET stream is open: what waited rides on this request's stream."""
        if ctx.session.can_send_request:
            channel = SessionChannel(ctx.session, ctx.request_id)
            for event in connection.withdraw(lambda _: True):
                await channel.send(event.method, event.params)
                self._delivery.tally.sent += 1
        connection.up = True

    async def _call_tool(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if self._delivery.leftovers is None or not tool_result.takes_reminders(result):
            return result
        events = self._delivery.unseen(
            peer_of(ctx), conversation(ctx), declared=has_declared(ctx), most=tool_result.MOST_SHOWN
        )
        return tool_result.with_reminders(_as_object(result), events, self._name) if events else result

    async def _subscribe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        connection = self._delivery.connection(id(ctx.session.client_params))
        if connection is not None:
            connection.subscribe(str((ctx.params or {}).get("uri")))
        return result

    async def _unsubscribe(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        connection = self._delivery.connection(id(ctx.session.client_params))
        if connection is not None:
            connection.subscribed.pop(str((ctx.params or {}).get("uri")), None)
        return result


def _as_object(value: Any) -> Payload:
    """A result as the SDK hands it to the outermost middleware: a dict of the wire."""
    return dict(cast("Payload", value)) if isinstance(value, dict) else {}
