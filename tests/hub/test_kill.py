"""The hub killed with -9 under load: nothing it accepted is lost, nothing is delivered twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import tidings as td
from tidings.hub import Attached, envelope
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.place import Place, place_of
from tidings.hub.store import TOPIC
from tidings.log import LogRecord, open_log

SCRIPT = Path(sys.executable).with_name("tidings")
DEADLINE = 60
COUNT = 240
KILLS = (30, 110, 180)


class Process:
    """`tidings up` in a process of its own, again and again."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.child: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.child = await asyncio.create_subprocess_exec(
            str(SCRIPT), "up", "--port", "0", "--json", env=self._environ, stdout=subprocess.PIPE
        )
        assert self.child.stdout is not None
        assert json.loads(await self.child.stdout.readline())["pid"] == self.child.pid

    async def end(self, how: signal.Signals) -> int:
        assert self.child is not None
        self.child.send_signal(how)
        return await self.child.wait()


async def send_all(place: Place, hub: Process) -> None:
    """Send every reminder until it is accepted; kill the hub now and then, while answers are under way."""
    crowd = asyncio.Semaphore(8)

    async def send(number: int) -> None:
        params = {"id": f"r{number}", "body": f"news {number}", "to": {"session": "s"}}
        async with crowd:
            while True:
                try:
                    await ask(place.socket, "hub/remind", params)
                    return
                except HubError:
                    await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        for number in range(COUNT):
            group.create_task(send(number))
            if number in KILLS:
                await asyncio.sleep(0.05)
                assert await hub.end(signal.SIGKILL) == -signal.SIGKILL
                await hub.start()


async def until_acknowledged(place: Place) -> list[LogRecord]:
    """Every record, once each reminder was acknowledged."""
    seen: list[LogRecord] = []
    done: set[object] = set()
    with open_log(place.database) as log:
        async with aclosing(log.subscribe(TOPIC)) as records:
            async for record in records:
                seen.append(record)
                if record.kind == envelope.ACKNOWLEDGED:
                    done.add(record.payload["reminder_id"])
                if len(done) == COUNT:
                    log.verify()
                    return seen
    raise AssertionError("the log ended")


def test_killed_under_load_it_loses_nothing_and_delivers_nothing_twice(tmp_path: Path) -> None:
    environ = {**os.environ, "TIDINGS_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    place = place_of(environ)
    session = td.Session("s")

    async def scene() -> list[LogRecord]:
        hub = Process(environ)
        await hub.start()
        async with Attached(session, socket=place.socket, workspace=str(tmp_path)):
            await send_all(place, hub)
            records = await until_acknowledged(place)
        assert await hub.end(signal.SIGTERM) == 0
        return records

    records = asyncio.run(asyncio.wait_for(scene(), DEADLINE))
    expected = {f"r{number}" for number in range(COUNT)}
    delivered = Counter(item.id for item in session.stored.mailbox.items)
    assert delivered == Counter(expected)
    acknowledged: set[object] = set()
    for record in records:
        name = record.payload.get("reminder_id")
        if record.kind == envelope.LEASED:
            assert name not in acknowledged, "what was acknowledged is never given again"
        if record.kind == envelope.ACKNOWLEDGED:
            assert name not in acknowledged
            acknowledged.add(name)
    assert acknowledged == expected
    assert Counter(one.kind for one in records)[envelope.ACCEPTED] == COUNT
