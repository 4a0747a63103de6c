"""How fast the event log is, as ratios to bare SQLite on the same schema in the same run.

Rounds of both sides alternate and the median of the rounds' ratios is reported, because the machine
is shared. The raw side is the harder one: pre-encoded rows, one `executemany`, one commit, no fsync
(synchronous=NORMAL), for both durabilities. Run with `python -m benchmarks.bench_log`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles

import msgspec

from benchmarks.measure import Measurement, met
from tidings.log.chain import Row
from tidings.log.open import Durability
from tidings.log.schema import prepare
from tidings.log.sqlite import SqliteLog

PRODUCERS = 100
_IDS: dict[str, object] = {
    "session_id": "0190b2c4-1d2e-7f3a-8b4c-000000000001",
    "task_id": None,
    "agent_id": "agent-1",
}
_REMINDER = "0190b2c4-1d2e-7f3a-8b4c-5d6e7f8a9b0c"
_FIRED: dict[str, object] = {"reminder_id": _REMINDER, "turn_number": 12}
_FIRED |= {"rendered_role": "user", "placement": "seed", **_IDS}
_INJECTED: dict[str, object] = {
    "reminder_id": _REMINDER,
    "tags": ["build", "ci"],
    "dedupe_key": "build:main",
    "source": "stdlib_provider",
    "role_hint": "system",
    "ttl_turns": 3,
    "propagate": "session",
    "preserve_on_compact": False,
    "originating_agent_id": None,
    "fired_at_turn": 12,
    "trust": "operator",
    "origin": None,
    **_IDS,
}
LIFE: tuple[tuple[str, dict[str, object]], ...] = (
    ("provider_evaluated", {"provider_id": "ci", "event": "post_turn", "fired": True, **_IDS}),
    ("injected", _INJECTED),
    ("fired", _FIRED),
    ("fired", _FIRED),
    ("fired", _FIRED),
    ("expired", {"reminder_id": _REMINDER, "reason": "ttl", "tags": ["build", "ci"], **_IDS}),
)
"""The records of one reminder's life, as the lifecycle topic has them."""

