"""A whole hub inside a test: its own folder and socket, a free port, and a plain HTTP client."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec

from tests.hub.desks import DEADLINE
from tidings.hub.daemon import serve
from tidings.hub.place import Place, State, prepare, token_of


class Answer(msgspec.Struct, frozen=True):
    """What HTTP gave back."""

    status: int
    body: object
    headers: dict[str, str]


class Client:
    """HTTP to a hub, with the token unless told otherwise."""

    def __init__(self, state: State, token: str) -> None:
        self.port = int(state.url.rpartition(":")[2])
        self.token = token

    async def ask(
        self,
        verb: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str | None] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        given = {name: value for name, value in sent.items() if value is not None}
        return await asyncio.to_thread(self._ask, verb, path, data, given)

    def _ask(self, verb: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(verb, path, data, dict(headers))
            answer = connection.getresponse()
            read = answer.read()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, json.loads(read) if read else None, told)
        finally:
            connection.close()


def place_in(folder: Path) -> Place:
    place = Place(folder / "home", str(folder / "hub.socket"))
    prepare(place)
    return place


def running(folder: Path) -> AbstractAsyncContextManager[Client]:
    return running_in(place_in(folder))


@asynccontextmanager
async def running_in(place: Place) -> AsyncIterator[Client]:
    up: asyncio.Future[State] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(serve(place, 0, up.set_result, stop))
    try:
        await asyncio.wait({up, task}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        yield Client(up.result(), token_of(place))
    finally:
        stop.set()
        await task
