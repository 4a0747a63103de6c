"""The sessions that a log knows: where each works, what it is about, when it was last used.

One topic of small records, folded when somebody asks; the conversations themselves stay in their own
topics. Called by `sessions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.log.port import EventLog
from tidings.shell.journal import Journal

TOPIC = "bridge.sessions"
PAGE = 50


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One session of the list."""

    session_id: str
    cwd: str
    title: str | None = None
    updated_at_ms: int = 0

    def to_wire(self) -> Payload:
        """The session as a host is told of it."""
        moment = datetime.fromtimestamp(self.updated_at_ms / 1000, UTC)
        info: Payload = {"sessionId": self.session_id, "cwd": self.cwd, "updatedAt": moment.isoformat()}
        return {**info, "title": self.title} if self.title else info


class Index:
    """The list of sessions in one log. A log that cannot be written loses no entry: it waits."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._journal = Journal(log)

    def opened(self, session_id: str, cwd: str) -> None:
        """A session was made, or goes on in `cwd`."""
        self._journal.write([(TOPIC, ["session.opened"], [{"session_id": session_id, "cwd": cwd}])])

    def used(self, session_id: str, title: str) -> None:
        """A session was prompted; the first title stays."""
        self._journal.write([(TOPIC, ["session.used"], [{"session_id": session_id, "title": title}])])

    def known(self) -> dict[str, Listed]:
        """Every session by its id."""
        found: dict[str, Listed] = {}
        for record in self._log.read(TOPIC):
            session_id = str(record.payload.get("session_id"))
            before = found.get(session_id, Listed(session_id=session_id, cwd=""))
            found[session_id] = _folded(before, record.payload, record.occurred_at_ms)
        return found

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[Listed], str | None]:
        """The sessions of a folder (or all), newest first, and where the next page begins.

        Raises:
            RpcError: a cursor that none of our answers held.
        """
        start = _start(cursor)
        found = [listed for listed in self.known().values() if cwd is None or listed.cwd == cwd]
        found.sort(key=lambda listed: (listed.updated_at_ms, listed.session_id), reverse=True)
        rest = len(found) > start + PAGE
        return found[start : start + PAGE], str(start + PAGE) if rest else None


def _folded(before: Listed, payload: Mapping[str, object], at_ms: int) -> Listed:
    cwd, title = payload.get("cwd"), payload.get("title")
    return Listed(
        session_id=before.session_id,
        cwd=cwd if isinstance(cwd, str) else before.cwd,
        title=before.title or (title if isinstance(title, str) else None),
        updated_at_ms=at_ms,
    )


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if cursor.isascii() and cursor.isdigit() and len(cursor) < 10:
        return int(cursor)
    raise RpcError(INVALID_PARAMS, f"`cursor` is {shown(cursor)}; send the `nextCursor` of an answer")
