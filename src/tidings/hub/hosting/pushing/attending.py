"""The surfaces of a hub, from its file: started with it, and again when the file was changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tidings.errors import CallerError
from tidings.hosts.happening import Host
from tidings.hub.hosting.drain import Hosting
from tidings.hub.hosting.pushing import pusher, surfaces
from tidings.hub.hosting.pushing.codex import AppServer
from tidings.hub.hosting.pushing.opencode import OpencodeServer

NAME = "hosts.json"

MAKERS: dict[Host, Callable[[str], pusher.Surface]] = {"codex": AppServer, "opencode": OpencodeServer}
"""How each host is spoken to."""

_logger = logging.getLogger(__name__)


@asynccontextmanager
async def attending(hosting: Hosting, path: Path) -> AsyncIterator[None]:
    """Attend to the surfaces of a file inside the block; `hosting.reload` is set to look at it again."""
    task = asyncio.create_task(_kept(hosting, path))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _kept(hosting: Hosting, path: Path) -> None:
    while True:
        hosting.reload.clear()
        try:
            known = surfaces.read(path)
        except CallerError as error:
            _logger.warning("hub: %s", error)
            known = {}
        made = {host: (MAKERS[host](one.url), one.wake) for host, one in known.items() if host in MAKERS}
        async with pusher.serving(hosting, made):
            await hosting.reload.wait()
