"""An SDK server over HTTP that knows when its clients listen, and ends in time.

`Watch` stands before the SDK's ASGI app: it sees when a legacy client's GET stream opens and closes (what
is sent at any other time is lost), ends those streams when the server shuts down, and in the draft
profile writes the draft's code for a header mismatch. `serving` runs uvicorn without letting its signal
handling hang or kill us.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidings.bridge.web import WebServer
from tidings.errors import CallerError, TidingsError
from tidings.mcp.emit.reminders import CLOSING, Reminders, reminders_of
from tidings.mcp.emit.sdk import SESSION_HEADER, WATCHED, AnyServer
from tidings.mcp.names import RELEASED

OK = 200
BAD_REQUEST = 400
STARTING = 30.0
"""Seconds that the server gets to start."""


class StartError(TidingsError):
    """The HTTP server did not start."""


class Watch:
    """ASGI in, ASGI out. `close` ends the GET streams of legacy clients."""

    def __init__(self, app: ASGIApp, reminders: Reminders) -> None:
        self._app = app
        self._reminders = reminders
        self._closing = asyncio.Event()

    def close(self) -> None:
        """The server shuts down."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, WATCHED: True}
        if scope["method"] == "GET":
            await self._standalone(scope, receive, send)
        elif self._reminders.profile.header_mismatch != RELEASED.header_mismatch:
            await self._app(scope, receive, _Translated(send, self._reminders.profile.header_mismatch))
        else:
            await self._app(scope, receive, send)

    async def _standalone(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = next(
            (v.decode("latin-1") for k, v in scope["headers"] if k == SESSION_HEADER.encode()), None
        )
        stream = _Standalone(send)

        async def noted(message: Message) -> None:
            await stream.send(message)
            if stream.opened(message) and session is not None:
                self._reminders.delivery.listening(session, on=True)

        try:
            await self._app(scope, lambda: self._or_end(receive), noted)
        finally:
            if stream.is_open and session is not None:
                self._reminders.delivery.listening(session, on=False)
        await stream.finish()

    async def _or_end(self, receive: Receive) -> Message:
        """The client's next message, or its farewell in its name when the server shuts down."""
        tasks = [asyncio.ensure_future(receive()), asyncio.ensure_future(self._closing.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            heard = tasks[0]
            return heard.result() if heard.done() else {"type": "http.disconnect"}  # type: ignore[return-value]
        finally:
            for task in tasks:
                task.cancel()


class _Standalone:
    """The answer to a GET: whether it has become a stream, and whether it was finished."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_open = False
        self._started = False
        self._finished = False

    async def send(self, message: Message) -> None:
        self._started = self._started or message["type"] == "http.response.start"
        if message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        await self._send(message)

    def opened(self, message: Message) -> bool:
        """Whether `message` is what opened the stream."""
        if message["type"] != "http.response.start" or message["status"] != OK:
            return False
        types = [value for name, value in message["headers"] if name.lower() == b"content-type"]
        self.is_open = any(one.startswith(b"text/event-stream") for one in types)
        return self.is_open

    async def finish(self) -> None:
        """Close an answer that was cut off, so that the connection ends cleanly."""
        if self._started and not self._finished:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Translated:
    """Sends a refusal of mismatched headers with the draft's code. Only answers with status 400 wait."""

    def __init__(self, send: Send, code: int) -> None:
        self._send = send
        self._code = code
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == BAD_REQUEST:
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = with_code(self._body, RELEASED.header_mismatch, self._code)
        headers = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        await self._send({**start, "headers": [*headers, length]})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def with_code(body: bytes, old: int, new: int) -> bytes:
    """A JSON-RPC refusal with the code `old` gets `new`; anything else stays as it is."""
    try:
        message = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict) or error.get("code") != old:
        return body
    return msgspec.json.encode({**message, "error": {**error, "code": new}})


@asynccontextmanager
async def serving(
    server: AnyServer, host: str = "127.0.0.1", port: int = 0, *, deadline: float = CLOSING, **options: Any
) -> AsyncIterator[str]:
    """Serve over HTTP for the block; gives the url. Then streams get their result, and all is closed.

    `options` go to the server's `streamable_http_app`. Port 0 takes a free one.

    Raises:
        CallerError: the server has no reminders.
        StartError: it did not start.
        OSError: the address cannot be bound.
    """
    reminders = reminders_of(server)
    if reminders is None:
        raise CallerError("the server has no reminders; make them first: Reminders(server)")
    path = options.setdefault("streamable_http_path", "/mcp")
    watch = Watch(server.streamable_http_app(host=host, **options), reminders)
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    name = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        watch,
        log_config=None,
        log_level="warning",
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=max(1, int(deadline)),
    )
    running = WebServer(config)
    task = asyncio.create_task(running.serve(sockets=[listener]))
    try:
        if not await running.comes_up(task, STARTING):
            raise StartError(f"the HTTP server did not start within {STARTING:.0f} s; see its log")
        yield f"http://{name}:{listener.getsockname()[1]}{path}"
    finally:
        await reminders.aclose(deadline)
        watch.close()
        running.should_exit = True
        await task
