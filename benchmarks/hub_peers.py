"""The hub's peers, as processes: a bare Starlette endpoint that inserts a row, and a raw uvloop protocol.

    python -m benchmarks.hub_peers insert|raw FOLDER

Each prints its port. `raw` speaks to subscribers with prepared bytes: it answers anything that begins with
`GET` with the head of an event stream, and writes the event to all of them for each line `event`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import sys
from pathlib import Path
from typing import cast

EVENT = b"id: 1\ndata: " + b"x" * 300 + b"\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def insert(folder: Path) -> None:
    """Starlette under uvicorn: one row, one commit, one answer."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    database = sqlite3.connect(folder / "rows.db", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")

    async def take(request: Request) -> JSONResponse:
        body = await request.json()
        database.execute("INSERT INTO rows (body) VALUES (?)", (json.dumps(body),))
        return JSONResponse({"ok": True})

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/v1/reminders", take, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="error", lifespan="off"))
    asyncio.run(server.serve(sockets=[listener]))


class Raw(asyncio.Protocol):
    """Nothing between the socket and the bytes."""

    subscribers: set[asyncio.Transport] = set()  # noqa: RUF012 shared by all connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            self.subscribers.add(self._transport)
            self._transport.write(HEAD)
            return
        for _ in range(data.count(b"\n")):
            for each in self.subscribers:
                each.write(EVENT)
            self._transport.write(b"ok\n")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 the base class decides
        self.subscribers.discard(self._transport)


async def raw() -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(Raw, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "insert":
        insert(Path(sys.argv[2]))
    else:
        import uvloop

        uvloop.run(raw())
