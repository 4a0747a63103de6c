"""The interposer: what a message through it costs, how fast it passes bytes, how long it takes to start.

An agent floods updates inside a prompt, as a talkative one does. Costs are CPU seconds of real processes,
start-up subtracted; throughput is by the clock. The SDK's cost is that of its client reading the flood.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Measurement, measurement

FLOOD = str(Path(__file__).with_name("acp_flood.py"))
PROXY = [sys.executable, "-c", "from tidings.cli.start import run; run()", "acp-proxy", "--quiet", "--"]
DEADLINE = 120


def _agent(count: int, *words: str) -> list[str]:
    return [sys.executable, FLOOD, "agent", str(count), *words]


def _requests() -> bytes:
    """What an editor says: a handshake, a session, a prompt."""
    asked = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]
    return ("\n".join(lines) + "\n").encode()


def _play(command: Sequence[str]) -> tuple[float, float, int]:
    """CPU and clock seconds of a conversation, and the bytes that came back."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, input=_requests(), stdout=subprocess.PIPE, check=True, timeout=DEADLINE)
    clock, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used, clock, len(done.stdout)


def _per_message(command: Sequence[str], empty: Sequence[str], count: int) -> float:
    """CPU seconds of one message, start-up and handshake subtracted."""
    return (_play(command)[0] - _play(empty)[0]) / count


def _costs(count: int, rounds: int) -> list[Measurement]:
    def cost(prefix: Sequence[str], number: int = count, *words: str) -> float:
        return _per_message([*prefix, *_agent(number, *words)], [*prefix, *_agent(0, *words)], number)

    few = count // 10 // 200 * 200
    client = [sys.executable, FLOOD, "client"]
    samples = []
    for _ in range(rounds):
        sdk = _per_message([*client, str(few)], [*client, "0"], few)
        samples.append(
            (sdk, cost(()), cost(PROXY), cost((), count, "marked"), cost(PROXY, count, "marked"))
        )
    sdk, raw, ours, raw_marked, ours_marked = map(statistics.median, zip(*samples, strict=True))
    alone = max(sdk - raw, 1e-9)
    detail = f"{(ours - raw) * 1e6:.2f} µs; SDK client {alone * 1e6:.0f} µs"
    opened = f"{(ours_marked - raw_marked) * 1e6:.2f} µs"
    return [
        measurement(
            "interposer, added cost per message over SDK client",
            (ours - raw) / alone,
            target="<= 0.15",
            detail=detail,
        ),
        measurement(
            "interposer, the same when every line is opened",
            (ours_marked - raw_marked) / alone,
            target="<= 0.15",
            detail=opened,
        ),
    ]


def _throughput(count: int, rounds: int) -> Measurement:
    """Messages per second through the interposer over a bare pipe, start-up subtracted."""
    samples = []
    for _ in range(rounds):
        raw = _play(_agent(count))[1] - _play(_agent(0))[1]
        ours = _play([*PROXY, *_agent(count)])[1] - _play([*PROXY, *_agent(0)])[1]
        samples.append((raw, ours))
    raw, ours = map(statistics.median, zip(*samples, strict=True))
    return measurement(
        "interposer, throughput over a bare pipe",
        max(raw, 1e-9) / max(ours, 1e-9),
        target=">= 0.12",
        detail=f"{count / max(ours, 1e-9) / 1e3:.0f}k messages/s; bare {count / max(raw, 1e-9) / 1e3:.0f}k",
    )


def _started(command: Sequence[str]) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, input=b"{}\n", stdout=subprocess.DEVNULL, check=True, timeout=DEADLINE)
    clock, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return used, clock


def _start_up(rounds: int) -> Measurement:
    """Start, pass one line to `cat` and back, end; against an interpreter that imports asyncio."""
    samples = []
    for _ in range(rounds):
        base = _started([sys.executable, "-c", "import asyncio"])
        samples.append((*_started([*PROXY, "cat"]), *base))
    used, clock, base_used, base_clock = map(statistics.median, zip(*samples, strict=True))
    return measurement(
        "acp-proxy start to end over import asyncio",
        statistics.median(sample[1] / sample[3] for sample in samples),
        target="<= 1.5",
        detail=f"{clock * 1e3:.0f} ms; asyncio {base_clock * 1e3:.0f} ms; CPU {used / base_used:.2f} x",
    )


def run(quick: bool) -> list[Measurement]:
    """Costs, throughput and start-up."""
    count, rounds = (2_000, 1) if quick else (200_000, 5)
    return [*_costs(count, rounds), _throughput(count, rounds), _start_up(3 if quick else 25)]
