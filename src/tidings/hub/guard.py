"""Who may speak to the hub over HTTP: programs of this machine that name it rightly and know the token.

A web page that the user visits can reach loopback too. So the Host must be the hub's own (no name that was
rebound to 127.0.0.1), an Origin must be the hub's own, and all but `OPEN` needs the token, reading too:
other users of the machine reach loopback as well. Wraps the application; knows nothing of what is asked.
"""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.bridge.rpc import INVALID_REQUEST
from tidings.core.producers import shown
from tidings.hub.operations import PREFIX
from tidings.hub.wire import refusal_response

OPEN = frozenset((f"{PREFIX}/health", f"{PREFIX}/openapi.json"))
"""What anybody on this machine may read."""

NAMES = ("127.0.0.1", "localhost", "[::1]")
_BEARER = "bearer "


class Guard:
    """An application behind its checks. `port` is set once it is known."""

    def __init__(self, app: ASGIApp, token: str, port: int = 0) -> None:
        self._app = app
        self._token = token.encode()
        self.port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stopped = self._stopped(Headers(scope=scope), str(scope["path"]))
        await (stopped or self._app)(scope, receive, send)

    def _stopped(self, headers: Headers, path: str) -> Response | None:
        hosts = {f"{name}:{self.port}" for name in NAMES}
        given = headers.getlist("host")
        if len(given) != 1 or given[0].lower() not in hosts:
            text = f"Host is {shown(', '.join(given))}; this hub is 127.0.0.1:{self.port}"
            return refusal_response(403, INVALID_REQUEST, text)
        for origin in headers.getlist("origin"):
            if origin.lower() not in {f"http://{host}" for host in hosts}:
                text = f"Origin {shown(origin)} may not use this hub"
                return refusal_response(403, INVALID_REQUEST, text)
        if path in OPEN or self._knows(headers.getlist("authorization")):
            return None
        text = "send `Authorization: Bearer <token>`; the token is in the file that `tidings status` names"
        return refusal_response(401, INVALID_REQUEST, text, {"WWW-Authenticate": "Bearer"})

    def _knows(self, given: list[str]) -> bool:
        if len(given) != 1 or not given[0].lower().startswith(_BEARER):
            return False
        return hmac.compare_digest(given[0][len(_BEARER) :].strip().encode(), self._token)
