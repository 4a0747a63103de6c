"""A process and all its children, run to their end, or killed at a deadline or on cancellation.

It leads a process group of its own; when it ends, however it ends, the rest of the group is killed, so
a command leaves nothing running. A child that moves to another session escapes this. Output and errors
share one pipe, and only the beginning and the end of what comes are kept.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from tidings.agent.tools.truncate import Clip, Clipped

TERM_GRACE = 1.0
"""Seconds between asking a group to end and killing it."""
DRAIN_GRACE = 2.0
"""Seconds to wait for the rest of the output, which an escaped child may hold open."""
REAP_DEADLINE = 2.0

_CHUNK = 65_536


class Ended(msgspec.Struct, frozen=True):
    """How a process ended; a negative `exit_code` is the signal that ended it."""

    exit_code: int | None
    output: Clipped
    timed_out: bool


async def run_process(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], deadline: float, limit: int
) -> Ended:
    """Run `argv` without input; at most `limit` characters of output are kept.

    Raises:
        OSError: it could not be started.
    """
    clip = Clip(limit)
    async with _pipe_into(clip) as (write_end, drained):
        try:
            process = await _start(argv, cwd, env, write_end)
        finally:
            os.close(write_end)
        timed_out = await _wait(process, deadline)
        await asyncio.wait({drained}, timeout=DRAIN_GRACE)
    return Ended(process.returncode, clip.result(), timed_out)


async def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], output: int
) -> asyncio.subprocess.Process:
    """Start it; what had begun to run when this is cancelled is ended with all its children."""
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end_group(await starting)
        raise


async def _wait(process: asyncio.subprocess.Process, deadline: float) -> bool:
    """Wait for the end, make sure of it, and say whether the time ran out."""
    try:
        async with asyncio.timeout(deadline):
            await process.wait()
    except TimeoutError:
        return True
    finally:
        await _end_group(process)
    return False


async def _end_group(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), TERM_GRACE)
    _signal_group(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), REAP_DEADLINE)


def _signal_group(group: int, number: signal.Signals) -> None:
    """Signal the group; one that has no members any more is what we want."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@asynccontextmanager
async def _pipe_into(clip: Clip) -> AsyncIterator[tuple[int, asyncio.Task[None]]]:
    """A pipe whose reading end feeds `clip`: its writing end, and the task that ends with it.

    A pipe of our own, because asyncio's waits for every holder of its pipe before it reports the exit.
    """
    read_end, write_end = os.pipe()
    reader = asyncio.StreamReader(limit=_CHUNK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    drained = asyncio.create_task(_drain(reader, clip))
    try:
        yield write_end, drained
    finally:
        drained.cancel()
        transport.close()
        await asyncio.wait({drained})


async def _drain(reader: asyncio.StreamReader, clip: Clip) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := await reader.read(_CHUNK):
        clip.feed(decoder.decode(chunk))
    clip.feed(decoder.decode(b"", final=True))
