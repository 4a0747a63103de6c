"""The running hub: log, service, socket and HTTP server together, from start to stop.

`serve` holds the place's lock, opens everything in order, says that it is ready, and closes in the other
order when told to stop. `tidings up` calls it; so do tests, in a process of their own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn

from tidings.bridge.door.server import Door
from tidings.bridge.rpc import METHOD_NOT_FOUND, Call, RpcError
from tidings.bridge.web import WebServer
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import LogError
from tidings.hub.failure import HubError
from tidings.hub.hosting.endpoint import LONGEST_PAYLOAD
from tidings.hub.hosting.pushing.attending import NAME, attending
from tidings.hub.http import Site
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.place import Place, State, locked, prepare, token_of, write_state
from tidings.hub.policy import read_policy
from tidings.hub.service import Hub
from tidings.hub.store import Store, open_store
from tidings.hub.workspace.attaching import Workspaces
from tidings.shell.ids import now_ms
from tidings.version import __version__

PORT = 4664
HOST = "127.0.0.1"
CONNECTIONS = 4_096
SWEEP_SECONDS = 1.0
STARTING_SECONDS = 10.0
STOPPING_SECONDS = 5
STOP = "hub/stop"

_logger = logging.getLogger(__name__)


class AlreadyRunning(HubError):
    """Another process is the hub of this place."""


async def serve(place: Place, port: int, ready: Callable[[State], None], stop: asyncio.Event) -> None:
    """Run the hub until `stop` is set, here or through its socket.

    Raises:
        AlreadyRunning: there is one.
        HubError: the port is taken, or something else cannot be used.
        LogError: the log cannot be used.
    """
    prepare(place)
    with locked(place) as ours:
        if not ours:
            raise AlreadyRunning(f"a hub runs already; its folder is {str(place.home)!r}")
        place.state_file.unlink(missing_ok=True)
        policy = read_policy(place.home)
        async with AsyncExitStack() as parts:
            store = await parts.enter_async_context(_log(place))
            hub = Hub(store, policy=policy)
            await parts.enter_async_context(Workspaces(hub, memory=place.home / "workspaces.json"))
            await parts.enter_async_context(_sweeping(hub))
            await parts.enter_async_context(attending(hub.hosting, place.home / NAME))
            await parts.enter_async_context(_retaining(hub))
            url = await parts.enter_async_context(_website(hub, place, port))
            await parts.enter_async_context(_door(hub, place, stop))
            ready(_announced(place, url))
            parts.callback(place.state_file.unlink, missing_ok=True)
            await stop.wait()


def _announced(place: Place, url: str) -> State:
    state = State(
        pid=os.getpid(), url=url, socket=place.socket, version=__version__, started_at_ms=now_ms()
    )
    write_state(place, state)
    return state


@asynccontextmanager
async def _log(place: Place) -> AsyncIterator[Store]:
    store = open_store(place.database)
    try:
        yield store
    finally:
        store.log.close()


@asynccontextmanager
async def _sweeping(hub: Hub) -> AsyncIterator[None]:
    async def sweep() -> None:
        while True:
            try:
                hub.sweep()
            except LogError as error:
                _logger.warning("hub: what time changed could not be written: %s", error)
            await asyncio.sleep(SWEEP_SECONDS)

    task = asyncio.create_task(sweep())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def _retaining(hub: Hub) -> AsyncIterator[None]:
    task = asyncio.create_task(hub.retention.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def _door(hub: Hub, place: Place, stop: asyncio.Event) -> AsyncIterator[None]:
    async def handle(call: Call) -> Payload | None:
        if call.method == STOP:
            stop.set()
            return {"status": "stopping"}
        operation = BY_METHOD.get(call.method)
        if operation is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method {shown(call.method)}")
        return await operate(hub, operation, call.params)

    door = Door(place.socket, handle, connections=CONNECTIONS, longest=LONGEST_PAYLOAD)
    await door.open()
    try:
        yield
    finally:
        await door.close()


@asynccontextmanager
async def _website(hub: Hub, place: Place, port: int) -> AsyncIterator[str]:
    site = Site(hub, token_of(place))
    listener = _listener(port)
    site.port = listener.getsockname()[1]
    config = uvicorn.Config(
        site,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=STOPPING_SECONDS,
    )
    server = WebServer(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        if not await server.comes_up(task, STARTING_SECONDS):
            raise HubError(f"the HTTP server did not start within {STARTING_SECONDS:g} s")
        yield f"http://{HOST}:{site.port}"
    finally:
        site.close()
        server.should_exit = True
        await task


def _listener(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        text = f"{HOST}:{port} cannot be used: {why}; give another with --port, 0 for any that is free"
        raise HubError(text) from error
