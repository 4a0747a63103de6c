"""What a server's author holds: `reminders = Reminders(server)`, then `await reminders.emit(body=…)`.

It advertises, serves `subscriptions/listen`, and hands each reminder to the delivery, which tells every
client that wants it; emitting never waits for a client. Everything works from any task, and the methods
that are not coroutines from any thread as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp_types import (
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from tidings.core.producers import shown
from tidings.core.reminder import Payload, Propagate, Reminder, RoleHint
from tidings.errors import CallerError
from tidings.mcp.advertisement import Advertised
from tidings.mcp.emit.delivery import Delivery
from tidings.mcp.emit.gate import checked, checked_uri
from tidings.mcp.emit.listen import Listen
from tidings.mcp.emit.middleware import Middleware
from tidings.mcp.emit.sdk import AnyServer, lowlevel
from tidings.mcp.emit.tally import Dropped, Stats, Tally
from tidings.mcp.events import Event, list_changed, resource_updated
from tidings.mcp.names import (
    EXTENSION,
    LISTEN,
    MODERN,
    PROFILES,
    PROMPTS_CHANGED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
)
from tidings.mcp.queue import CAPACITY, Queue
from tidings.mcp.router import MOST_STREAMS
from tidings.shell.ids import new_id

ListName: TypeAlias = Literal["tools", "prompts", "resources"]

LISTS: dict[str, str] = {
    "tools": TOOLS_CHANGED,
    "prompts": PROMPTS_CHANGED,
    "resources": RESOURCES_CHANGED,
}

CLOSING = 5.0
"""Seconds that the streams get to end."""


class Reminders:
    """Reminders for one server.

    Args:
        server: An `MCPServer` or a low-level `Server`, before it runs.
        propagate: What is advertised, and may be emitted.
        role_hints: What is advertised, and may be emitted.
        profile: How listen streams are spoken: `2026-07-28`, or `draft-2026-06` to the letter of the draft.
        in_tool_results: Also show them in the next tool result of clients that did not declare support.
        capacity: How many notifications wait for one client; then the oldest is dropped, and told.
        most_streams: How many listen streams are served at a time.
        on_drop: Hears of every notification that is lost.

    Raises:
        CallerError: no server of the SDK, one that has reminders already, or an unknown profile.
    """

    def __init__(
        self,
        server: AnyServer,
        *,
        propagate: Sequence[Propagate] = ("session", "none"),
        role_hints: Sequence[RoleHint] = ("system", "developer"),
        profile: str = MODERN,
        in_tool_results: bool = False,
        capacity: int = CAPACITY,
        most_streams: int = MOST_STREAMS,
        on_drop: Callable[[Dropped], None] | None = None,
    ) -> None:
        if profile not in PROFILES:
            raise CallerError(f"`profile` must be one of {', '.join(PROFILES)}; got {shown(profile)}")
        if reminders_of(server) is not None:
            raise CallerError(
                "this server has reminders already; use the `Reminders` that were made for it"
            )
        self.server = server
        self.advertised = Advertised(propagate=tuple(propagate), role_hints=tuple(role_hints))
        self.profile = PROFILES[profile]
        self.tally = Tally(on_drop)
        self.delivery = Delivery(
            self.tally, capacity=capacity, most_streams=most_streams, keep_leftovers=in_tool_results
        )
        self._inbox: Queue[Event] = Queue(capacity)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._install(server)

    async def emit(
        self,
        body: str,
        *,
        tags: Sequence[str] = (),
        dedupe_key: str | None = None,
        ttl_turns: int | None = None,
        preserve_on_compact: bool = False,
        propagate: Propagate = "session",
        role_hint: RoleHint = "system",
        resource: str | None = None,
        session: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Reminder:
        """Tell the clients' agents what happened; gives the reminder with its id. Waits for no client.

        Args:
            body: What happened, in a sentence.
            tags: Words to group and clear by.
            dedupe_key: A newer reminder with this key replaces an older one that has not been seen.
            ttl_turns: For how many turns it is shown; without it until something removes it.
            preserve_on_compact: Ask the host to keep it when it compacts the transcript.
            propagate: Who inherits it; must be advertised.
            role_hint: How the host may render it; must be advertised.
            resource: A resource that changed as well: its subscribers get `resources/updated`.
            session: The conversation that it is for, as its client named it; without it for all.
            meta: More for the notification's `_meta`, such as a `correlationId`.

        Raises:
            DiagnosticError: with every problem and its HARN-RMD code.
        """
        reminder = self.emit_soon(
            body,
            tags=tags,
            dedupe_key=dedupe_key,
            ttl_turns=ttl_turns,
            preserve_on_compact=preserve_on_compact,
            propagate=propagate,
            role_hint=role_hint,
            resource=resource,
            session=session,
            meta=meta,
        )
        await asyncio.sleep(0)  # a busy emitter lets the pumps run
        return reminder

    def emit_soon(
        self,
        body: str,
        *,
        tags: Sequence[str] = (),
        dedupe_key: str | None = None,
        ttl_turns: int | None = None,
        preserve_on_compact: bool = False,
        propagate: Propagate = "session",
        role_hint: RoleHint = "system",
        resource: str | None = None,
        session: str | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Reminder:
        """`emit` from any thread, and from code that cannot await.

        Raises:
            DiagnosticError: with every problem and its HARN-RMD code.
        """
        options: Payload = {
            "body": body,
            "tags": tags,
            "dedupe_key": dedupe_key,
            "ttl_turns": ttl_turns,
            "preserve_on_compact": preserve_on_compact,
            "propagate": propagate,
            "role_hint": role_hint,
        }
        reminder, event = checked(options, self.advertised, id=new_id(), session=session, meta=meta)
        if resource is not None:
            self.resource_updated(resource)
        self._hand_over(event)
        return reminder

    def resource_updated(self, uri: str) -> None:
        """Tell the subscribers of `uri` that it changed. From any thread.

        Raises:
            DiagnosticError: no uri.
        """
        self._hand_over(resource_updated(checked_uri(uri)))

    def list_changed(self, which: ListName) -> None:
        """Tell the clients that asked that a list changed. From any thread.

        Raises:
            CallerError: no such list.
        """
        if which not in LISTS:
            raise CallerError(f"`which` must be one of {', '.join(LISTS)}; got {shown(which)}")
        self._hand_over(list_changed(LISTS[which]))

    @property
    def stats(self) -> Stats:
        """What was emitted, sent, shown and dropped, what waits, and who listens."""
        return self.delivery.stats()

    async def aclose(self, deadline: float = CLOSING) -> bool:
        """End every listen stream with its result, after what waits; gives whether all ended in time."""
        self._take_in()
        try:
            async with asyncio.timeout(deadline):
                await self.delivery.aclose()
        except TimeoutError:
            return False
        return True

    def bind(self) -> None:
        """Note the loop that serves; what was emitted before is taken in. Called by the middleware."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            with self._lock:
                self._loop = loop
            self._take_in()

    def _install(self, server: AnyServer) -> None:
        low = lowlevel(server)
        before = low.get_request_handler(LISTEN)
        low.extensions[EXTENSION] = self.advertised.to_wire()
        low.add_request_handler(
            LISTEN, SubscriptionsListenRequestParams, Listen(low, self.delivery, self.profile, before)
        )
        if low.get_request_handler("resources/subscribe") is None:
            low.add_request_handler("resources/subscribe", SubscribeRequestParams, _noted)
            low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, _noted)
        low.middleware.insert(0, Middleware(self, low.name))

    def _hand_over(self, event: Event) -> None:
        """Deliver at once in the serving loop; from anywhere else through the inbox."""
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is not None and here is self._loop:
            self._publish(event)
            return
        with self._lock:
            first = not len(self._inbox)
            lost = self._inbox.push(event, event.key).dropped
            if first and self._loop is not None:
                with contextlib.suppress(RuntimeError):  # that loop has ended: the next one takes it in
                    self._loop.call_soon_threadsafe(self._take_in)
        if lost is not None:
            self.tally.lost(lost, "the inbox")

    def _take_in(self) -> None:
        with self._lock:
            waiting = self._inbox.take()
        for event in waiting:
            self._publish(event)

    def _publish(self, event: Event) -> None:
        self.tally.emitted += event.extension is not None
        self.delivery.publish(event)


def reminders_of(server: AnyServer) -> Reminders | None:
    """The reminders that were made for `server`, if any were."""
    found = (one.reminders for one in lowlevel(server).middleware if isinstance(one, Middleware))
    return next(found, None)


async def _noted(_ctx: ServerRequestContext[object, object], _params: object) -> EmptyResult:
    """Subscribing to a resource: the middleware remembers it."""
    return EmptyResult()
