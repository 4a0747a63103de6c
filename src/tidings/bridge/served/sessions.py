"""The sessions that one connection serves: new, loaded, listed, closed; and where refusals are written.

Independent of the protocol: the ACP agent and the plain bridge both stand on it. A session outlives its
connection in the log; serving it again goes on where it was.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tidings.agent.session import Session
from tidings.agent.tools.folder import Folder
from tidings.bridge.claims import claims_on
from tidings.bridge.rpc import INVALID_PARAMS, SERVER_BUSY, UNKNOWN_SESSION, RpcError
from tidings.bridge.served.index import Index, Listed
from tidings.bridge.served.prompt import headline, neutral
from tidings.bridge.served.run import Ended, Settings
from tidings.bridge.served.session import Outlet, ServedSession
from tidings.core.producers import shown
from tidings.core.records import LIFECYCLE_TOPIC, warning
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.shell.ids import new_id
from tidings.shell.journal import Journal

MOST = 256
"""How many sessions a connection may have open at once."""


class Served:
    """All sessions of a connection; a `Sessions` for the reminder methods."""

    def __init__(self, settings: Settings, outlet: Outlet) -> None:
        self._settings = settings
        self._outlet = outlet
        self._index = Index(settings.log)
        self._journal = Journal(settings.log)
        self._claims = claims_on(settings.log)
        self._open: dict[str, ServedSession] = {}

    @property
    def connects(self) -> bool:
        """Whether sessions can be given servers to connect to."""
        return self._settings.connect is not None

    def new(self, cwd: object) -> ServedSession:
        """A session that works in `cwd`.

        Raises:
            RpcError: not an absolute path of a folder, or too many sessions are open.
        """
        return self._serve(None, _folder(cwd))

    def load(self, session_id: str, cwd: object) -> ServedSession:
        """A session that the log knows, where it was; `cwd` None keeps its folder.

        Raises:
            RpcError: nobody knows it, another process serves it, or as for `new`.
        """
        if session_id in self._open and cwd is None:
            return self._open[session_id]
        listed = self._index.known().get(session_id)
        if listed is None:
            raise unknown(session_id)
        folder = _folder(listed.cwd if cwd is None else cwd)
        served = self._open.get(session_id)
        if served is None:
            return self._serve(session_id, folder)
        served.move(folder)
        self._index.opened(session_id, served.root)
        return served

    def _serve(self, session_id: str | None, folder: Folder) -> ServedSession:
        if len(self._open) >= MOST:
            raise RpcError(SERVER_BUSY, f"{MOST} sessions are open already; close one with session/close")
        name = session_id or new_id()
        self._claims.take(name)
        try:
            session = Session(name, anchor=str(folder.root), log=self._settings.log)
            served = ServedSession(session, folder, self._settings, self._outlet)
        except BaseException:
            self._claims.release(name)
            raise
        self._open[name] = served
        self._index.opened(name, served.root)
        return served

    def page(self, cwd: str | None = None, cursor: str | None = None) -> tuple[list[Listed], str | None]:
        """Known sessions, newest first, and where the next page begins.

        Raises:
            RpcError: a cursor that is none.
        """
        return self._index.page(cwd, cursor)

    def get(self, session_id: str) -> ServedSession:
        """The open session of this id.

        Raises:
            RpcError: there is none.
        """
        found = self._open.get(session_id)
        if found is None:
            raise unknown(session_id)
        return found

    async def prompt(self, session_id: str, content: object, mark: object = None) -> Ended:
        """Work on the user's words; queued behind the prompts before them.

        Raises:
            RpcError: an unknown session, words that cannot be used, too many prompts, a failed model.
        """
        served = self.get(session_id)
        words = neutral(content)
        ending = served.prompt(words, mark)
        self._index.used(session_id, headline(words))
        return await ending

    async def close(self, session_id: str) -> None:
        """End a session's work and let go of it; the log keeps it.

        Raises:
            RpcError: there is none.
        """
        served = self.get(session_id)
        del self._open[session_id]
        await served.close()
        if session_id not in self._open:
            self._claims.release(session_id)

    async def shutdown(self) -> None:
        """End all work because the connection is over."""
        ending = [served.close() for served in self._open.values()]
        self._open = {}
        await asyncio.gather(*ending)
        self._claims.close()

    def find(self, session_id: str) -> ServedSession | None:
        """The open session of this id."""
        return self._open.get(session_id)

    def only(self) -> ServedSession | None:
        """The open session, when there is exactly one."""
        return next(iter(self._open.values())) if len(self._open) == 1 else None

    def rejected(self, session_id: str | None, method: str, error: RpcError) -> None:
        """Write down that a notification was refused: nobody else hears of it (decision 30)."""
        more: Payload = {"method": method, "rpc_code": error.code, **(error.data or {})}
        diagnostic = more.pop("code", None)
        about = {name: value for name, value in more.items() if name not in ("producer", "message")}
        told = f"a notification was refused: {error.message}"
        served = self.only() if session_id is None else self._open.get(session_id)
        if served is not None:
            served.note("notification_rejected", told, **about, diagnostic=diagnostic)
            return
        noted = warning("notification_rejected", "bridge", told, **about, diagnostic=diagnostic)
        context: Payload = {"session_id": session_id, "task_id": None, "agent_id": None}
        self._journal.write([(LIFECYCLE_TOPIC, [noted.kind], [{**noted.payload, **context}])])

    def dropped(self, session_id: str, count: int) -> None:
        """Write down that a session's observer was not told of everything."""
        served = self._open.get(session_id)
        if served is not None:
            text = f"{count} updates about reminders waited too long for an update to carry them"
            served.note("updates_dropped", text, count=count)


def unknown(session_id: str) -> RpcError:
    """No such session (decision 34)."""
    return RpcError(UNKNOWN_SESSION, f"unknown session {shown(session_id)}", {"sessionId": session_id})


def _folder(cwd: object) -> Folder:
    if not isinstance(cwd, str) or not Path(cwd).is_absolute():
        fix = "must be the absolute path of a folder"
        raise RpcError(INVALID_PARAMS, f"`cwd` {fix}; got {shown(cwd)}", {"field": "cwd"})
    try:
        return Folder(cwd)
    except (CallerError, OSError, ValueError) as error:
        raise RpcError(INVALID_PARAMS, f"`cwd` cannot be used: {error}", {"field": "cwd"}) from error
