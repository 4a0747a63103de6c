"""What the process tests run in processes of their own: `python child.py <role> <path> …`."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import aclosing
from functools import partial
from pathlib import Path

from tidings.errors import LogUnavailableError, SubscriberLaggedError
from tidings.log import open_log, schema
from tidings.log.sqlite import SqliteLog


def write(path: Path, name: str, count: str) -> None:
    """Append one at a time and in batches, announcing each acknowledged record."""
    with open_log(path) as log:
        for number in range(int(count)):
            drafts = [("t", "k", {"from": name, "n": number, "part": part}) for part in range(3)]
            records = [log.append("t", "k", {"from": name, "n": number}), *log.append_batch(drafts)]
            print(*(record.cursor for record in records), flush=True)


def write_durable(path: Path, durability: str) -> None:
    """Append from many tasks until killed, announcing each acknowledged record."""

    async def produce(log: SqliteLog) -> None:
        while True:
            record = await log.append_durable("t", "k", {"text": "x" * 200})
            print(record.cursor, flush=True)

    async def main() -> None:
        with SqliteLog(path, durability="fsync" if durability == "fsync" else "normal") as log:
            await asyncio.gather(*(produce(log) for _ in range(10)))

    asyncio.run(main())


def write_batches(path: Path, size: str) -> None:
    """Append batches until killed, announcing the last record of each."""
    with open_log(path) as log:
        while True:
            drafts = [("t", f"k.{part % 3}", {"part": part}) for part in range(int(size))]
            print(log.append_batch(drafts)[-1].cursor, flush=True)


def follow(path: Path, count: str, poll: str) -> None:
    """Subscribe, say so, and print the cursors received."""

    async def main() -> None:
        with SqliteLog(path, poll_seconds=float(poll)) as log:
            async with aclosing(log.subscribe("t")) as records:
                pending = asyncio.ensure_future(anext(records))
                await asyncio.sleep(0)
                print("ready", flush=True)
                for number in range(int(count)):
                    record = await pending
                    print(record.cursor, flush=True)
                    if number < int(count) - 1:
                        pending = asyncio.ensure_future(anext(records))

    asyncio.run(main())


def purge(path: Path, last: str) -> None:
    """Purge what others write, always all but the last twenty, until they have written `last`."""
    with open_log(path) as log:
        while log.purged_through("t") < int(last) - 20:
            purged = log.purge("t", max(0, log.latest("t") - 20))
            if purged is not None:
                print(purged.purged_through, purged.count, flush=True)


def read_on(path: Path, last: str) -> None:
    """Read again and again from where it was; print what it read and what it was told is gone."""
    position = 0
    with open_log(path) as log:
        while position < int(last):
            try:
                for record in log.read("t", position):
                    print("read", record.cursor, flush=True)
                    position = record.cursor
            except SubscriberLaggedError as gone:
                print("gone", gone.missed, flush=True)
                position = gone.resume_from


def die_in_purge(path: Path, statement: str) -> None:
    """Purge, and be killed when SQLite is about to run a statement that begins so."""
    log = SqliteLog(path)
    log._writer.connection.set_trace_callback(partial(die_at, statement))
    log.purge("t", 200)


def die_in_opening(path: Path, statement: str) -> None:
    """Open a log, and be killed when SQLite is about to run a statement that begins so."""
    connect = schema.connect

    def watched(file: Path, busy_seconds: float) -> sqlite3.Connection:
        connection = connect(file, busy_seconds)
        connection.set_trace_callback(partial(die_at, statement))
        return connection

    schema.connect = watched
    SqliteLog(path)


def die_at(statement: str, running: str) -> None:
    if running.startswith(statement):
        os.kill(os.getpid(), signal.SIGKILL)


def refuse_read_only(path: Path) -> None:
    """Open a log that this user may not write, as nobody when started by root."""
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        open_log(path)
    except LogUnavailableError as error:
        print(error)


if __name__ == "__main__":
    roles = {
        "write": write,
        "write_durable": write_durable,
        "write_batches": write_batches,
        "follow": follow,
        "purge": purge,
        "read_on": read_on,
        "die_in_purge": die_in_purge,
        "die_in_opening": die_in_opening,
        "refuse_read_only": refuse_read_only,
    }
    roles[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
