"""How servers start: CPU of real processes that answer `initialize` and end with their client.

Against an interpreter that only imports the MCP SDK, turn by turn, because the SDK is most of it. The
time until the answer is in the detail.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from benchmarks.measure import Measurement, measurement

DEADLINE = 120
TIDINGS = (sys.executable, "-c", "from tidings.cli.start import run; run()")
SDK = (sys.executable, "-c", "import asyncio, mcp.server.lowlevel, mcp.server.stdio")
BARE = (sys.executable, "-c", "import asyncio")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def spent(command: Sequence[str], *, greet: bool = False) -> tuple[float, float]:
    """CPU seconds of a process until its end, and the seconds until it answered."""
    before, began = os.times(), time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "BENCH_SECRET": "a-long-secret"},
        cwd=tempfile.gettempdir(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if greet:
            process.stdin.write(json.dumps(HELLO).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
        answered = time.perf_counter() - began
        process.communicate(timeout=DEADLINE)
    if process.returncode != 0:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    after = os.times()
    user, system = (
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
    return user + system, answered


def starts(
    servers: Mapping[str, Sequence[str]], rounds: int, targets: Mapping[str, str] | None = None
) -> list[Measurement]:
    """What each server costs to start, over importing the SDK."""
    rows = [
        [spent(BARE), spent(SDK), *(spent(command, greet=True) for command in servers.values())]
        for _ in range(rounds)
    ]
    (empty, _), (base, _), *found = (
        tuple(statistics.median(one[place] for one in column) for place in (0, 1))
        for column in zip(*rows, strict=True)
    )
    measured: list[Measurement] = []
    for name, (cpu, wall) in zip(servers, found, strict=True):
        over = f"{cpu * 1e3:.0f} ms CPU, {cpu / empty:.1f} x import asyncio; SDK alone {base * 1e3:.0f} ms"
        measured.append(
            measurement(
                f"{name}: start, over the MCP SDK",
                cpu / base,
                target=(targets or {}).get(name, "<= 1.6"),
                detail=f"{over}; answers after {wall * 1e3:.0f} ms",
            )
        )
    return measured
