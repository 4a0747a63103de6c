"""A process that is cancelled while it starts leaves nothing running, whenever that is."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from tidings.agent.tools.process import run_process

DEADLINE = 30.0
ARGV = ["sh", "-c", "sleep 3600 & echo $! > pid.new; mv pid.new pid; wait"]
LIMITS = {"deadline": DEADLINE, "limit": 1_000}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks processes up in /proc")
@pytest.mark.parametrize("rounds", range(1, 9))
def test_nothing_is_left_of_what_was_cancelled_while_it_started(rounds: int, tmp_path: Path) -> None:
    told = tmp_path / "pid"

    async def cancelled() -> None:
        async with asyncio.timeout(DEADLINE):
            running = asyncio.create_task(run_process(ARGV, cwd=tmp_path, env=os.environ, **LIMITS))
            for _ in range(rounds):
                await asyncio.sleep(0)
            looked = time.monotonic() + 1.0
            while not told.exists() and time.monotonic() < looked:
                pass  # the event loop stands still, so that only the process goes on
            running.cancel()
            await asyncio.wait({running})
            assert running.cancelled()
            while told.exists() and is_alive(int(told.read_text())):  # noqa: ASYNC110 there is no event
                await asyncio.sleep(0)

    asyncio.run(cancelled())
