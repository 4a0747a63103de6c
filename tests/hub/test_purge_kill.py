"""The hub killed with -9 while it purges and saves under load: what it accepted is still on its way."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.hub.test_kill import DEADLINE, Process
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.place import Place, place_of
from tidings.hub.store import TOPIC
from tidings.log import open_log

COUNT = 150
KILLS = (20, 60, 100)


async def insist(place: Place, method: str, params: dict[str, object]) -> dict[str, object]:
    """Ask until there is an answer, however often the hub dies."""
    while True:
        try:
            return await ask(place.socket, method, params)
        except HubError:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def purging(place: Place) -> AsyncIterator[list[int]]:
    """Let everything go that may, again and again, while the block runs; gives what each purge took."""
    counts: list[int] = []

    async def purge() -> None:
        while True:
            answer = await insist(place, "hub/purge", {"olderThanSeconds": 0})
            counts.extend(row["count"] for row in answer["purged"])  # type: ignore[attr-defined]

    task = asyncio.create_task(purge())
    try:
        yield counts
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_killed_while_it_purges_it_loses_nothing_and_verifies(tmp_path: Path) -> None:
    environ = {**os.environ, "TIDINGS_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    place = place_of(environ)

    async def scene() -> tuple[list[str], list[int]]:
        hub = Process(environ)
        await hub.start()
        async with purging(place) as counts:
            for number in range(COUNT):
                params = {"id": f"r{number}", "body": f"news {number}", "to": {"session": "s"}}
                await insist(place, "hub/remind", params)
                if number in KILLS:
                    assert await hub.end(signal.SIGKILL) == -signal.SIGKILL
                    await hub.start()
        assert await hub.end(signal.SIGTERM) == 0
        await hub.start()
        pending = await insist(place, "hub/pending", {})
        assert await hub.end(signal.SIGTERM) == 0
        return [row["reminderId"] for row in pending["reminders"]], counts  # type: ignore[attr-defined]

    pending, counts = asyncio.run(asyncio.wait_for(scene(), DEADLINE))
    assert pending == [f"r{number}" for number in range(COUNT)]
    with open_log(place.database) as log:
        assert log.purged_through(TOPIC) >= sum(counts) > 0
        assert TOPIC in {one.topic for one in log.verify().checkpoints}
