"""The file of consents: private, replaced whole, read again whenever it changed.

One small JSON file in the user's config folder. Several processes may change it, one at a time; every
reader sees a change with its next look. A file that others could write, or that cannot be read, is an
error, and whoever meets it asks nobody.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tidings.mcp.conversation.consent import (
    ConsentError,
    Consents,
    Grant,
    off_in,
    read_consents,
    with_grant,
    without_scope,
    without_server,
)
from tidings.mcp.conversation.names import Scope
from tidings.shell.ids import now_ms

NAME = "consent.json"
LARGEST = 4 * 1024 * 1024


def config_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The user's folder for settings of ours."""
    named = environment.get("XDG_CONFIG_HOME", "")
    home = Path(named) if os.path.isabs(named) else Path.home() / ".config"
    return home / "tidings"


class ConsentStore:
    """The consents of one user. `on_change` hears of what this store changes, in the changing thread."""

    def __init__(self, path: Path | str | None = None, *, clock: Callable[[], int] = now_ms) -> None:
        self.path = config_folder() / NAME if path is None else Path(path)
        self._clock = clock
        self._known: tuple[tuple[int, int, int], Consents] | None = None
        self._listeners: list[Callable[[], None]] = []

    def read(self) -> Consents:
        """The consents as they are now; none when there is no file.

        Raises:
            ConsentError: the file is not private, or cannot be read.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return Consents()
        except OSError as error:
            raise ConsentError(f"{str(self.path)!r} cannot be read: {error.strerror}") from error
        mark = (found.st_mtime_ns, found.st_ino, found.st_size)
        if self._known is None or self._known[0] != mark:
            self._known = (mark, self._load(found))
        return self._known[1]

    def grant(self, grant: Grant) -> Grant:
        """Let a server see something from now on; gives the grant with its time.

        Raises:
            ConsentError: the file cannot be changed.
        """
        stamped = msgspec.structs.replace(grant, granted_at_ms=self._clock())
        self._change(lambda consents: with_grant(consents, stamped))
        return stamped

    def revoke(self, server: str, project: str | None = None) -> tuple[Grant, ...]:
        """Let a server see nothing any more, everywhere or in one project; gives what it had.

        Raises:
            ConsentError: the file cannot be changed.
        """
        gone: tuple[Grant, ...] = ()

        def change(consents: Consents) -> Consents:
            nonlocal gone
            if project is None:
                consents, gone = without_server(consents, server)
            else:
                consents, gone = off_in(consents, server, project, self._clock())
            return consents

        self._change(change)
        return gone

    def narrow(self, server: str, scope: Scope) -> tuple[Grant, ...]:
        """Let a server see one thing less, everywhere; gives the grants that had it.

        Raises:
            ConsentError: the file cannot be changed.
        """
        gone: tuple[Grant, ...] = ()

        def change(consents: Consents) -> Consents:
            nonlocal gone
            consents, gone = without_scope(consents, server, scope)
            return consents

        self._change(change)
        return gone

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each change made here; gives the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _load(self, found: os.stat_result) -> Consents:
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ConsentError(
                f"{str(self.path)!r} must be a file of yours that nobody else can open: chmod 600 it"
            )
        if found.st_size > LARGEST:
            raise ConsentError(f"{str(self.path)!r} has {found.st_size} bytes; at most {LARGEST} are read")
        try:
            return read_consents(self.path.read_bytes())
        except OSError as error:
            raise ConsentError(f"{str(self.path)!r} cannot be read: {error.strerror}") from error
        except ConsentError as error:
            raise ConsentError(
                f"{str(self.path)!r}: {error}; mend it, or remove it to begin anew"
            ) from None

    def _change(self, change: Callable[[Consents], Consents]) -> None:
        try:
            with self._alone():
                before = self.read()
                after = change(before)
                if after != before:
                    keyed = (
                        after if after.key else msgspec.structs.replace(after, key=secrets.token_hex(32))
                    )
                    _replace(self.path, msgspec.json.format(msgspec.json.encode(keyed), indent=1) + b"\n")
        except OSError as error:
            raise ConsentError(f"{str(self.path)!r} cannot be changed: {error.strerror}") from error
        self._known = None
        for listener in tuple(self._listeners):
            listener()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While the block runs no other process changes the file."""
        make_private_folder(self.path.parent)
        lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def make_private_folder(folder: Path) -> None:
    """Make `folder`, for its owner alone, if it is not there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    """Write the whole file anew: after a crash it is the old one or the new one."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
