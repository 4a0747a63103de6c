"""What a session writes in its log, told to whoever watches: as it is written, in the order of the records.

The session's journal is overheard, not the log followed: so an update stands where the thing happened,
between the words before it and the words after it. Reminders are remembered while they wait or are pending,
because records carry no body. Called by `session.py`.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from tidings.agent.session import Session
from tidings.bridge.updates import update_of
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.core.reminder import Payload, Reminder, read_payload
from tidings.log.entry import Draft, Written
from tidings.log.pack import drafts_of
from tidings.log.port import EventLog
from tidings.shell.journal import CallSoon, Journal

REMEMBERED = 20_000
"""How many waiting and pending reminders are remembered; beyond it the oldest is told without its body."""

_PREFIX = "transcript.reminder."
_LEFT = {"expired": ("reminder_id",), "dropped": ("reminder_id",), "revoked": ("reminder_id",)}

_logger = logging.getLogger(__name__)

Hear: TypeAlias = Callable[[list[Draft]], None]


class Watcher(Protocol):
    """Who is told."""

    def reminder(self, update: Payload) -> None:
        """One of the three updates of a reminder's life."""
        ...

    def message(self, message: Mapping[str, object]) -> None:
        """A message was added to the conversation."""
        ...


class Overheard(Journal):
    """A journal that passes on what is written, after the log has it (or has refused it for now)."""

    def __init__(self, log: EventLog, hear: Hear) -> None:
        super().__init__(log)
        self._hear = hear

    def write(self, written: Written) -> None:
        """Write, then let it be heard."""
        super().write(written)
        self._hear(drafts_of(written))

    def write_soon(self, written: Written, call_soon: CallSoon) -> None:  # noqa: ARG002 nothing is put off
        """Write at once: what is heard later would stand behind the words that come after it."""
        self.write(written)


class Observer:
    """Turns the entries of one session into updates, in the event loop that it was made in."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._known: dict[str, Reminder] = {}

    def attach(self, session: Session, log: EventLog) -> None:
        """Overhear `session`; what waits or is pending in it is known from the start."""
        items = session.stored.mailbox.items
        for reminder in (*session.transcript.pending, *(item.what for item in items)):
            if isinstance(reminder, Reminder):
                self._learn(reminder)
        session.journal = Overheard(log, self.hear)

    def hear(self, entries: list[Draft]) -> None:
        """Take in what was written, from any thread."""
        if threading.get_ident() == self._home:
            self._tell(entries)
            return
        try:
            self._loop.call_soon_threadsafe(self._tell, entries)
        except RuntimeError:
            _logger.info("%d records came after the event loop had closed", len(entries))

    def _tell(self, entries: list[Draft]) -> None:
        for entry in entries:
            try:
                self._take(*entry)
            except Exception:
                _logger.exception("an observer failed on %s", entry[1])

    def _take(self, topic: str, kind: str, payload: Mapping[str, object]) -> None:
        if topic == LIFECYCLE_TOPIC:
            self._lived(kind, payload)
        elif kind == "transcript.injected":
            self._read(_inside(payload, "event"))
        elif kind == "mailbox.queued":
            self._read(_inside(payload, "item"))
        elif kind == "transcript.message":
            self._watcher.message(_inside(payload, "message"))

    def _lived(self, kind: str, payload: Mapping[str, object]) -> None:
        update = update_of(kind, payload, self._known.get)
        if update is not None:
            self._watcher.reminder(update)
        for gone in _gone(kind.removeprefix(_PREFIX), payload):
            self._known.pop(str(gone), None)

    def _read(self, holder: Mapping[str, object]) -> None:
        reminder = read_payload(holder.get("reminder"))
        if reminder is not None:
            self._learn(reminder)

    def _learn(self, reminder: Reminder) -> None:
        self._known[reminder.id] = reminder
        if len(self._known) > REMEMBERED:
            self._known.pop(next(iter(self._known)))


def _gone(name: str, payload: Mapping[str, object]) -> Iterable[object]:
    if name == "deduped":
        ids = payload.get("replaced_ids")
        return ids if isinstance(ids, (list, tuple)) else ()
    return tuple(payload.get(field) for field in _LEFT.get(name, ()))


def _inside(payload: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}
