"""The workspaces of a hub: folders are attached and detached, their files are read again when they change.

    async with Workspaces(hub) as workspaces:
        row = await workspaces.attach("/home/me/shop")

A file with problems is told, and what ran before goes on. A file that changes by itself is used only when
it claims nothing new (`claims.py`). Whatever goes wrong with a watcher stays with it. The daemon holds one
of these; the operations find it at `hub.workspaces`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tidings.core.producers import shown
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hub.address import Registration
from tidings.hub.failure import HubFullError, NotThereError
from tidings.hub.rows import resolved
from tidings.hub.service import Hub
from tidings.hub.shapes import TellRecord
from tidings.hub.workspace import shapes
from tidings.hub.workspace.claims import claims
from tidings.hub.workspace.courier import write
from tidings.hub.workspace.problems import WorkspaceConfigError
from tidings.hub.workspace.reading import File, read_file
from tidings.hub.workspace.remembering import Memory, Remembered
from tidings.hub.workspace.settings import FILE
from tidings.hub.workspace.workspace import Workspace
from tidings.hub.workspace.writes import alone, edited
from tidings.mcp.host.settings import Clock, SteadyClock
from tidings.shell.ids import now_ms

ATTACHED = "hub.workspace.attached"
DETACHED = "hub.workspace.detached"
CONFIG = "hub.workspace.config"

WORKSPACES_MOST = 100
LOOK_SECONDS = 1.0
"""How often the files are looked at."""

_AGAIN = f"{FILE} changed what is run, reached or granted; to use it, run `tidings up` in that folder"


_logger = logging.getLogger(__name__)


class Workspaces:
    """The attached folders of `hub`. Inside the block their files are looked after; its end stops all."""

    def __init__(
        self,
        hub: Hub,
        *,
        memory: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._hub = hub
        self._memory = Memory(memory)
        self._environ = environ
        self._clock = clock or SteadyClock()
        self._now_ms = now
        self._open: dict[str, Workspace] = {}
        self._digests: dict[str, str | None] = {}
        self._seen: dict[str, object] = {}
        self._turn = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        hub.workspaces = self

    async def __aenter__(self) -> Self:
        """Attach what a hub that was killed had attached, and look after the files."""
        for one in self._memory.read():
            await self._again(one)
        self._looking = asyncio.create_task(self._look(), name="tidings.workspaces")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        async with self._turn:
            await asyncio.gather(*(one.end() for one in self._open.values()))
            self._open.clear()
            if error is None:
                self._memory.forget()

    def __getitem__(self, path: str) -> Workspace:
        """The attached folder of that path.

        Raises:
            CallerError: it is not attached.
        """
        found = self._open.get(os.path.realpath(path))
        if found is None:
            raise CallerError(f"{shown(path)} is not attached; run `tidings up` there")
        return found

    async def attach(self, path: str, environ: Mapping[str, str] | None = None) -> shapes.WorkspaceRow:
        """Use the `tidings.toml` of a folder from now on; a folder without one is attached all the same.

        Raises:
            CallerError: not an absolute path of a folder.
            HubFullError: too many are attached.
        """
        name = resolved(path, "path")
        if not _is_folder(name):
            raise NotThereError(f"`path` is {shown(path)}; give a folder that exists")
        async with self._turn:
            if len(self._open) >= WORKSPACES_MOST and name not in self._open:
                raise HubFullError(f"{WORKSPACES_MOST} folders are attached; detach some")
            return await self._attached(Path(name), self._environ if environ is None else environ)

    async def detach(self, path: str) -> bool:
        """Leave a folder alone; gives whether it was attached.

        Raises:
            CallerError: not an absolute path.
        """
        name = resolved(path, "path")
        async with self._turn:
            found = self._open.pop(name, None)
            if found is None:
                return False
            await found.end()
            self._digests.pop(name, None)
            self._remember()
            write(self._hub, [Record(DETACHED, {"workspace": name})])
            return True

    def heard(self, session: Registration, records: Iterable[TellRecord]) -> None:
        """Take note of what a session says that it wrote."""
        self.wrote(session, edited(records, self._now_ms()))

    def wrote(self, session: Registration, paths: Iterable[str]) -> None:
        """Take note of what a session that is alone in its folder wrote there."""
        if session.workspace is None:
            return
        for path in paths:
            target = Path(session.workspace, path)
            for one in self._open.values():
                near = target.is_relative_to(one.folder)
                if near and alone(session, self._hub.board.sessions.values(), one.folder):
                    one.own.note(str(target))

    def rows(self) -> list[shapes.WorkspaceRow]:
        """How it stands with each, first come first."""
        return [one.row() for one in self._open.values()]

    async def _attached(self, folder: Path, environ: Mapping[str, str]) -> shapes.WorkspaceRow:
        name = str(folder)
        one = self._open.get(name) or Workspace(self._hub, folder, self._clock, self._now_ms)
        self._open[name], self._seen[name] = one, _stamp(folder)
        one.problems, file = _read(folder)
        if not one.problems:
            await self._use(one, file, environ)
        told: Payload = {"workspace": name, "watchers": [kept.name for kept in one.kept]}
        write(self._hub, [Record(ATTACHED, told)])
        if one.problems:
            self._tell_problems(one)
        return one.row()

    async def _use(self, one: Workspace, file: File | None, environ: Mapping[str, str]) -> None:
        await one.use(None if file is None else file.config, environ)
        self._digests[str(one.folder)] = None if file is None else file.digest
        self._remember()

    async def _again(self, left: Remembered) -> None:
        """Attach what was attached before; a file that changed meanwhile waits for its owner."""
        if not _is_folder(left.path):
            return
        folder = Path(left.path)
        problems, file = _read(folder)
        if not problems and (None if file is None else file.digest) == left.digest:
            await self._attached(folder, self._environ)
            return
        one = self._open[left.path] = Workspace(self._hub, folder, self._clock, self._now_ms)
        self._seen[left.path] = _stamp(folder)
        one.problems = problems or (_AGAIN,)
        self._tell_problems(one)

    async def _look(self) -> None:
        """Read files again that changed."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            for name, one in list(self._open.items()):
                stamp = _stamp(one.folder)
                if stamp != self._seen.get(name):
                    self._seen[name] = stamp
                    await self._read_again(one)

    async def _read_again(self, one: Workspace) -> None:
        """Reload one file; whatever goes wrong with it, the others are looked after."""
        try:
            async with self._turn:
                await self._reload(one)
        except Exception:
            _logger.exception("hub: the %s of %s could not be read again", FILE, one.folder)

    async def _reload(self, one: Workspace) -> None:
        if str(one.folder) not in self._open:
            return
        problems, file = _read(one.folder)
        if file is not None and not claims(file.config) <= claims(one.config):
            problems = (_AGAIN,)
        one.problems = problems
        if not problems:
            await self._use(one, file, one.environ)
        self._tell_problems(one)

    def _tell_problems(self, one: Workspace) -> None:
        about: Payload = {"workspace": str(one.folder), "problems": list(one.problems)}
        write(self._hub, [Record(CONFIG, about)])

    def _remember(self) -> None:
        try:
            self._memory.write(Remembered(name, digest) for name, digest in self._digests.items())
        except OSError as error:
            _logger.warning("hub: the attached folders could not be remembered: %s", error)


def _read(folder: Path) -> tuple[tuple[str, ...], File | None]:
    """What is wrong with a folder's file, or the file."""
    try:
        return (), read_file(folder)
    except WorkspaceConfigError as error:
        return tuple(map(str, error.problems)), None


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)


def _stamp(folder: Path) -> object:
    """What tells one state of the file from the next; None when there is none."""
    try:
        found = os.stat(folder / FILE)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino, stat.S_IMODE(found.st_mode), found.st_uid)
