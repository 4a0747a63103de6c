"""A client that never reads: emitting returns, memory is bounded, what is lost is counted."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from tests.mcp.emit.fixture import high
from tests.mcp.emit.raw import DEADLINE, LIMIT, piped, reached
from tests.mcp.emit.test_shutdown import handshake, listening
from tidings.mcp import Dropped, Reminders, serving
from tidings.mcp.names import EXTENSION

CAPACITY = 50
BODY = "x" * 2_000


async def flood(reminders: Reminders, many: int) -> None:
    for number in range(many):
        await reminders.emit(f"{number} {BODY}")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_a_pipe_a_flood_is_dropped_oldest_first_and_counted(era: str) -> None:
    lost: list[Dropped] = []

    async def go() -> tuple[Reminders, bool]:
        reminders = high(capacity=CAPACITY, on_drop=lost.append)
        async with asyncio.timeout(DEADLINE), piped(reminders, limit=1 << 10) as client:
            if era == "legacy":
                await client.handshake()
                await client.send({"id": 2, "method": "ping"})
            else:
                await client.listen(1, {EXTENSION: {}})
            await flood(reminders, 2_000)
            assert reminders.stats.emitted == 2_000
            assert reminders.stats.sent + reminders.stats.dropped >= 2_000 - CAPACITY - 1
            assert reminders.stats.dropped > 1_500
            return reminders, await reminders.aclose(0.05)

    reminders, ended = asyncio.run(go())
    assert not ended
    numbers = [int(str(one.event.params["reminder"]["body"]).split()[0]) for one in lost]
    assert numbers == sorted(numbers)
    assert [one.total for one in lost] == list(range(1, len(lost) + 1))
    assert reminders.stats.dropped == len(lost)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_http_a_flood_is_dropped_and_counted(era: str) -> None:
    async def go() -> tuple[int, int]:
        reminders = high(capacity=CAPACITY)
        async with (
            asyncio.timeout(DEADLINE),
            serving(reminders.server, deadline=1) as url,
            httpx2.AsyncClient(timeout=DEADLINE) as client,
        ):
            if era == "legacy":
                session = await handshake(client, url)
                stream: Any = client.stream("GET", url, headers={"Accept": "text/event-stream", **session})
            else:
                stream = listening(client, url, 1)
            async with stream:
                await flood(reminders, 10_000)
                stats = reminders.stats
                return stats.emitted, stats.sent + stats.dropped

    emitted, gone = asyncio.run(go())
    assert emitted == 10_000
    assert gone >= 10_000 - CAPACITY - 1


def test_a_slow_client_does_not_hold_up_another() -> None:
    async def go() -> tuple[list[object], int]:
        reminders = high(capacity=CAPACITY)
        async with (
            asyncio.timeout(DEADLINE),
            piped(reminders, limit=1 << 10) as slow,
            piped(reminders, limit=LIMIT) as quick,
        ):
            await slow.listen(1, {EXTENSION: {}})
            await quick.listen(1, {EXTENSION: {}})
            heard: list[object] = []
            for number in range(500):
                await reminders.emit(f"{number} {BODY}")
                heard.append((await quick.next())["params"]["reminder"]["body"].split()[0])
            return heard, reminders.stats.dropped

    heard, dropped = asyncio.run(go())
    assert heard == [str(number) for number in range(500)]
    assert dropped > 300


def test_what_waits_when_a_client_cancels_is_counted_as_lost() -> None:
    async def go() -> tuple[int, int]:
        reminders = high()
        async with asyncio.timeout(DEADLINE), piped(reminders, limit=1 << 10) as client:
            await client.listen(1, {EXTENSION: {}})
            await flood(reminders, 200)
            await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
            await reached(lambda: reminders.stats.streams == 0)
            stats = reminders.stats
            return stats.dropped, stats.sent + stats.dropped

    dropped, gone = asyncio.run(go())
    assert dropped > 50
    assert gone == 199, "one was being written"
