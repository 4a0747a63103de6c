"""The hub killed with -9 under load: nothing it accepted is lost, nothing is delivered twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import pytest

import tidings as td
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.core.reminder import Payload
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
PRODUCERS, PRODUCED = 3, 60


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


async def accepted(place: Place, params: Payload) -> None:
    """Send a reminder until the hub says that it has it."""
    while True:
        try:
            await ask(place.socket, "hub/remind", params)
            return
        except HubError:
            await asyncio.sleep(0.02)


async def send_all(place: Place, hub: Process) -> None:
    """Send every reminder until it is accepted; kill the hub now and then, while answers are under way."""
    crowd = asyncio.Semaphore(8)

    async def send(number: int) -> None:
        params = {"id": f"r{number}", "body": f"news {number}", "to": {"session": "s"}}
        async with crowd:
            await accepted(place, params)

    async with asyncio.TaskGroup() as group:
        for number in range(COUNT):
            group.create_task(send(number))
            if number in KILLS:
                await asyncio.sleep(0.05)
                assert await hub.end(signal.SIGKILL) == -signal.SIGKILL
                await hub.start()


async def until_acknowledged(place: Place, count: int) -> list[LogRecord]:
    """Every record, once each reminder was acknowledged."""
    seen: list[LogRecord] = []
    done: set[object] = set()
    with open_log(place.database) as log:
        async with aclosing(log.subscribe(TOPIC)) as records:
            async for record in records:
                seen.append(record)
                if record.kind == envelope.ACKNOWLEDGED:
                    done.add(record.payload["reminder_id"])
                if len(done) == count:
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
            records = await until_acknowledged(place, COUNT)
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


class Loop:
    """`kill_loop.py`, again and again."""

    def __init__(self, log: Path, socket: str) -> None:
        self._command = (sys.executable, str(Path(__file__).with_name("kill_loop.py")), str(log), socket)
        self.child: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.child = await asyncio.create_subprocess_exec(
            *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.child.stdout is not None
        assert await self.child.stdout.readline() == b"ready\n"

    async def end(self, how: signal.Signals) -> int:
        assert self.child is not None
        self.child.send_signal(how)
        return await self.child.wait()

    async def finish(self) -> int:
        assert self.child is not None
        assert self.child.stdin is not None
        self.child.stdin.close()
        return await self.child.wait()


async def produce(place: Place, producer: int, done: asyncio.Queue[str]) -> None:
    """One producer's reminders, each sent until the hub says that it has it."""
    for number in range(PRODUCED):
        name = f"p{producer}-{number}"
        await accepted(place, {"id": name, "body": name, "to": {"session": "s"}, "ttlTurns": 1})
        done.put_nowait(name)


@pytest.mark.parametrize("seed", [1, 2])
def test_whoever_is_killed_no_accepted_reminder_is_lost_and_none_is_twice_in_the_transcript(
    tmp_path: Path, seed: int
) -> None:
    environ = {**os.environ, "TIDINGS_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    place, log = place_of(environ), tmp_path / "loop.db"
    chance = random.Random(seed)
    deaths = sorted(chance.sample(range(10, PRODUCERS * PRODUCED - 10), 5))

    async def scene() -> None:
        hub, loop = Process(environ), Loop(log, place.socket)
        try:
            await play(hub, loop)
        finally:
            for each in (hub, loop):
                if each.child is not None and each.child.returncode is None:
                    await each.end(signal.SIGKILL)

    async def play(hub: Process, loop: Loop) -> None:
        await hub.start()
        await loop.start()
        done: asyncio.Queue[str] = asyncio.Queue()
        async with asyncio.TaskGroup() as producers:
            for producer in range(PRODUCERS):
                producers.create_task(produce(place, producer, done))
            for count in range(PRODUCERS * PRODUCED):
                await done.get()
                if count in deaths:
                    victim: Process | Loop = hub if chance.random() < 0.5 else loop
                    assert await victim.end(signal.SIGKILL) == -signal.SIGKILL
                    await victim.start()
        await until_acknowledged(place, PRODUCERS * PRODUCED)
        assert await loop.finish() == 0
        assert await hub.end(signal.SIGTERM) == 0

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))
    expected = {f"p{producer}-{number}" for producer in range(PRODUCERS) for number in range(PRODUCED)}
    with open_log(log) as opened:
        opened.verify()
        told = list(opened.read(LIFECYCLE_TOPIC))
    for kind in ("queued", "injected"):
        records = [one for one in told if one.kind == f"transcript.reminder.{kind}"]
        found = Counter(str(one.payload["reminder_id"]) for one in records)
        ours = {name: count for name, count in found.items() if name in expected}
        assert ours == dict.fromkeys(expected, 1)
