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


class WebServer(uvicorn.Server):
    """A server whose `up` is set once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield
