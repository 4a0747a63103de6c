"""A server behind a url: the SDK's streamable HTTP transport, tapped, bounded and watched.

What the SDK keeps to itself is seen here: that it has given up a broken event stream, after which the
server could not reach us any more; and an answer that is larger than a host reads ends early. Called by
`connection.py`.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import MAX_RECONNECTION_ATTEMPTS, streamable_http_client

from tidings.bridge.rpc import LONGEST_LINE
from tidings.mcp.budget import LARGEST_FRAME
from tidings.mcp.config import Server
from tidings.mcp.host.lines import method_of
from tidings.mcp.host.tap import BRIEF, Tap, TappedRead, TappedWrite

CONNECT_SECONDS = 10.0
PLAIN = "identity"
_NO_STREAM = 405
_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)] if hasattr(socket, "TCP_KEEPIDLE") else []),
]
"""A quiet event stream is no broken one; that its other end is gone is for TCP to find out."""


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most so many bytes."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.StreamError(f"the answer is larger than {self._most} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Followed(httpx2.AsyncByteStream):
    """The body of an event stream; tells whether it came to its end."""

    def __init__(self, inner: httpx2.AsyncByteStream, watch: _Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._over = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            yield chunk
        self._over = True

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._watch.ended(self._over)


class _Watch(httpx2.AsyncBaseTransport):
    """The HTTP transport under the SDK's."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, tap: Tap) -> None:
        self._inner = inner
        self._tap = tap
        self._failures = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET":
            return _limited(await self._answer(request), _most(request))
        try:
            response = await self._answer(request)
        except httpx2.TransportError:
            self.ended(False)
            raise
        if response.status_code == _NO_STREAM:
            return response
        if response.status_code >= 400:
            self.ended(False)
            return response
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _Followed(stream, self)
        return response

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        """The answer as it was sent: what is compressed has no bound until it is read."""
        response = await self._inner.handle_async_request(request)
        coding = response.headers.get("content-encoding", PLAIN)
        if coding.lower() != PLAIN:
            await response.aclose()
            raise httpx2.RemoteProtocolError(
                f"the answer is compressed ({coding[:20]}), which nobody asked for"
            )
        return response

    def ended(self, in_order: bool) -> None:
        """The event stream is over; after as many failures as the SDK bears, nobody listens any more."""
        self._failures = 0 if in_order else self._failures + 1
        if self._failures >= MAX_RECONNECTION_ATTEMPTS:
            self._tap.lose("its event stream broke and could not be opened again")

    async def aclose(self) -> None:
        await self._inner.aclose()


def _most(request: httpx2.Request) -> int:
    """How many bytes of an answer are read."""
    return LARGEST_FRAME if method_of(request.content) in BRIEF else LONGEST_LINE


def _limited(response: httpx2.Response, most: int) -> httpx2.Response:
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, most)
    return response


@asynccontextmanager
async def http_wire(
    server: Server, tap: Tap, auth: httpx2.Auth | None = None
) -> AsyncIterator[tuple[TappedRead, TappedWrite]]:
    """Give the SDK's two streams for the server's url. Waiting is bounded by whoever asks."""
    watch = _Watch(httpx2.AsyncHTTPTransport(socket_options=_ALIVE), tap)
    client = httpx2.AsyncClient(
        headers={**server.headers, "Accept-Encoding": PLAIN},
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        transport=watch,
        auth=auth,
    )
    async with client, streamable_http_client(str(server.url), http_client=client) as (source, sink):
        yield TappedRead(source, tap), TappedWrite(sink, tap)
