"""Hook calls over HTTP: `POST /v1/hosts/{host}/hook`, a host's payload in, its answer out.

For hosts whose hooks can be HTTP requests. A host that is not known gets 404; everything else an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from tidings.bridge.rpc import METHOD_NOT_FOUND
from tidings.core.producers import shown
from tidings.hosts.happening import HOSTS
from tidings.hosts.table import host_named
from tidings.hub.hosting.drain import Hosting
from tidings.hub.wire import HttpRefusal, json_response, read_body

PATH = "/hosts/{host}/hook"
LONGEST_PAYLOAD = 16 * 1024 * 1024
"""How many bytes a payload may have: some hosts put whole tool results, or the conversation, into it."""


def endpoint(hosting: Hosting) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this path."""

    async def serve(request: Request) -> Response:
        name = str(request.path_params["host"])
        host = host_named(name)
        if host is None:
            text = f"the host {shown(name)} is not known; there are {', '.join(HOSTS)}"
            raise HttpRefusal(404, METHOD_NOT_FOUND, text)
        return json_response(await hosting.hook(host, await read_body(request, LONGEST_PAYLOAD)))

    return serve
