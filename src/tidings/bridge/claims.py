"""Which process serves a session of a log: a lock for each session, gone with the process that held it.

Two processes that served one session would each act on a state that the other one changes. The locks are
bytes of a file beside the log, whose content means nothing; a log in memory needs none. Called by whoever
serves sessions of a log: the agent, the bridge and the interposer.
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from tidings.bridge.rpc import SERVER_BUSY, RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import LogUnavailableError
from tidings.log.port import EventLog

SUFFIX = ".claims"


class Claims(Protocol):
    """Who serves what."""

    def take(self, session_id: str) -> None:
        """Serve this session, from now on alone.

        Raises:
            RpcError: another process serves it.
            LogUnavailableError: nobody can tell.
        """
        ...

    def release(self, session_id: str) -> None:
        """Serve it no longer."""
        ...

    def close(self) -> None:
        """Serve nothing any more."""
        ...


class FileClaims:
    """Claims of this process on the sessions of the log in a file. One object for each process and log."""

    def __init__(self, log: Path) -> None:
        self._path = log.with_name(log.name + SUFFIX)
        self._file: int | None = None

    def take(self, session_id: str) -> None:
        """Lock the session's byte."""
        try:
            fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(session_id))
        except (BlockingIOError, PermissionError):
            text = f"session {shown(session_id)} is in use by another process; close it there first"
            data: Payload = {"reason": "session_in_use", "sessionId": session_id}
            raise RpcError(SERVER_BUSY, text, data) from None

    def release(self, session_id: str) -> None:
        """Unlock it."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(session_id))

    def close(self) -> None:
        """Unlock all."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                text = f"{self._path} cannot be opened: {error.strerror}; it says who serves which session"
                raise LogUnavailableError(text) from error
        return self._file


class NoClaims:
    """For a log that no other process can see."""

    def take(self, session_id: str) -> None:
        """Nobody else can serve it."""

    def release(self, session_id: str) -> None:
        """Nothing was taken."""

    def close(self) -> None:
        """Nothing was taken."""


def claims_on(log: EventLog) -> Claims:
    """The claims on the sessions of `log`."""
    path = getattr(log, "path", None)
    return FileClaims(path) if isinstance(path, Path) else NoClaims()


def _place(session_id: str) -> int:
    """A byte for every session; far fewer sessions than bytes, so that no two share one."""
    return int.from_bytes(sha256(session_id.encode(errors="replace")).digest()[:7], "big")