INSERT = "INSERT INTO records (id, at_ms, kind, payload, link) VALUES (?, ?, ?, ?, ?)"
SELECT = "SELECT id, at_ms, kind, payload FROM records WHERE id > ? AND id < ?"
SUBSCRIBER = """
import asyncio, json, sys, time
from tidings.log.sqlite import SqliteLog

async def main(path, count):
    delays = []
    with SqliteLog(path) as log:
        log.append("ready", "ready", {})
        async for record in log.subscribe("live"):
            delays.append((time.monotonic_ns() - record.payload["sent"]) / 1e6)
            if len(delays) == count:
                break
    print(json.dumps(delays))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def run(quick: bool) -> list[Measurement]:
    """Measure everything; `quick` is a smoke run whose figures say little."""
    with tempfile.TemporaryDirectory() as name:
        fresh = _fresh_paths(Path(name))
        rows, rounds = (2_000, 1) if quick else (20_000, 7)
        lives = 50 if quick else 1_000
        return [
            _durable(fresh, "normal", ">= 0.4", rows, rounds),
            _durable(fresh, "fsync", ">= 0.2", rows, rounds),
            _replay(fresh, rows * 2, rounds),
            _single(fresh, rows // 10, rounds),
            *_latency("same process", "<= 1", asyncio.run(_same_process(next(fresh), lives))),
            *_latency("other process", "<= 5", asyncio.run(_other_process(next(fresh), lives))),
            *_stalls(fresh, rows // 2, rounds),
        ]


def _lives(count: int) -> Iterator[tuple[str, dict[str, object]]]:
    for kind, payload in islice(cycle(LIFE), count):
        yield f"transcript.reminder.{kind}", payload


def _encoded(count: int) -> list[Row]:
    return [
        (number, 1_700_000_000_000, kind, msgspec.json.encode(payload).decode(), None)
        for number, (kind, payload) in enumerate(_lives(count))
    ]


def _exhaust(records: Iterator[object]) -> None:
    deque(records, maxlen=0)


def _fresh_paths(directory: Path) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        yield directory / f"log-{number}.db"


def _durable(
    fresh: Iterator[Path], durability: Durability, target: str, rows: int, rounds: int
) -> Measurement:
    ours, raw = [], []
    for _ in range(rounds):
        raw.append(_raw_insert(next(fresh), rows))
        ours.append(_durable_seconds(next(fresh), durability, rows))
    value = median(there / here for here, there in zip(ours, raw, strict=True))
    name = f"append_durable, {PRODUCERS} producers, {durability}, to raw executemany in one commit"
    return _ratio(name, value, target, rows, median(ours), median(raw))


def _raw_insert(path: Path, rows: int) -> float:
    """Time the limit: rows that are encoded already, one statement, one commit."""
    values = _encoded(rows)
    with closing(prepare(path, 5.0)) as connection:
        started = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, values)
        connection.execute("COMMIT")
        return time.perf_counter() - started


def _durable_seconds(path: Path, durability: Durability, rows: int) -> float:
    with SqliteLog(path, durability=durability) as log:
        return asyncio.run(_produce(log, rows))


async def _produce(log: SqliteLog, rows: int) -> float:
    lives = list(_lives(rows // PRODUCERS))

    async def producer() -> None:
        for kind, payload in lives:
            await log.append_durable("live", kind, payload)

    started = time.perf_counter()
    await asyncio.gather(*(producer() for _ in range(PRODUCERS)))
    return time.perf_counter() - started


def _replay(fresh: Iterator[Path], rows: int, rounds: int) -> Measurement:
    """Compare with a cursor over a file that has a row for each record, as a bare log would."""
    ours, raw, bare = [], [], next(fresh)
    _raw_insert(bare, rows)
    with SqliteLog(next(fresh)) as log, closing(sqlite3.connect(bare)) as connection:
        log.append_batch([("live", kind, payload) for kind, payload in _lives(rows)])
        for _ in range(rounds):
            raw.append(_seconds(lambda: _exhaust(connection.execute(SELECT, (0, 1 << 62)))))
            ours.append(_seconds(lambda: _exhaust(log.read("live"))))
    value = median(there / here for here, there in zip(ours, raw, strict=True))
    name = "read, decoded records, to a bare cursor over a row each"
    return _ratio(name, value, ">= 0.5", rows, median(ours), median(raw))


def _single(fresh: Iterator[Path], rows: int, rounds: int) -> Measurement:
    """Compare one append at a time with one bare insert and commit at a time."""
    ours, raw = [], []
    for _ in range(rounds):
        with closing(prepare(next(fresh), 5.0)) as connection:
            raw.append(_seconds(lambda c=connection: _commit_each(c, rows)))
        with SqliteLog(next(fresh)) as log:
            ours.append(_seconds(lambda log=log: _append_each(log, rows)))
    value = median(there / here for here, there in zip(ours, raw, strict=True))
    return _ratio("append, to one raw commit per row", value, "", rows, median(ours), median(raw))


def _commit_each(connection: sqlite3.Connection, rows: int) -> None:
    for row in _encoded(rows):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(INSERT, row)
        connection.execute("COMMIT")


def _append_each(log: SqliteLog, rows: int) -> None:
    for kind, payload in _lives(rows):
        log.append("live", kind, payload)


async def _same_process(path: Path, count: int) -> list[float]:
    delays: list[float] = []
    with SqliteLog(path) as log:

        async def subscriber() -> None:
            async with aclosing(log.subscribe("live")) as records:
                async for record in records:
                    delays.append(_age_ms(record.payload["sent"]))
                    if len(delays) == count:
                        return

        task = asyncio.create_task(subscriber())
        await _send(log, count)
        async with asyncio.timeout(30):
            await task
    return delays


async def _other_process(path: Path, count: int) -> list[float]:
    with SqliteLog(path) as log:
        command = [sys.executable, "-c", SUBSCRIBER, str(path), str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: ASYNC220
            async with asyncio.timeout(30), aclosing(log.subscribe("ready")) as ready:
                await anext(ready)
            await asyncio.sleep(0.2)
            await _send(log, count)
            out, _ = await asyncio.to_thread(child.communicate, timeout=30)
    delays: list[float] = json.loads(out)
    return delays


async def _send(log: SqliteLog, count: int) -> None:
    for _ in range(count):
        log.append("live", "tick", {"sent": time.monotonic_ns()})
        await asyncio.sleep(0.002)


def _age_ms(sent: object) -> float:
    assert isinstance(sent, int)
    return (time.monotonic_ns() - sent) / 1e6


def _latency(where: str, target: str, delays: list[float]) -> list[Measurement]:
    p50, p99 = median(delays), quantiles(delays, n=100)[98]
    detail = f"{len(delays)} records, p50 {p50:.3f} ms, p99 {p99:.3f} ms, max {max(delays):.3f} ms"
    name = f"append until a subscriber in the {where} has it"
    return [
        Measurement(f"{name}, p50", p50, "ms", "", None, detail),
        Measurement(f"{name}, p99", p99, "ms", target, met(p99, target), detail),
    ]


def _stalls(fresh: Iterator[Path], rows: int, rounds: int) -> list[Measurement]:
    """Measure the longest the loop is held while records are synced by a disk of 20 ms."""
    threaded, inline = [], []
    for _ in range(min(rounds, 3)):
        with SqliteLog(next(fresh), durability="fsync", sync=_slow_sync) as log:
            threaded.append(asyncio.run(_longest_stall(lambda log=log: _produce(log, rows // 10))))
        inline.append(asyncio.run(_longest_stall(_sync_in_the_loop)))
    value, other = median(threaded), median(inline)
    detail = f"disk made to take 20 ms per sync; syncing in the loop instead stalls {other:.1f} ms"
    name = "longest loop stall during fsync load"
    return [Measurement(name, value, "ms", "<= 20", met(value, "<= 20"), detail)]


def _slow_sync(descriptor: int) -> None:
    os.fsync(descriptor)
    time.sleep(0.02)


async def _sync_in_the_loop() -> None:
    with _scratch() as descriptor:
        for _ in range(5):
            _slow_sync(descriptor)
            await asyncio.sleep(0)


@contextmanager
def _scratch() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


async def _longest_stall(load: Callable[[], Awaitable[object]]) -> float:
    task = asyncio.ensure_future(load())
    longest, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    await task
    return longest * 1e3


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _ratio(name: str, value: float, target: str, rows: int, ours: float, raw: float) -> Measurement:
    detail = f"{rows} records, {rows / ours:,.0f}/s to {rows / raw:,.0f}/s"
    return Measurement(name, value, "x", target, met(value, target), detail)


def main() -> None:
    """Print the table."""
    for found in run(quick="--quick" in sys.argv):
        mark = {True: "met", False: "MISSED", None: ""}[found.met]
        print(f"{found.value:8.3f} {found.unit:3} {found.target:7} {mark:6} {found.name}")
        print(f"{'':28}{found.detail}")


if __name__ == "__main__":
    main()
