"""For authors of MCP servers: connect to yours in either era, and assert on the reminders that it emits.

    async with connected(server, era="modern") as heard:
        await heard.client.call_tool("save", {"path": "a.py"})
        await heard.expect(body="a.py was saved.", dedupe_key="saved:a.py")
        await heard.expect_nothing_more()

The server may be an object (then it runs in this process), a url, or `StdioServerParameters`. The client
is the SDK's own. Every wait has a deadline; what did not come is an `AssertionError` that shows what
came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio
from mcp.client import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp_types import (
    DiscoverRequest,
    DiscoverResult,
    EmptyResult,
    NotificationParams,
    PingRequest,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from tidings.core.reminder import Payload
from tidings.core.wire import SPELLING
from tidings.errors import CallerError
from tidings.mcp.names import EXTENSION, METHOD, MODERN

if TYPE_CHECKING:
    from mcp.client.session import IncomingMessage
    from mcp.client.stdio import StdioServerParameters

    from tidings.mcp.emit.sdk import AnyServer

Era: TypeAlias = Literal["legacy", "modern"]
MODES: dict[str, str] = {"legacy": "legacy", "modern": MODERN}
DEADLINE = 10.0
"""Seconds that a reminder may take."""


class _Params(NotificationParams, extra="allow"):
    """The params of a notification, as they came."""


class Heard:
    """What one client heard. `params` are those of every `notifications/reminder`, in order."""

    def __init__(self) -> None:
        self.client: Client
        self.params: list[Payload] = []
        self.ended = False
        self._checked = 0
        self._news = asyncio.Event()
        self._acknowledged = asyncio.Event()

    @property
    def reminders(self) -> list[Payload]:
        """The reminders, as they stand on the wire."""
        return [_reminder(params) for params in self.params]

    async def next(self, deadline: float = DEADLINE) -> Payload:
        """The next reminder that was not looked at yet.

        Raises:
            AssertionError: none came in time.
        """
        try:
            async with asyncio.timeout(deadline):
                while len(self.params) <= self._checked:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(
                f"no reminder within {deadline} s; before it came {self.reminders}"
            ) from None
        self._checked += 1
        return self.reminders[self._checked - 1]

    async def expect(self, deadline: float = DEADLINE, **fields: object) -> Payload:
        """The next reminder, which has these `fields`, spelled as `emit` spells them.

        Raises:
            AssertionError: none came in time, or another one came.
            CallerError: no such field.
        """
        unknown = sorted(set(fields) - KNOWN)
        if unknown:
            raise CallerError(f"a reminder has no {', '.join(unknown)}; it has {', '.join(sorted(KNOWN))}")
        wanted = {SPELLING.get(name, name): _plain(value) for name, value in fields.items()}
        reminder = await self.next(deadline)
        found = {name: reminder.get(name) for name in wanted}
        if found != wanted:
            raise AssertionError(f"expected a reminder with {wanted}; got {reminder}")
        return reminder

    async def expect_nothing_more(self) -> None:
        """No reminder came beyond those that were looked at, up to an answer of the server.

        Raises:
            AssertionError: another one came.
        """
        await self._round_trip()
        rest = self.reminders[self._checked :]
        if rest:
            raise AssertionError(f"expected nothing more; got {rest}")

    async def _round_trip(self) -> None:
        if self.client.protocol_version == MODERN:
            await self.client.session.send_request(DiscoverRequest(), DiscoverResult)
        else:
            await self.client.session.send_request(PingRequest(), EmptyResult)

    async def _take(self, params: _Params) -> None:
        self.params.append(params.model_dump(mode="json", by_alias=True, exclude_unset=True))
        self._news.set()

    async def _message(self, message: IncomingMessage) -> None:
        if isinstance(message, SubscriptionsAcknowledgedNotification):
            self._acknowledged.set()

    async def _listen(self, wanted: Mapping[str, object]) -> None:
        asked = SubscriptionsListenRequest(
            params=SubscriptionsListenRequestParams(notifications=SubscriptionFilter.model_validate(wanted))
        )
        await self.client.session.send_request(
            asked, SubscriptionsListenResult, request_read_timeout_seconds=float("inf")
        )
        self.ended = True


KNOWN = frozenset(
    {"id", "body", "tags", "dedupe_key", "ttl_turns", "preserve_on_compact", "propagate", "role_hint"}
)


class _Extension(ClientExtension):
    """Declares that the client takes reminders, and hands them over."""

    identifier = EXTENSION

    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return (NotificationBinding(method=METHOD, params_type=_Params, handler=self._heard._take),)


@asynccontextmanager
async def connected(
    server: AnyServer | StdioServerParameters | str,
    *,
    era: Era = "modern",
    declare: bool = True,
    session: str | None = None,
) -> AsyncIterator[Heard]:
    """A client of `server` that hears reminders; with `declare=False` one that does not know of them.

    `session` is the conversation's handle that a modern client listens with.
    """
    heard = Heard()
    heard.client = Client(
        server,
        mode=MODES[era],
        extensions=[_Extension(heard)] if declare else None,
        message_handler=heard._message,
    )
    failed: Exception | None = None
    async with heard.client, anyio.create_task_group() as group:
        if era == "modern" and declare:
            group.start_soon(heard._listen, {EXTENSION: {} if session is None else {"session": session}})
            async with asyncio.timeout(DEADLINE):
                await heard._acknowledged.wait()
        try:
            yield heard
        except Exception as error:  # noqa: BLE001 - raised below; the task groups would wrap it
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed


def _reminder(params: Payload) -> Payload:
    found = params.get("reminder")
    return dict(found) if isinstance(found, Mapping) else {}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
