"""The user's consents at the hub: which conversation servers may see what, and what each was sent.

The same files as `tidings consent` works on, so that a change here counts at once in every agent that runs.
They are read and changed beside the event loop, because a file may be locked for a moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path

from tidings.bridge.shapes import Wire
from tidings.hub.failure import NotThereError
from tidings.hub.shapes import Asked, Listed, Name
from tidings.log import LogRecord
from tidings.mcp.conversation import ledger as ledgers
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.names import Scope
from tidings.mcp.conversation.store import NAME, ConsentStore


class GrantRow(Wire, frozen=True, kw_only=True):
    """A conversation server and what the user lets it see; `project` null: everywhere, no scopes: off."""

    server: str
    what: str
    scopes: list[Scope]
    project: str | None
    priority: int
    granted_ms: int
    last_used_ms: int | None


class GrantsAnswer(Wire, frozen=True, kw_only=True):
    """Who may see what of the user's conversations."""

    grants: list[GrantRow]


class RevokeGrant(Asked, frozen=True, kw_only=True):
    """Lets a server see nothing any more, or with `scope` one thing less, everywhere."""

    server: Name
    scope: Scope | None = None


class Ledger(Asked, frozen=True, kw_only=True):
    """Asks what servers were sent: one or all, the last so many entries."""

    server: Name | None = None
    limit: Listed = 100


class LedgerRow(Wire, frozen=True, kw_only=True):
    """An entry of the ledger: something was sent, granted or revoked. The user's words are not in it."""

    cursor: int
    kind: str
    at_ms: int
    server: str
    payload: dict[str, object]


class LedgerAnswer(Wire, frozen=True, kw_only=True):
    """Entries, oldest first."""

    entries: list[LedgerRow]


class Consents:
    """The consents in a folder; that of the user's settings unless given."""

    def __init__(self, folder: Path | None = None) -> None:
        self._store = ConsentStore(None if folder is None else folder / NAME)
        self._path = self._store.path.with_name(ledgers.NAME)

    async def grants(self) -> GrantsAnswer:
        """Who may see what.

        Raises:
            ConsentError: the file is not private, or cannot be read.
        """
        return await asyncio.to_thread(self._grants)

    async def revoke(self, asked: RevokeGrant) -> GrantsAnswer:
        """Let a server see nothing any more, or one thing less; gives what is left of all.

        Raises:
            NotThereError: it has no such consent.
            ConsentError: the file cannot be changed.
            LogError: the ledger cannot be written; the consent is gone.
        """
        return await asyncio.to_thread(self._revoke, asked)

    async def ledger(self, asked: Ledger) -> LedgerAnswer:
        """What the servers were sent, the last entries.

        Raises:
            LogError: the ledger cannot be read.
        """
        return await asyncio.to_thread(self._ledger, asked)

    def _grants(self) -> GrantsAnswer:
        found, used = self._store.read().grants, self._used()
        return GrantsAnswer(grants=[_row(one, used.get((one.server, one.target))) for one in found])

    def _revoke(self, asked: RevokeGrant) -> GrantsAnswer:
        if asked.scope is None:
            gone = self._store.revoke(asked.server)
        else:
            gone = self._store.narrow(asked.server, asked.scope)
        if not gone:
            scope = "" if asked.scope is None else f" of scope {asked.scope!r}"
            raise NotThereError(f"{asked.server!r} has no consent{scope} that could be taken back")
        with ledgers.open_ledger(self._path) as log:
            ledgers.note_consent(log, ledgers.REVOKED, gone)
        return self._grants()

    def _used(self) -> dict[tuple[str, str], int]:
        if not self._path.exists():
            return {}
        with ledgers.open_ledger(self._path) as log:
            return ledgers.last_used(log)

    def _ledger(self, asked: Ledger) -> LedgerAnswer:
        if not self._path.exists():
            return LedgerAnswer(entries=[])
        with ledgers.open_ledger(self._path) as log:
            fitting = (one for one in ledgers.entries(log) if _is_about(one, asked.server))
            last = deque(fitting, maxlen=asked.limit)
        return LedgerAnswer(entries=[_entry(one) for one in last])


def _row(grant: Grant, last: int | None) -> GrantRow:
    return GrantRow(
        server=grant.server,
        what=grant.what,
        scopes=list(grant.scopes),
        project=grant.project,
        priority=grant.priority,
        granted_ms=grant.granted_at_ms,
        last_used_ms=last,
    )


def _is_about(record: LogRecord, server: str | None) -> bool:
    return server is None or record.payload.get("server") == server


def _entry(record: LogRecord) -> LedgerRow:
    return LedgerRow(
        cursor=record.cursor,
        kind=record.kind,
        at_ms=record.occurred_at_ms,
        server=str(record.payload.get("server")),
        payload=record.payload,
    )
