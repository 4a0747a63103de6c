"""The TypeScript SDK's client hears the reminders of a server of ours, in both eras, on both transports."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from tests.interop.agents import Room
from tests.interop.client import Client, Event
from tests.interop.conftest import need
from tests.interop.mcp_peers import our_server, sdk_client, target
from tests.interop.mcp_server import URI
from tidings.mcp.names import EXTENSION, LEGACY, MODERN

ADVERTISED = {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}
PEERS = [f"{transport} {mode}" for transport in ("stdio", "http") for mode in ("legacy", "auto", "pinned")]
MODERN_PEERS = [peer for peer in PEERS if "legacy" not in peer]


@pytest.fixture(autouse=True)
def package() -> None:
    need("@modelcontextprotocol/client")


async def opened(client: Client, mode: str) -> Event:
    """Wait until the client is connected, and listens if it can; gives what it was told."""
    connected = await client.until(lambda event: event["event"] == "connected", "connection")
    if mode != "legacy":
        await client.until(lambda event: event["event"] == "listening", "subscription")
    return connected


def client_of(room: Room, mode: str, where: tuple[str, ...]) -> Client:
    return sdk_client(room, MODERN if mode == "pinned" else mode, *where)


async def report(client: Client, what: str) -> str:
    result = await client.request("tools/call", {"name": "report", "arguments": {"what": what}})
    return str(result["content"][0]["text"])


async def heard(client: Client, body: str) -> dict[str, Any]:
    """The params of the reminder with this body."""
    event = await client.until(
        lambda event: event["event"] == "reminder" and event["params"]["reminder"]["body"] == body, body
    )
    params: dict[str, Any] = event["params"]
    return params


@pytest.mark.parametrize("peer", PEERS)
def test_sees_what_the_server_advertises(peer: str, room: Room) -> None:
    transport, mode = peer.split()

    async def work() -> None:
        async with target(room, transport) as where, client_of(room, mode, where) as client:
            connected = await opened(client, mode)
            assert connected["version"] == (LEGACY if mode == "legacy" else MODERN)
            assert connected["capabilities"]["extensions"] == {EXTENSION: ADVERTISED}
            honored = [event["honored"] for event in client.events if event["event"] == "listening"]
            assert honored == ([] if mode == "legacy" else [{"resourceSubscriptions": [URI]}])
            assert client.complaints == ""

    asyncio.run(work())


@pytest.mark.parametrize("peer", PEERS)
def test_hears_every_reminder_whole_and_in_order(peer: str, room: Room) -> None:
    transport, mode = peer.split()
    bodies = ["the build failed", "the build passes again"]

    async def work() -> None:
        async with target(room, transport) as where, client_of(room, mode, where) as client:
            await opened(client, mode)
            ids = [await report(client, body) for body in bodies]
            told = [await heard(client, body) for body in bodies]
            assert [params["reminder"] for params in told] == [
                {
                    "id": name,
                    "body": body,
                    "tags": ["build"],
                    "dedupeKey": f"build:{body}",
                    "ttlTurns": 2,
                    "preserveOnCompact": False,
                    "propagate": "session",
                    "roleHint": "system",
                }
                for name, body in zip(ids, bodies, strict=True)
            ]
            came = [event["params"] for event in client.events if event["event"] == "reminder"]
            assert came == told
            assert client.complaints == ""

    asyncio.run(work())


@pytest.mark.parametrize("peer", PEERS)
def test_hears_that_a_resource_changed_beside_the_reminder(peer: str, room: Room) -> None:
    transport, mode = peer.split()

    async def work() -> None:
        async with target(room, transport) as where, client_of(room, mode, where) as client:
            await opened(client, mode)
            if mode == "legacy":
                await client.request("resources/subscribe", {"uri": URI})
            await report(client, "the build failed")
            await heard(client, "the build failed")
            event = await client.until(lambda event: event["event"] == "updated", "update")
            assert event["params"]["uri"] == URI

    asyncio.run(work())


@pytest.mark.parametrize("peer", MODERN_PEERS)
def test_after_it_cancelled_the_subscription_it_hears_no_more_and_the_connection_goes_on(
    peer: str, room: Room
) -> None:
    transport, mode = peer.split()

    async def work() -> None:
        async with target(room, transport) as where, client_of(room, mode, where) as client:
            await opened(client, mode)
            await report(client, "before")
            await heard(client, "before")
            await client.request("unlisten", {})
            closed = await client.until(lambda event: event["event"] == "closed", "end of the subscription")
            assert closed["how"] == "local"
            for what in ("after", "still after"):
                await report(client, what)
            bodies = [
                event["params"]["reminder"]["body"]
                for event in client.events
                if event["event"] == "reminder"
            ]
            assert bodies == ["before"]
            assert client.complaints == ""

    asyncio.run(work())


@pytest.mark.parametrize("peer", [peer for peer in MODERN_PEERS if "http" in peer])
def test_a_server_that_is_asked_to_stop_ends_its_subscription_gracefully(peer: str, room: Room) -> None:
    _, mode = peer.split()

    async def work() -> None:
        async with our_server(room) as (url, process), client_of(room, mode, (url,)) as client:
            await opened(client, mode)
            process.send_signal(signal.SIGTERM)
            closed = await client.until(lambda event: event["event"] == "closed", "end of the subscription")
            assert closed["how"] == "graceful"

    asyncio.run(work())


@pytest.mark.parametrize("peer", [peer for peer in MODERN_PEERS if "stdio" in peer])
def test_a_process_that_is_asked_to_stop_ends_its_subscription_gracefully(peer: str, room: Room) -> None:
    transport, mode = peer.split()

    async def work() -> None:
        async with target(room, transport) as where, client_of(room, mode, where) as client:
            await opened(client, mode)
            os.kill(await client.request("pid", {}), signal.SIGTERM)
            closed = await client.until(lambda event: event["event"] == "closed", "end of the subscription")
            assert closed["how"] == "graceful"

    asyncio.run(work())
