"""The live log beside a hub in the foreground: read from its file, in a thread of its own.

A terminal that is stopped, or a pipe that nobody reads, holds up this thread and never the hub: it reads
the log by cursor, at its own pace. What it writes goes to the file descriptor at once.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import aclosing, suppress
from io import StringIO
from pathlib import Path

from tidings.cli.live import Line, Story, Tone
from tidings.cli.log.choice import Choice
from tidings.cli.log.following import followed
from tidings.errors import LogError
from tidings.hub.store import TOPIC
from tidings.hub.told import told_topic
from tidings.log import EventLog, open_log

STOP_SECONDS = 1.0
SESSIONS_MOST = 200
"""How many sessions are followed for what they tell."""

STYLES: dict[Tone, str] = {"good": "green", "plain": "", "quiet": "dim", "bad": "yellow"}


class Teller:
    """Writes what happens, from now on. `start` it once, and `stop` it."""

    def __init__(self, database: Path, write: Callable[[Line], None]) -> None:
        self._database = database
        self._write = write
        self._story = Story()
        self._following: dict[str, asyncio.Task[None]] = {}
        self._thread: threading.Thread | None = None
        self._stopping: Callable[[], object] | None = None

    def start(self) -> None:
        """Begin with what is written next."""
        with open_log(self._database) as log:
            begin = log.latest(TOPIC)
        self._thread = threading.Thread(target=self._run, args=(begin,), name="tidings-live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; one that waits for its reader is left to the end of the process."""
        if self._stopping is not None and self._thread is not None:
            self._stopping()
            self._thread.join(STOP_SECONDS)

    def _run(self, begin: int) -> None:
        with suppress(asyncio.CancelledError, OSError):  # whoever read us is gone
            asyncio.run(self._tell(begin))

    async def _tell(self, begin: int) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._stopping = lambda: loop.call_soon_threadsafe(task.cancel)
        with suppress(LogError), open_log(self._database) as log:  # the hub closed it for good
            async with aclosing(followed(log, Choice(topic=TOPIC, from_cursor=begin))) as records:
                async for record in records:
                    self._say(self._story.line(record))
                    if record.kind == "hub.session.registered":
                        self._listen(log, str(record.payload.get("session_id")))

    def _listen(self, log: EventLog, session_id: str) -> None:
        if session_id in self._following or len(self._following) >= SESSIONS_MOST:
            return
        topic = told_topic(session_id)
        choice = Choice(topic=topic, from_cursor=log.latest(topic))
        self._following[session_id] = asyncio.create_task(self._hear(log, session_id, choice))

    async def _hear(self, log: EventLog, session_id: str, choice: Choice) -> None:
        with suppress(LogError):
            async with aclosing(followed(log, choice)) as records:
                async for record in records:
                    self._say(self._story.told(session_id, record))

    def _say(self, line: Line | None) -> None:
        if line is not None:
            self._write(line)


def writer(stream: int = 1) -> Callable[[Line], None]:
    """Writes lines to a file descriptor: in colour on a terminal, plain elsewhere."""
    return _coloured(stream) if os.isatty(stream) else _plain(stream)


def _plain(stream: int) -> Callable[[Line], None]:
    encoding = sys.stdout.encoding or "utf-8"

    def write(line: Line) -> None:
        _all(stream, f"{line}\n".encode(encoding, "backslashreplace"))

    return write


def _coloured(stream: int) -> Callable[[Line], None]:
    from rich.console import Console
    from rich.text import Text

    def write(line: Line) -> None:
        width = os.get_terminal_size(stream).columns
        console = Console(file=StringIO(), force_terminal=True, width=max(width, 20))
        console.print(Text(str(line), STYLES[line.tone]), overflow="ellipsis", no_wrap=True)
        assert isinstance(console.file, StringIO)
        _all(stream, console.file.getvalue().encode(errors="backslashreplace"))

    return write


def _all(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]
