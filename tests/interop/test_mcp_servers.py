"""Foreign servers from npm behind our host: their tools work in the loop, what they push becomes reminders.

server-everything tells of changed resources and lists, and of progress without a message, of which no rule
makes a reminder; of server-filesystem only the tools are used. Both speak the legacy era only.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest

import tidings as td
from tests.interop.agents import Room
from tests.interop.client import DEADLINE
from tests.interop.conftest import need
from tests.interop.mcp_peers import foreign, listening
from tidings.agent.port import ToolCall
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.rules import Rule
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.log.memory import MemoryLog
from tidings.mcp.config import read_server
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Deadlines
from tidings.testing import ScriptedModel, call

EVERYTHING = "@modelcontextprotocol/server-everything"
FILESYSTEM = "@modelcontextprotocol/server-filesystem"
PATIENT = Deadlines(connect=DEADLINE, probe=DEADLINE, request=DEADLINE)
WATCHED = "demo://resource/dynamic/text/1"
RULES = [
    {"on": "resource_updated", "match": WATCHED, "body": "{uri} is new on {server}."},
    {"on": "resources_changed", "body": "{server} has other resources now."},
]
EVERYTHING_PEERS = ["server-everything stdio", "server-everything http"]
Scene = Callable[[Servers, MemoryLog], Awaitable[None]]
ALLOW = Gate([Rule("allow", "*")])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def connected(peer: str, room: Room, log: MemoryLog) -> AsyncIterator[Servers]:
    """Our host with the foreign server; its entry is written as in a config file."""
    async with AsyncExitStack() as stack:
        reach = (
            await stack.enter_async_context(over_http(room)) if "http" in peer else as_process(peer, room)
        )
        server = read_server("foreign", {**reach, "tidings": {"rules": RULES}}, {})
        session = td.Session("interop", log=log)
        servers = await stack.enter_async_context(Servers([server], session=session, deadlines=PATIENT))
        assert servers["foreign"].state == "connected", servers["foreign"]
        yield servers


@asynccontextmanager
async def over_http(room: Room) -> AsyncIterator[dict[str, Any]]:
    """server-everything on a port of its own."""
    port = free_port()
    command = foreign(EVERYTHING, "streamableHttp")
    async with listening(command, room, {"PORT": str(port)}, "listening on port"):
        yield {"url": f"http://127.0.0.1:{port}/mcp"}


def as_process(peer: str, room: Room) -> dict[str, Any]:
    """A server that the host starts."""
    chosen = {"server-everything": (EVERYTHING, "stdio"), "server-filesystem": (FILESYSTEM, str(room.work))}
    program, *arguments = foreign(*chosen[peer.split()[0]])
    return {"command": program, "args": arguments, "env": room.environment()}


def play(peer: str, room: Room, scene: Scene) -> None:
    """Play a scene within a deadline."""
    need(EVERYTHING if "everything" in peer else FILESYSTEM)

    async def whole() -> None:
        log = MemoryLog()
        async with asyncio.timeout(2 * DEADLINE), connected(peer, room, log) as servers:
            await scene(servers, log)

    asyncio.run(whole())


async def run(servers: Servers, *steps: str | ToolCall) -> ScriptedModel:
    """The loop with a scripted model and the server's tools."""
    model = ScriptedModel(list(steps))
    tools = await servers.tools()
    result = await td.agent_loop(
        "Do it.", model=model, tools=tools, session=servers.session, approval=ALLOW, recall=None
    )
    assert result.status == "done", result
    return model


async def use(servers: Servers, name: str, /, **arguments: Any) -> None:
    """Call a tool beside the loop, so that what it sets off waits in the mailbox."""
    dispatcher = Dispatcher(await servers.tools(), approval=ALLOW)
    [receipt] = await dispatcher.dispatch([ToolCall("c1", f"foreign__{name}", arguments)])
    assert receipt.outcome.ok, receipt


async def waiting(servers: Servers, log: MemoryLog, body: str) -> None:
    """Wait until a reminder with this body is in the mailbox."""
    async with aclosing(log.subscribe(LIFECYCLE_TOPIC)) as records:
        async for _ in records:
            if body in [item.what.body for item in servers.session.stored.mailbox.items]:  # type: ignore[union-attr]
                return


def results_in(body: dict[str, Any]) -> list[str]:
    """What the tools answered, as a request tells the model."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("peer", EVERYTHING_PEERS)
def test_tools_work_in_the_loop(peer: str, room: Room) -> None:
    async def scene(servers: Servers, _: MemoryLog) -> None:
        steps = (
            call("foreign__echo", message="hello"),
            call("foreign__get-sum", a=2, b=40),
            call("foreign__get-structured-content", location="Chicago"),
            call("foreign__trigger-long-running-operation", duration=0.1, steps=2),
            "Done.",
        )
        model = await run(servers, *steps)
        echo, total, weather, long = results_in(model.requests[-1])
        assert (echo, total) == ("Echo: hello", "The sum of 2 and 40 is 42.")
        assert msgspec.json.decode(weather).keys() == {"temperature", "conditions", "humidity"}
        assert long.startswith("Long running operation completed.")

    play(peer, room, scene)


@pytest.mark.parametrize("peer", ["server-filesystem stdio"])
def test_reads_and_writes_files_for_the_loop(peer: str, room: Room) -> None:
    (room.work / "a.txt").write_text("hello")

    async def scene(servers: Servers, _: MemoryLog) -> None:
        path = str(room.work / "b.txt")
        steps = (
            call("foreign__read_text_file", path=str(room.work / "a.txt")),
            call("foreign__write_file", path=path, content="written"),
            call("foreign__read_text_file", path="/etc/hostname"),
            "Done.",
        )
        model = await run(servers, *steps)
        read, written, refused = results_in(model.requests[-1])
        assert (read, written) == ("hello", f"Successfully wrote to {path}")
        assert "Access denied" in refused

    play(peer, room, scene)
    assert (room.work / "b.txt").read_text() == "written"


@pytest.mark.parametrize("peer", EVERYTHING_PEERS)
def test_a_changed_resource_becomes_a_reminder_that_the_model_reads(peer: str, room: Room) -> None:
    words = f"{WATCHED} is new on foreign."

    async def scene(servers: Servers, log: MemoryLog) -> None:
        await use(servers, "toggle-subscriber-updates")
        await waiting(servers, log, words)
        model = await run(servers, "I see.")
        told = [message for message in model.requests[0]["messages"] if words in str(message["content"])]
        assert len(told) == 1

    play(peer, room, scene)


@pytest.mark.parametrize("peer", EVERYTHING_PEERS)
def test_a_changed_list_becomes_a_reminder_by_a_rule_of_the_config(peer: str, room: Room) -> None:
    async def scene(servers: Servers, log: MemoryLog) -> None:
        await use(servers, "gzip-file-as-resource", name="a.gz", data="data:text/plain;base64,aGVsbG8=")
        await waiting(servers, log, "foreign has other resources now.")

    play(peer, room, scene)


@pytest.mark.parametrize("peer", ["server-everything stdio"])
def test_tools_that_come_after_the_handshake_are_told_and_offered(peer: str, room: Room) -> None:
    """Over http what this server tells right after the handshake did not arrive."""

    async def scene(servers: Servers, log: MemoryLog) -> None:
        await waiting(servers, log, "The tools of the server foreign changed.")
        assert "foreign__simulate-research-query" in {tool.name for tool in await servers.tools()}

    play(peer, room, scene)
