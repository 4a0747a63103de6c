"""Where the hub of a user lives: its data folder, its files, its socket, and the lock that makes it one.

The lock is gone with the process that held it, however it ended; so what a crash leaves behind (a socket, a
state file) is recognised and replaced. The token is made once and read only while nobody else can.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tidings.bridge.door.place import answers, runtime_folder, workspace_mark
from tidings.hub.failure import HubError

HOME_VARIABLE = "TIDINGS_HOME"
"""The environment variable that names the data folder."""

_PATIENCE_SECONDS = 0.5
_STEP_SECONDS = 0.01


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a running hub says of itself, for those who look for it."""

    pid: int
    url: str
    socket: str
    version: str
    started_at_ms: int


class Place(msgspec.Struct, frozen=True):
    """The files of one hub."""

    home: Path
    socket: str

    @property
    def database(self) -> Path:
        """The log."""
        return self.home / "hub.db"

    @property
    def token_file(self) -> Path:
        """The token, for its owner only."""
        return self.home / "hub.token"

    @property
    def lock_file(self) -> Path:
        """Locked while a hub runs."""
        return self.home / "hub.lock"

    @property
    def state_file(self) -> Path:
        """Where the running hub is."""
        return self.home / "hub.json"

    @property
    def output_file(self) -> Path:
        """What a detached hub prints."""
        return self.home / "hub.out"

    @property
    def answers(self) -> bool:
        """Whether a hub listens."""
        return answers(self.socket)


def place_of(environ: Mapping[str, str] = os.environ) -> Place:
    """The place of this user's hub, whether there is one or not.

    One that was started where the folder for sockets is another (in a desktop, say, and this in a cron
    job) is found by what it says of itself.

    Raises:
        DoorError: the folder for sockets cannot be used.
    """
    home = _home(environ)
    path = os.path.join(runtime_folder(environ), f"hub-{workspace_mark(str(home))}.socket")
    here = Place(home, path)
    if os.path.exists(path):
        return here
    state = read_state(here)
    return here if state is None or not answers(state.socket) else Place(home, state.socket)


def prepare(place: Place) -> None:
    """Make the data folder if need be.

    Raises:
        HubError: it cannot be used, or others may write in it.
    """
    home = place.home
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = home.stat()
    except OSError as error:
        text = f"the data folder {str(home)!r} cannot be used: {error.strerror}; set {HOME_VARIABLE}"
        raise HubError(text) from error
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        text = f"others may write in the data folder {str(home)!r}; run `chmod go-w` on it"
        raise HubError(f"{text}, or set {HOME_VARIABLE}")


def _home(environ: Mapping[str, str]) -> Path:
    if named := environ.get(HOME_VARIABLE):
        return Path(named).absolute()
    base = environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "tidings"


@contextmanager
def locked(place: Place) -> Iterator[bool]:
    """Be the hub of this place for the block; gives False when another process is.

    Whoever only looks holds the lock for a moment too, so a short while is waited.

    Raises:
        HubError: the data folder cannot be used.
    """
    with _usable(place):
        handle = os.open(place.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not (ours := _lock(handle)) and time.monotonic() < until:
            time.sleep(_STEP_SECONDS)
        yield ours
    finally:
        os.close(handle)


def is_running(place: Place) -> bool:
    """Whether a process is the hub of this place, also one that is just starting or stopping.

    Raises:
        HubError: the data folder cannot be used.
    """
    try:
        with _usable(place):
            handle = os.open(place.lock_file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


@contextmanager
def _usable(place: Place) -> Iterator[None]:
    """Say what to do when a file of the data folder may not be used."""
    try:
        yield
    except PermissionError as error:
        text = f"{error.filename!r} cannot be used: {error.strerror}"
        fix = f"run `chmod u+rwX` on it and on {str(place.home)!r}, or set {HOME_VARIABLE}"
        raise HubError(f"{text}; {fix}") from error


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def token_of(place: Place) -> str:
    """The token, made when there is none.

    Raises:
        HubError: others may read it, or it is not there to be read.
    """
    with _usable(place):
        return _token(place.token_file)


def _token(path: Path) -> str:
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(32))
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise HubError(f"{str(path)!r} must be a file that only you can read; remove it and start again")
    token = path.read_text().strip()
    if len(token) < 32:
        raise HubError(f"{str(path)!r} holds no token; remove it and start again")
    return token


def write_state(place: Place, state: State) -> None:
    """Say where the hub is, all at once."""
    draft = place.state_file.with_suffix(".new")
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(place.state_file)


def read_state(place: Place) -> State | None:
    """Where the hub is or was; None when nothing can be read."""
    try:
        return msgspec.json.decode(place.state_file.read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return None
