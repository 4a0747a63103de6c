"""Plays a scene with the fake server in a process of its own: what the host did, and what its log says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tidings.agent.port import ToolCall
from tidings.agent.session import Session
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.receipt import Receipt
from tidings.agent.tools.rules import Rule
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log.memory import MemoryLog
from tidings.mcp.config import Server
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Deadlines

SCRIPT = str(Path(__file__).with_name("fake_server.py"))
DEADLINE = 120
ALLOW = Gate([Rule("allow", "*")])
QUICK = Deadlines(connect=60, probe=30, request=60, stop=10)
T = TypeVar("T")


class ManualClock:
    """A clock that stands still; whoever sleeps wakes at once and is written down."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def fake(
    settings: Mapping[str, Any] | None = None,
    *,
    name: str = "fake",
    log: Path | None = None,
    **options: Any,
) -> Server:
    """The fake server with these settings."""
    env = {"FAKE_LOG": str(log)} if log is not None else {}
    command = (sys.executable, SCRIPT, json.dumps(dict(settings or {})))
    return Server(name=name, command=command, env=env, **options)


def received(log: Path) -> list[dict[str, Any]]:
    """The messages that a fake server read."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]


class Stage:
    """A session with a log, its servers, and hands to use them."""

    def __init__(self, servers: Servers, log: MemoryLog) -> None:
        self.servers = servers
        self.session = servers.session
        self.log = log

    def records(self, *kinds: str) -> list[dict[str, Any]]:
        """The payloads of lifecycle records of these kinds, without the ids of the session."""
        found = self.log.read(LIFECYCLE_TOPIC)
        short = [(one.kind.removeprefix("transcript.reminder."), one.payload) for one in found]
        return [
            {"kind": kind, **{key: value for key, value in payload.items() if key not in CONTEXT}}
            for kind, payload in short
            if kind in kinds
        ]

    def dropped(self) -> dict[str, int]:
        """How many were dropped for each reason, by the records."""
        counts: dict[str, int] = {}
        for record in self.records("dropped"):
            counts[record["reason"]] = counts.get(record["reason"], 0) + record["count"]
        return counts

    def warnings(self) -> list[str]:
        """The codes of the warnings."""
        return [record["code"] for record in self.records("warning")]

    def waiting(self) -> list[str]:
        """The bodies that wait in the mailbox."""
        return [item.what.body for item in self.session.stored.mailbox.items]  # type: ignore[union-attr]

    async def call(self, name: str, /, **arguments: Any) -> Receipt:
        """Call a tool of the server as the loop does, and let what was pushed before its answer settle."""
        tools = await self.servers.tools()
        call = ToolCall("c1", name if "__" in name else f"fake__{name}", arguments)
        [receipt] = await Dispatcher(tools, approval=ALLOW, deadline=DEADLINE).dispatch([call])
        await self.settled()
        return receipt

    async def push(self, *reminders: Mapping[str, Any], **more: Any) -> None:
        """Let the server push."""
        receipt = await self.call("push", reminders=[dict(each) for each in reminders], **more)
        assert receipt.outcome.text == "pushed", receipt

    async def settled(self) -> None:
        """Wait until nothing waits to be looked at."""
        links = self.servers._links.values()
        await self.until(lambda: not any(len(link.intake) for link in links))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait, within the deadline of the scene, until something holds."""
        while not holds():  # noqa: ASYNC110 a look now and then; there is no event for everything
            await asyncio.sleep(0.005)


CONTEXT = ("session_id", "task_id", "agent_id")


def play(scene: Callable[[Stage], Awaitable[T]], *servers: Server, **options: Any) -> T:
    """What the scene gives."""
    log = MemoryLog()

    async def whole() -> T:
        async with asyncio.timeout(DEADLINE):
            session = Session("s1", log=log)
            given = {"deadlines": QUICK, **options}
            async with Servers(servers or [fake()], session=session, **given) as running:
                return await scene(Stage(running, log))

    return asyncio.run(whole())
