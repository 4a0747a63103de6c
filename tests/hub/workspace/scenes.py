"""Scenes with workspaces: a hub in memory, a folder with a `tidings.toml`, a session that works there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.hub.desks import DEADLINE, Clock, memory_hub, register
from tidings.hub import shapes
from tidings.hub.rows import read_as
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC
from tidings.hub.workspace.attaching import Workspaces
from tidings.hub.workspace.keeping import State
from tidings.log import LogRecord


class Scene:
    """A hub with workspaces, and one session, `s`, in `folder`."""

    def __init__(self, hub: Hub, workspaces: Workspaces, folder: Path, clock: Clock) -> None:
        self.hub = hub
        self.workspaces = workspaces
        self.folder = folder
        self.clock = clock
        self.heard: list[shapes.LeasedRow] = []

    def write(self, text: str) -> None:
        """Give the folder this `tidings.toml`."""
        (self.folder / "tidings.toml").write_text(text)

    async def attach(self, text: str | None = None, **environ: str) -> dict[str, Any]:
        """Attach the folder, with this file if there is one; gives the row as on the wire."""
        if text is not None:
            self.write(text)
        row = await self.workspaces.attach(str(self.folder), environ or None)
        found: dict[str, Any] = msgspec.to_builtins(row)
        return found

    def row(self) -> dict[str, Any]:
        """How the folder stands."""
        found: dict[str, Any] = msgspec.to_builtins(self.workspaces[str(self.folder)].row())
        return found

    def states(self) -> dict[str, State]:
        """How each watcher stands."""
        return {kept.name: kept.state for kept in self.workspaces[str(self.folder)].kept}

    async def watching(self, *names: str) -> None:
        """Wait until these watch."""
        await self.until(lambda: all(self.states().get(name) == "watching" for name in names))

    async def hear(self, words: str) -> shapes.LeasedRow:
        """Wait for a reminder of the session that says this."""
        while True:
            for row in self.heard:
                if words in str(row.reminder["body"]):
                    self.heard.remove(row)
                    return row
            asked = read_as(shapes.Lease, {"sessionId": "s", "waitSeconds": 20})
            self.heard += (await self.hub.lease(asked)).reminders

    def records(self, kind: str = "hub.workspace") -> list[LogRecord]:
        """The records of the hub's topic whose kind begins so."""
        return list(self.hub.store.log.read(TOPIC, kind_prefix=kind))

    def payloads(self, kind: str) -> list[dict[str, object]]:
        """The payloads of those records."""
        return [record.payload for record in self.records(kind)]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait, within the deadline of the scene, until something holds."""
        while not holds():  # noqa: ASYNC110 a look now and then; there is no event for everything
            await asyncio.sleep(0.005)


@asynccontextmanager
async def scene(folder: Path, **options: Any) -> AsyncIterator[Scene]:
    """A scene, within a deadline."""
    clock = Clock()
    hub = memory_hub(clock)
    async with asyncio.timeout(DEADLINE), Workspaces(hub, **options) as workspaces:
        await register(hub, "s", workspace=str(folder))
        yield Scene(hub, workspaces, folder, clock)
