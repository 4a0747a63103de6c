"""Watchers: how long news takes from the disk to the mailbox, what a burst costs, how servers start.

Latency is measured turn by turn with plain watchfiles, so that only what is ours counts. Start-up is that
of real processes (`starting.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tidings as td
from benchmarks.measure import Measurement, cpu, measurement
from benchmarks.starting import BARE, TIDINGS, spent, starts
from tidings.watchers.changes import Batch, FileChange, Known, Seen, classify
from tidings.watchers.files import FileWatcher
from tidings.watchers.filing import tell
from tidings.watchers.joining import watching

DEADLINE = 120
SERVERS: dict[str, list[str]] = {
    "files": ["files"],
    "command": ["command", "--", "true"],
    "tests": ["tests", "--", "true"],
    "reviews": ["reviews", "--port", "0", "--secret-env", "BENCH_SECRET"],
}
WATCHERS = ("FileWatcher", "CommandWatcher", "SuiteWatcher", "WebhookWatcher")
"""The watcher of each of them."""


async def _ours(root: Path, changes: int) -> list[float]:
    """Seconds from each change to the mailbox."""
    file, session, watcher = root / "a.txt", td.Session(), FileWatcher(root)
    found: list[float] = []
    async with asyncio.timeout(DEADLINE), watching(session, watcher):
        await watcher.ready.wait()
        with session.listening() as news:
            for number in range(changes):
                news.clear()
                start = time.perf_counter()
                file.write_text(str(number))
                await news.wait()
                found.append(time.perf_counter() - start)
    return found


async def _theirs(root: Path, changes: int) -> list[float]:
    """Seconds from each change to a plain watchfiles loop."""
    from watchfiles import awatch

    file = root / "a.txt"
    found: list[float] = []
    start = 0.0
    async with asyncio.timeout(DEADLINE):
        async for seen in awatch(root, rust_timeout=100, yield_on_timeout=True):
            if seen and start:
                found.append(time.perf_counter() - start)
            if len(found) == changes:
                return found
            start = time.perf_counter()
            file.write_text(str(len(found)))
    return found


def _latency(changes: int) -> list[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "a.txt").write_text("")
        rounds = [(asyncio.run(_ours(root, 5)), asyncio.run(_theirs(root, 5))) for _ in range(changes // 5)]
    ours = sorted(one for found, _ in rounds for one in found)
    theirs = [one for _, found in rounds for one in found]
    p50, p99 = statistics.median(ours), ours[min(len(ours) - 1, int(len(ours) * 0.99))]
    base = statistics.median(theirs)
    detail = f"p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms; watchfiles alone {base * 1e3:.0f} ms"
    return [
        measurement(
            "file change to mailbox, over watchfiles alone", p50 / base, target="<= 1.5", detail=detail
        ),
        measurement("file change to mailbox, p99", p99 * 1e3, unit="ms", detail=f"{changes} changes"),
    ]


def _burst(files: int) -> Measurement:
    """What it costs to understand and tell a checkout that touches everything, files already looked at."""
    known = Known(100_000)
    seen = [Seen(f"d{number % 500}/e/f{number}.py", number) for number in range(files)]
    known.update(seen)

    def ours() -> None:
        batch = Batch(classify(known.files, seen))
        known.update(seen)
        tell(batch, Path("/w"), knows_own=True)

    def base() -> None:
        {one.path: FileChange("edited", one.path) for one in seen}

    pairs = [(cpu(ours), cpu(base)) for _ in range(5)]
    ratio = statistics.median(a / b for a, b in pairs)
    spent = statistics.median(a for a, _ in pairs)
    detail = f"{spent * 1e3:.0f} ms for {files:,} files"
    return measurement("a burst, over making one value per file", ratio, target="<= 20", detail=detail)


def _imports(rounds: int) -> list[Measurement]:
    """What we import for each watcher, without the SDK, over a bare interpreter."""
    parts = "import tidings.cli.watch.serving as _, tidings.watchers as w; w.{name}; import asyncio"
    alone = [[sys.executable, "-c", parts.format(name=name)] for name in WATCHERS]
    rows = [[spent(command)[0] for command in (BARE, *alone)] for _ in range(rounds)]
    empty, *own = (statistics.median(column) for column in zip(*rows, strict=True))
    return [
        measurement(
            f"watch {name}: our imports, over import asyncio",
            cpu / empty,
            target="<= 3",
            detail=f"{cpu * 1e3:.0f} ms CPU without the MCP SDK; import asyncio {empty * 1e3:.0f} ms",
        )
        for name, cpu in zip(SERVERS, own, strict=True)
    ]


def _starts(rounds: int) -> list[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            f"watch {name}": [*TIDINGS, "watch", words[0], *_rooted(words, folder)]
            for name, words in SERVERS.items()
        }
        return starts(commands, rounds)


def _resident(files: int) -> Measurement:
    """What a file watcher holds while everything it watches changes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*TIDINGS, "watch", "files", "--json", "--root", folder]
        paths = [Path(folder) / f"d{number % 100}" / f"f{number}" for number in range(files)]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            path.touch()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
            process.stderr.readline()  # it says when it misses nothing any more
            idle = _megabytes(process.pid, "VmRSS")
            for path in paths:
                os.utime(path, (1, 1))
            told = json.loads(process.stdout.readline())["body"].splitlines()[0]
            peak = _megabytes(process.pid, "VmHWM")
            process.kill()
    detail = f"{idle:.0f} MB while nothing happens; {told}"
    return measurement(
        f"watch files: most memory, {files:,} files", peak, unit="MB", target="<= 150", detail=detail
    )


def _megabytes(pid: int, key: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def _rooted(words: list[str], folder: str) -> list[str]:
    """The words behind the first, in an empty folder where the watcher has one."""
    return words[1:] if words[0] == "reviews" else ["--root", folder, *words[1:]]


def run(quick: bool) -> list[Measurement]:
    """Latency, a burst, what is held meanwhile, and the start of each server."""
    rounds = 1 if quick else 7
    held = [_resident(2_000 if quick else 50_000)] if Path("/proc/self/status").exists() else []
    return [
        *_latency(5 if quick else 100),
        _burst(5_000 if quick else 50_000),
        *held,
        *_imports(rounds),
        *_starts(rounds),
    ]
