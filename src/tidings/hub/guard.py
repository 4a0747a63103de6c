"""Who may speak to the hub over HTTP: programs of this machine that name it rightly and know the token.

A web page that the user visits can reach loopback too. So the Host must be the hub's own (no name that was
rebound to 127.0.0.1), an Origin must be the hub's own, and all but what is open needs the token, also to
read: other users of the machine reach loopback as well. The panel's cookie stands for the token where no
other page can use it. Wraps the application; knows nothing of what is asked.
"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.bridge.rpc import INVALID_REQUEST, SERVER_BUSY
from tidings.core.producers import shown
from tidings.hub.login import Keys
from tidings.hub.operations import PREFIX
from tidings.hub.wire import refusal_response

OPEN = frozenset(("/", f"{PREFIX}/health", f"{PREFIX}/openapi.json"))
"""What anybody on this machine may read, beside the panel's files."""
OPEN_FOLDER = "/panel/"

NAMES = ("127.0.0.1", "localhost", "[::1]")
READING = frozenset(("GET", "HEAD"))
OWN_SITE = frozenset(("same-origin", "none"))
"""What a browser says of a request that the panel's page or its user made."""


class Guard:
    """An application behind its checks. `port` is set once it is known."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int = 0) -> None:
        self._app = app
        self._keys = keys
        self.port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, reads = Headers(scope=scope), scope["method"] in READING
        stopped = self._strange(headers) or self._unknown(headers, str(scope["path"]), reads)
        await (stopped or self._app)(scope, receive, send)

    def _strange(self, headers: Headers) -> Response | None:
        """The refusal of a Host or an Origin that is not the hub's own."""
        hosts = {f"{name}:{self.port}" for name in NAMES}
        given = headers.getlist("host")
        if len(given) != 1 or given[0].lower() not in hosts:
            text = f"Host is {shown(', '.join(given))}; this hub is 127.0.0.1:{self.port}"
            return refusal_response(403, INVALID_REQUEST, text)
        for origin in headers.getlist("origin"):
            if origin.lower() not in {f"http://{host}" for host in hosts}:
                text = f"Origin {shown(origin)} may not use this hub"
                return refusal_response(403, INVALID_REQUEST, text)
        return None

    def _unknown(self, headers: Headers, path: str, reads: bool) -> Response | None:
        """The refusal of one who may not ask this; a header that is given decides, not the cookie."""
        if reads and (path in OPEN or path.startswith(OPEN_FOLDER)):
            return None
        bearer, cookie = headers.getlist("authorization"), headers.getlist("cookie")
        if not bearer and self._keys.knows_cookie(cookie) and _from_the_panel(headers, reads):
            return None
        if self._keys.knows_bearer(bearer):
            return None
        if bearer and not self._keys.wrong.take():
            text = "too many wrong tokens came; wait a moment"
            return refusal_response(429, SERVER_BUSY, text, {"Retry-After": "1"})
        text = "send `Authorization: Bearer <token>`; the token is in the file that `tidings status` names"
        return refusal_response(401, INVALID_REQUEST, text, {"WWW-Authenticate": "Bearer"})


def _from_the_panel(headers: Headers, reads: bool) -> bool:
    """Whether no other page can have sent this with the user's cookie; a strange Origin is gone by now."""
    if headers.get("sec-fetch-site", "none") not in OWN_SITE:
        return False
    return reads or "origin" in headers
