"""uvicorn as a part of a program of ours: it says when it has started, and leaves the signals to us.

By itself it would take the signals and raise them once more at its end. The hub and the MCP servers of ours
serve with this; loading it loads uvicorn.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

_TCP = (socket.AF_INET, socket.AF_INET6)


class WebServer(uvicorn.Server):
    """A server whose `up` is set once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so; what is written is sent at once: small answers would wait 40 ms for an ACK."""
        for listener in sockets or ():
            if listener.family in _TCP:  # asyncio sets it only where the socket names its protocol
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await super().startup(sockets)
        except SystemExit:  # how uvicorn says that the app did not start; the process is not its to end
            self.should_exit = True
        else:
            self.up.set()

    async def comes_up(self, serving: asyncio.Task[None], seconds: float) -> bool:
        """Whether it listens in time; not if `serving`, which runs it, ends before."""
        up = asyncio.create_task(self.up.wait())
        try:
            await asyncio.wait({up, serving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
        return self.up.is_set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield
