"""One stay with one server: opened within a deadline, then asked and listened to until it ends.

A thin layer over the SDK's `ClientSession`; the wire and the tap are below it. What comes out are plain
dicts and our own errors. Called by `link.py`, which opens the next one when this is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import httpx2
import mcp_types as types
from mcp import MCPError
from mcp.client import ClientSession
from mcp_types import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import ValidationError

from tidings.core.producers import shorten
from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.mcp.config import Era, Server
from tidings.mcp.host.era import CLIENT, OURS, Raw, Spoken, settle
from tidings.mcp.host.http import http_wire
from tidings.mcp.host.settings import Deadlines
from tidings.mcp.host.stdio import stdio_wire
from tidings.mcp.host.tap import Tap
from tidings.mcp.names import MISSING_CAPABILITY

MOST_ROUNDS = 5
"""How often a tool call that only asks to be sent again is sent again."""

_Asked = types.Request[dict[str, Any], str]
_Told = types.Notification[dict[str, Any], str]
_REFUSALS = (METHOD_NOT_FOUND, INVALID_PARAMS, MISSING_CAPABILITY)
_SESSION_GONE = "Session terminated"


class AnswerError(TidingsError):
    """A server refused a request, gave an answer that is none, or went away meanwhile."""


class NotListeningError(TidingsError):
    """A server does not take the subscription; asking again would not help."""


class ListenLostError(TidingsError):
    """A subscription ended without the server's word for it."""


class Connection:
    """An open connection. `spoken` is what the server said of itself."""

    def __init__(self, session: ClientSession, spoken: Spoken, tap: Tap) -> None:
        self._session = session
        self.spoken = spoken
        self.tap = tap

    async def request(self, method: str, params: Mapping[str, object]) -> Payload:
        """Send a request of an extension; gives its result as the server wrote it.

        Raises:
            MCPError: the server refuses, or the connection ended.
        """
        return _dumped(await self._session.send_request(_Asked(method=method, params=dict(params)), Raw))

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification of an extension."""
        message = cast("types.ClientNotification", _Told(method=method, params=dict(params)))
        await self._session.send_notification(message)

    async def listen(self, wanted: Payload) -> None:
        """Subscribe, and come back when the server has ended the subscription in order.

        Raises:
            NotListeningError: the server refuses it.
            ListenLostError: it broke.
        """
        request = types.SubscriptionsListenRequest(
            params=types.SubscriptionsListenRequestParams(
                notifications=types.SubscriptionFilter.model_validate(wanted)
            )
        )
        asking = asyncio.ensure_future(self._session.send_request(request, types.Result))
        ending = asyncio.ensure_future(self.tap.ended.wait())
        try:
            await asyncio.wait({asking, ending}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                asking.result()
        except MCPError as error:
            refused = error.code in _REFUSALS and not self.tap.acknowledged.is_set()
            raise (NotListeningError if refused else ListenLostError)(_said(error)) from error
        except ValidationError:
            return  # a result that is no proper one is the end all the same
        finally:
            ending.cancel()
            asking.cancel()
            self.tap.listening = None
            await asyncio.wait({asking, ending})

    async def subscribe(self, uri: str) -> None:
        """Ask a legacy server to tell when a resource changes.

        Raises:
            AnswerError: it refuses.
        """
        request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        await self._ask(self._session.send_request(request, types.EmptyResult))

    async def list_tools(self, cursor: str | None = None) -> Payload:
        """One page of the server's tools, as it sent it.

        Raises:
            AnswerError: it gives none.
        """
        params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        return _dumped(await self._ask(self._session.list_tools(params=params)))

    async def call_tool(self, name: str, arguments: Mapping[str, object], token: str) -> Payload:
        """What a tool answers; cancelling this tells the server.

        Raises:
            AnswerError: it gives no result.
        """
        state: str | None = None
        for _ in range(MOST_ROUNDS):
            result = await self._call_once(name, arguments, token, state)
            if not isinstance(result, types.InputRequiredResult):
                return _dumped(result)
            if result.input_requests:
                raise AnswerError("the tool asks the user something, which this host does not pass on")
            state = result.request_state
        raise AnswerError(f"the tool asked {MOST_ROUNDS} times to be called again")

    async def _call_once(
        self, name: str, arguments: Mapping[str, object], token: str, state: str | None
    ) -> types.Result:
        def call() -> Awaitable[types.Result]:
            return self._session.call_tool(
                name,
                dict(arguments),
                request_state=state,
                meta={"progress_token": token},
                allow_input_required=True,
            )

        try:
            return await self._ask(call())
        except _MismatchError:
            await self.list_tools()  # the tool's headers changed; the listing says how
            return await self._ask(call())

    async def _ask(self, answer: Awaitable[types.Result]) -> types.Result:
        try:
            return await answer
        except MCPError as error:
            if error.code == HEADER_MISMATCH:
                raise _MismatchError(_said(error)) from error
            if _SESSION_GONE in error.message:
                self.tap.lose("the server has forgotten the session")
            raise AnswerError(_said(error)) from error
        except ValidationError as error:
            raise AnswerError(f"the answer is not what the protocol says: {error.title}") from error
        except RuntimeError as error:
            raise AnswerError(shorten(str(error))) from error


class _MismatchError(AnswerError):
    """The headers of a call do not fit its tool any more."""


@asynccontextmanager
async def connect(
    server: Server, tap: Tap, deadlines: Deadlines, era: Era, auth: httpx2.Auth | None = None
) -> AsyncIterator[Connection]:
    """Connect to `server`; its process, streams and tasks end with the block.

    Raises:
        TimeoutError: it took too long.
        TidingsError: it cannot be started, or speaks no era of ours.
        ExceptionGroup: of what the wire met.
    """
    async with AsyncExitStack() as stack, asyncio.timeout(deadlines.to_connect(auth is not None)) as limit:
        session = await _opened(stack, server, tap, deadlines.stop, auth)
        probe = None if server.url else deadlines.probe  # over HTTP silence is an outage, not an old server
        spoken = await settle(session, era, probe)
        limit.reschedule(None)
        yield Connection(session, spoken, tap)


async def _opened(
    stack: AsyncExitStack, server: Server, tap: Tap, grace: float, auth: httpx2.Auth | None
) -> ClientSession:
    if server.url:
        source, sink = await stack.enter_async_context(http_wire(server, tap, auth))
        session = ClientSession(source, sink, client_info=CLIENT, extensions=OURS)
    else:
        out, into = await stack.enter_async_context(stdio_wire(server, tap, grace))
        session = ClientSession(out, into, client_info=CLIENT, extensions=OURS)
    return await stack.enter_async_context(session)


def _dumped(result: types.Result) -> Payload:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _said(error: MCPError) -> str:
    return f"{shorten(error.message)} ({error.code})"
