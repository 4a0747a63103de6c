"""The ledger: which server was sent what, when, and by which consent. Words of the user are not in it.

Entries are records of an event log on a topic of their own, by default in a private file beside the
consents, so that the hash chain, `tidings log` and the panel work on them. An entry is written before
anything is sent: it may name what was then not sent, never the other way round.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from tidings.core.reminder import Payload
from tidings.errors import LogUnavailableError
from tidings.log.port import EventLog
from tidings.log.record import LogRecord
from tidings.log.search import kept
from tidings.log.sqlite import SqliteLog
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.store import config_folder, make_private_folder

TOPIC = "conversation.ledger"
SENT = "conversation.sent"
GRANTED = "conversation.granted"
REVOKED = "conversation.revoked"
NAME = "ledger.db"


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a server is sent: `bytes` and `sha256` are of its params as canonical JSON."""

    server: str
    target: str
    event: str
    form: str
    scopes: tuple[str, ...]
    project: str
    session_id: str
    conversation_id: str
    message_id: str
    history: int
    bytes: int
    sha256: str

    def payload(self) -> Payload:
        """The record's payload."""
        read: Payload = msgspec.to_builtins(self)
        return read


def measure(params: Payload) -> tuple[int, str]:
    """How many bytes `params` are as canonical JSON (sorted keys, no blanks), and their digest."""
    data = msgspec.json.encode(params, order="sorted")
    return len(data), sha256(data).hexdigest()


def write(log: EventLog, entries: Sequence[Sent]) -> None:
    """Write all entries in one commit.

    Raises:
        LogError: the ledger cannot be written; nothing was.
    """
    log.append_batch([(TOPIC, SENT, entry.payload()) for entry in entries])


def note_consent(log: EventLog, kind: str, grants: Sequence[Grant]) -> None:
    """Write that consent was granted or revoked.

    Raises:
        LogError: the ledger cannot be written.
    """
    log.append_batch([(TOPIC, kind, msgspec.to_builtins(grant)) for grant in grants])


def entries(log: EventLog) -> Iterator[LogRecord]:
    """All entries that are kept, oldest first."""
    return kept(log, TOPIC)


def last_used(log: EventLog) -> dict[tuple[str, str], int]:
    """When each server (name and what it is) was last sent something, in milliseconds since 1970."""
    used: dict[tuple[str, str], int] = {}
    for record in log.read(TOPIC, log.purged_through(TOPIC), SENT):
        used[str(record.payload.get("server")), str(record.payload.get("target"))] = record.occurred_at_ms
    return used


def ledger_path() -> Path:
    """Where the user's ledger is."""
    return config_folder() / NAME


def open_ledger(path: Path | None = None, *, busy_seconds: float = 5.0) -> EventLog:
    """The ledger in a private file, made if need be.

    Raises:
        LogError: it cannot be opened.
    """
    place = ledger_path() if path is None else path
    try:
        make_private_folder(place.parent)
        os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LogUnavailableError(f"the ledger {str(place)!r} cannot be made: {error.strerror}") from error
    return SqliteLog(place, busy_seconds=busy_seconds)
