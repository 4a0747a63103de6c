"""The hub over HTTP: a Starlette application made of the table of operations, behind its guard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.bridge.rpc import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from tidings.core.producers import shown
from tidings.hub.feed import Feed
from tidings.hub.guard import Guard
from tidings.hub.hosting import endpoint as hook
from tidings.hub.login import Keys, endpoints
from tidings.hub.openapi import document
from tidings.hub.operations import OPERATIONS, PREFIX, Operation, operate
from tidings.hub.panel import site as panel
from tidings.hub.service import Hub
from tidings.hub.wire import (
    HttpRefusal,
    error_response,
    json_response,
    read_body,
    read_query,
    refusal_response,
)
from tidings.version import __version__

RECORDS = f"{PREFIX}/records"

Endpoint = Callable[[Request], Awaitable[Response]]


class Site(Guard):
    """The whole application. `close` ends the live streams, which would hold up a shutdown."""

    def __init__(self, hub: Hub, token: str, port: int = 0) -> None:
        self._feed = Feed(hub)
        keys = Keys(token)
        super().__init__(_application(hub, self._feed, keys), keys, port)

    def close(self) -> None:
        """End every live stream."""
        self._feed.close()


def _application(hub: Hub, feed: Feed, keys: Keys) -> ASGIApp:
    """Everything; the live feed stands before Starlette, whose layers would cost half of it."""
    site = _starlette(hub, feed, keys)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        live = scope["type"] == "http" and (scope["method"], scope["path"]) == ("GET", RECORDS)
        await (feed if live else site)(scope, receive, send)

    return serve


def _starlette(hub: Hub, feed: Feed, keys: Keys) -> Starlette:
    routes: list[BaseRoute] = [Route(PREFIX + hook.PATH, hook.endpoint(hub.hosting), methods=["POST"])]
    routes += [
        Route(each.path, _endpoint(hub, each), methods=[each.verb], name=each.name) for each in OPERATIONS
    ]
    routes += [
        Route(RECORDS, feed, methods=["GET"]),
        Route(f"{PREFIX}/health", _health, methods=["GET"]),
        Route(f"{PREFIX}/openapi.json", _openapi, methods=["GET"]),
    ]
    routes += [Route(path, endpoint, methods=["POST"]) for path, endpoint in endpoints(keys).items()]
    routes += panel.routes()
    handlers = {HttpRefusal: _refused, HTTPException: _not_served, Exception: _broken}
    return Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]


def _endpoint(hub: Hub, operation: Operation) -> Endpoint:
    async def serve(request: Request) -> Response:
        reads = operation.verb == "GET"
        params = read_query(request) if reads else await read_body(request)
        try:
            return json_response(await operate(hub, operation, params, strict=not reads))
        except RpcError as error:
            return error_response(error)

    return serve


async def _health(_: Request) -> Response:
    return json_response({"status": "ok", "version": __version__})


async def _openapi(_: Request) -> Response:
    return json_response(document(__version__))


def _refused(_: Request, error: HttpRefusal) -> Response:
    return refusal_response(error.status, error.code, str(error))


def _not_served(request: Request, error: HTTPException) -> Response:
    text = f"{request.method} {shown(request.url.path)} is not served; see {PREFIX}/openapi.json"
    code = METHOD_NOT_FOUND if error.status_code in (404, 405) else INVALID_REQUEST
    return refusal_response(error.status_code, code, text, error.headers)


def _broken(_: Request, error: Exception) -> Response:
    return refusal_response(500, INTERNAL_ERROR, f"the hub failed: {type(error).__name__}")
