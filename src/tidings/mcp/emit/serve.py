"""Run an SDK server until its client leaves or the process is asked to stop, and end well either way.

On SIGTERM, SIGINT and SIGHUP every listen stream gets its result (in the draft profile its
`notifications/cancelled`) after what waited, then the server closes; the caller returns and the process
exits with 0. Nothing here waits longer than its deadline for a client that does not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import anyio
from mcp.server.lowlevel import Server

from tidings.bridge.served.stdio import asking_signals, private_stdio
from tidings.mcp.emit.reminders import CLOSING, reminders_of
from tidings.mcp.emit.sdk import AnyServer, lowlevel
from tidings.mcp.stdio import Pipe, open_pipe, piped


async def serve_stdio(server: AnyServer, *, deadline: float = CLOSING) -> None:
    """Serve the client at standard input and output; returns when it has left or on a signal.

    While it runs, what this process prints goes to stderr. A terminal or a file serves in place of a pipe.
    """
    with private_stdio() as given:
        async with piped(*given, deadline) as (source, sink):
            await serve_pipe(server, await open_pipe(source, sink), deadline=deadline)


async def serve_pipe(server: AnyServer, pipe: Pipe, *, deadline: float = CLOSING) -> None:
    """Serve the client of `pipe`; returns when it has left or on a signal."""
    low = lowlevel(server)
    with _signals() as stop:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_stopping, stop, low, pipe, deadline)
                await low.run(pipe.reader, pipe.writer, low.create_initialization_options())
                group.cancel_scope.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(deadline):
                    await pipe.flush()
        finally:
            pipe.close()


async def serve_http(
    server: AnyServer,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    deadline: float = CLOSING,
    ready: Callable[[str], None] | None = None,
    **options: Any,
) -> None:
    """Serve over HTTP until a signal asks for an end; `ready` is called with the url once it listens.

    `options` go to the server's `streamable_http_app`.

    Raises:
        OSError: the address cannot be bound.
    """
    from tidings.mcp.emit.http import serving

    with _signals() as stop:
        async with serving(server, host, port, deadline=deadline, **options) as url:
            if ready is not None:
                ready(url)
            await stop.wait()


async def _stopping(stop: asyncio.Event, low: Server[Any], pipe: Pipe, deadline: float) -> None:
    await stop.wait()
    reminders = reminders_of(low)
    if reminders is not None:
        await reminders.aclose(deadline)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline):
            await pipe.settled()
    pipe.end_input()


@contextlib.contextmanager
def _signals() -> Iterator[asyncio.Event]:
    """An event that is set when the process is asked to stop; outside the main thread it never is."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    taken: list[signal.Signals] = []
    for one in asking_signals():
        with contextlib.suppress(RuntimeError, ValueError, NotImplementedError):
            loop.add_signal_handler(one, stop.set)
            taken.append(one)
    try:
        yield stop
    finally:
        for one in taken:
            loop.remove_signal_handler(one)
