"""An MCP server that pushes reminders: their cost over stdio and to many listeners, and how long they take.

Costs are CPU seconds of the server alone, told by itself, beside the SDK doing the same and beside a bare
loop. The fan-out compares our listen handler with the SDK's own on the same null sessions. Latency is by
the clock.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import msgspec

from benchmarks.measure import Measurement, measurement

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
STREAMS = 1_000


class Pusher:
    """A process of `mcp_pusher`, after its handshake."""

    def __init__(self, way: str) -> None:
        command = [sys.executable, "-m", "benchmarks.mcp_pusher", way]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 1
        self._send(id=1, method="initialize", params=HELLO)
        self._read()
        self._send(method="notifications/initialized")

    def push(self, many: int) -> float:
        """CPU seconds of one reminder."""
        self._number += 1
        self._send(
            id=self._number, method="tools/call", params={"name": "push", "arguments": {"many": many}}
        )
        heard = 0
        while b'"result"' not in (line := self._read()):
            heard += 1
        told = json.loads(json.loads(line)["result"]["content"][0]["text"])
        assert heard + told["dropped"] == many, f"{heard} of {many} arrived"
        return float(told["cpu"]) / many

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def _pushes(many: int, rounds: int) -> list[Measurement]:
    ways = [Pusher(way) for way in ("tidings", "sdk", "bare")]
    try:
        for way in ways:
            way.push(many // 10)
        samples = [[way.push(many) for way in ways] for _ in range(rounds)]
    finally:
        for way in ways:
            way.close()
    ours, sdk, bare = (statistics.median(column) for column in zip(*samples, strict=True))
    detail = f"{ours * 1e6:.0f} µs; SDK {sdk * 1e6:.0f} µs, bare loop {bare * 1e6:.0f} µs"
    return [
        measurement(
            "MCP push over stdio, server CPU over the plain SDK",
            ours / sdk,
            target="<= 0.35",
            detail=detail,
        ),
        measurement("MCP push over stdio, server CPU over a bare JSON loop", ours / bare, detail=detail),
    ]


class NullSession:
    """A session that sends nowhere; counts."""

    def __init__(self) -> None:
        from mcp_types import ClientCapabilities

        from tidings.mcp.names import EXTENSION

        self.sent = 0
        self._more = asyncio.Event()
        self.client_capabilities = ClientCapabilities(extensions={EXTENSION: {}})

    async def send_notification(self, notification: Any, *_: object, **__: object) -> None:
        notification.model_dump(by_alias=True, mode="json", exclude_none=True)
        self.sent += 1
        if self.sent % STREAMS == 0:
            self._more.set()

    async def rounds(self, number: int) -> None:
        """Wait until every stream was told `number` times."""
        while self.sent < STREAMS * number:
            self._more.clear()
            await self._more.wait()


async def _fan_out(handler: Any, publish: Any, events: int) -> float:
    """CPU seconds per notification, from publishing to the last of `STREAMS` sessions."""
    from mcp_types import SubscriptionFilter, SubscriptionsListenRequestParams

    from tidings.mcp.names import EXTENSION

    session = NullSession()
    asked = {"resourceSubscriptions": ["file:///a"], EXTENSION: {}}
    params = SubscriptionsListenRequestParams(notifications=SubscriptionFilter.model_validate(asked))
    tasks = []
    for number in range(STREAMS):
        ctx = SimpleNamespace(
            session=session, request_id=number, params={"notifications": asked}, request=None
        )
        tasks.append(asyncio.create_task(handler(ctx, params)))
    await session.rounds(1)
    began = time.process_time()
    for number in range(events):
        await publish(number)
        await session.rounds(number + 2)
    used = time.process_time() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return used / events / STREAMS


async def _ours(events: int) -> float:
    from mcp.server.lowlevel import Server

    from tidings.mcp import Reminders

    server: Server[Any] = Server("bench")
    reminders = Reminders(server)
    reminders.bind()
    entry = server.get_request_handler("subscriptions/listen")
    assert entry is not None

    async def publish(number: int) -> None:
        await reminders.emit(f"number {number}", tags=("bench",))

    return await _fan_out(entry.handler, publish, events)


async def _sdks(events: int) -> float:
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

    bus = InMemorySubscriptionBus()

    async def publish(_: int) -> None:
        await bus.publish(ResourceUpdated("file:///a"))

    return await _fan_out(ListenHandler(bus), publish, events)


def _fan_outs(events: int, rounds: int) -> Measurement:
    pairs = [(asyncio.run(_ours(events)), asyncio.run(_sdks(events))) for _ in range(rounds)]
    ours = statistics.median(a for a, _ in pairs)
    sdk = statistics.median(b for _, b in pairs)
    return measurement(
        "MCP fan-out to 1000 listen streams over the SDK's handler",
        statistics.median(a / b for a, b in pairs),
        detail=f"{ours * 1e6:.1f} µs per stream; SDK, smaller events, {sdk * 1e6:.1f} µs",
    )


async def _latencies(many: int) -> list[float]:
    from mcp.server.lowlevel import Server

    from tidings.mcp import Reminders
    from tidings.mcp.emit.serve import serve_pipe
    from tidings.mcp.stdio import open_pipe

    server: Server[Any] = Server("bench")
    reminders = Reminders(server)
    (server_in, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    pipe = await open_pipe(server_in, server_out)
    task = asyncio.create_task(serve_pipe(server, pipe))
    lines = asyncio.StreamReader()
    source, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(client_in, "rb", 0)
    )
    for message in (
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
    ):
        os.write(client_out, msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n")
    await lines.readline()
    took = []
    for number in range(many):
        began = time.perf_counter()
        await reminders.emit(f"number {number}")
        msgspec.json.decode(await lines.readline())
        took.append(time.perf_counter() - began)
    os.close(client_out)
    await task
    source.close()
    return took


def _latency(many: int) -> Measurement:
    took = sorted(asyncio.run(_latencies(many)))
    late = took[int(len(took) * 0.99)]
    return measurement(
        "MCP latency from emit to the client, over a pipe",
        statistics.median(took) * 1e6,
        unit="µs",
        detail=f"99 % within {late * 1e6:.0f} µs, in one process",
    )


def run(quick: bool) -> list[Measurement]:
    """Pushes in three processes turn by turn, the fan-out and the latency in this one."""
    return [
        *_pushes(200 if quick else 4_000, 1 if quick else 7),
        _fan_outs(1 if quick else 20, 1 if quick else 5),
        _latency(50 if quick else 3_000),
    ]
