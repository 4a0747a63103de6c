"""Claude Code in a terminal of its own, as a person has it: only there its plugins have monitors.

The terminal is a pseudo terminal of this process; what is drawn on it is kept for a failing test to show.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from tests.interop.client import kill_group
from tests.interop.hosts.clis import binary
from tests.interop.hosts.stage import Stage

ROWS, COLUMNS = 50, 150
KEPT = 20_000


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self.drawn = b""

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._handle, text.encode())

    def read(self) -> None:
        """Take what was drawn, so that the program is never held up."""
        try:
            self.drawn = (self.drawn + os.read(self._handle, 65536))[-KEPT:]
        except OSError:  # the program has left
            asyncio.get_running_loop().remove_reader(self._handle)


def settle(stage: Stage) -> None:
    """Answer beforehand what Claude Code asks at its first start."""
    project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {str(stage.room.work): project},
        "customApiKeyResponses": {"approved": ["x"], "rejected": []},
    }
    (stage.room.home / ".claude.json").write_bytes(msgspec.json.encode(known))
    folder = stage.room.home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text('{\n  "skipDangerousModePermissionPrompt": true\n}\n')


@asynccontextmanager
async def claude(stage: Stage) -> AsyncIterator[Terminal]:
    """Claude Code in the project's folder; it ends with the block."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    flags = stage.cli.command("")[3:]
    process = await asyncio.create_subprocess_exec(
        binary("@anthropic-ai/claude-code", "claude"),
        *flags,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**stage.room.environment(stage.more), "TERM": "xterm-256color"},
        cwd=stage.room.work,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(ours)
    asyncio.get_running_loop().add_reader(ours, terminal.read)
    try:
        yield terminal
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        kill_group(process.pid)
        await process.wait()
        os.close(ours)
