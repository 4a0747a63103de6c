"""What one server pushes, let into a session: bounded, newest per key, and without holding anybody up.

`hear` is called where messages are read; it only queues. One task takes them off: budget, advertisement,
gate, trust, mailbox. Whatever is not let in is counted in the tally and written as a record. Knows no wire.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

import msgspec

from tidings.agent.session import Session
from tidings.core.mailbox import MailboxFullError
from tidings.core.producers import build
from tidings.core.records import Record, warning
from tidings.core.reminder import Payload, Reminder
from tidings.core.table import slot_of
from tidings.errors import CallerError, DuplicateReminderError
from tidings.mcp.advertisement import Advertised, within
from tidings.mcp.budget import LARGEST_FRAME, Meter
from tidings.mcp.config import Server
from tidings.mcp.host.tally import REASONS, Tally
from tidings.mcp.names import FALLBACK_METHOD, METHOD, PROGRESS
from tidings.mcp.notification import Received, read
from tidings.mcp.queue import Queue
from tidings.mcp.rules import reminder_for
from tidings.shell.ids import new_id

CAPACITY = 256
"""How many pushed messages of one server wait to be looked at."""

LONGEST_ID = 200

_logger = logging.getLogger("tidings.mcp")


class _Pushed(msgspec.Struct, frozen=True):
    """One message that waits: what it says, and how large it was. `ruled` are options that a rule made."""

    method: str
    params: Mapping[str, object]
    size: int
    ruled: Payload | None = None


class Intake:
    """The way of one server's words into a session."""

    def __init__(
        self, server: Server, session: Session, now: Callable[[], float], capacity: int = CAPACITY
    ) -> None:
        self.server = server
        self.session = session
        self.advertised: Advertised | None = None
        self._held = True
        self.tally = Tally(server.name)
        self.accepted = 0
        self._now = now
        self._meter = Meter(server.budget, now())
        self._queue: Queue[_Pushed] = Queue(capacity)
        self._news = asyncio.Event()

    def __len__(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    def open(self, advertised: Advertised | None) -> None:
        """The server is connected and has said what it sends; what came before waits until now."""
        self.advertised = advertised
        self._held = False
        self._news.set()

    def close(self) -> None:
        """The server is gone: look at all that waits, and tell what was dropped."""
        while (pushed := self._queue.pop()) is not None:
            self._take(pushed)
        self.note(*self.tally.tell())
        self.advertised = None
        self._held = True

    def hear(self, method: str, params: Mapping[str, object], size: int) -> None:
        """A notification came: queue it if it is, or means, a reminder."""
        if carries(method, params):
            if self.advertised is None and not self._held:
                self.drop("undeclared", _named(params))
            elif size > LARGEST_FRAME:
                self.drop("too_large")
            else:
                self._push(_Pushed(method, params, size), _key(method, params))
            return
        options = reminder_for(method, params, self.server.name, self.server.rules)
        if options is not None and not _says_nothing(method, params):
            key = options.get("dedupe_key")
            self._push(_Pushed(method, params, size, options), f"rule {key}" if key else None)

    def drop(self, reason: str, reminder_id: str | None = None, **more: object) -> None:
        """Count what is not let in; the first of a spell is written down."""
        told = self.tally.drop(reason, reminder_id, **more)
        if told is not None:
            _logger.warning("MCP server %r: dropped: %s", self.server.name, REASONS[reason])
            self.note(told)

    def note(self, *records: Record) -> None:
        """Write records in the session's log."""
        if records:
            with self.session.step():
                self.session.note(records)

    def warn(self, code: str, message: str, **more: object) -> None:
        """Write down what became of the server itself."""
        _logger.warning("MCP server %r: %s", self.server.name, message)
        self.note(warning(code, f"mcp:{self.server.name}", message, origin=self.server.name, **more))

    async def run(self) -> None:
        """Take off what comes, for as long as the task lives."""
        while True:
            pushed = None if self._held else self._queue.pop()
            if pushed is None:
                self._news.clear()
                await self._news.wait()
                continue
            self._take(pushed)
            await asyncio.sleep(0)  # others in this loop have their turn between two

    def _push(self, pushed: _Pushed, key: str | None) -> None:
        cost = self._queue.push(pushed, key)
        if cost.replaced is not None:
            self.drop("replaced", _named(cost.replaced.params))
        if cost.dropped is not None:
            self.drop("intake_full", _named(cost.dropped.params))
        self._news.set()

    def _take(self, pushed: _Pushed) -> None:
        if self._held or (pushed.ruled is None and self.advertised is None):
            reason = "unconnected" if self._held else "undeclared"
            self.drop(reason, _named(pushed.params))
            return
        if not self._meter.spend(pushed.size, self._now()).fits:
            self.drop("budget", _named(pushed.params))
            return
        try:
            self._let_in(pushed)
        except DuplicateReminderError as error:
            self._refused("duplicate_id", pushed, error)
        except MailboxFullError as error:
            self.drop("mailbox_full", _named(pushed.params), detail=str(error))
        except CallerError as error:
            self._refused("invalid", pushed, error)
        except Exception:
            _logger.exception("MCP server %r: a reminder could not be taken in", self.server.name)
            self._refused("failed", pushed, None)

    def _let_in(self, pushed: _Pushed) -> None:
        received = (
            Received(pushed.ruled) if pushed.ruled is not None else read(pushed.method, pushed.params)
        )
        if received is None:
            return
        asked = {name: value for name, value in received.options.items() if name != "mode"}
        reminder = build("mcp", asked, id=new_id(), origin=self.server.name)
        if self._is_gone(reminder):
            self.drop("repeated", reminder.id)
            return
        lowered: list[Record] = []
        if pushed.ruled is None:
            reminder, lowered = within(reminder, self.advertised or Advertised())
        given = {"id": reminder.id, "propagate": reminder.propagate, "role_hint": reminder.role_hint}
        with self.session.step():
            self.session.remind(
                {**received.options, **given},
                producer="mcp",
                origin=self.server.name,
                grants=self.server.grants,
            )
            noted = (*lowered, *_correlated(received, reminder.id, self.server.name), *self.tally.tell())
            self.session.note(noted)
        self.accepted += 1

    def _is_gone(self, reminder: Reminder) -> bool:
        """Whether this server's reminder of this id was delivered or taken back before."""
        box, name = self.session.stored.mailbox, slot_of(reminder)
        return name in box.delivered or name in box.revoked

    def _refused(self, reason: str, pushed: _Pushed, error: Exception | None) -> None:
        """A reminder within the budget that could not be used; the first of a spell says why."""
        detail = None if error is None else str(error)
        self.drop(reason, _named(pushed.params), detail=detail)


def carries(method: str, params: Mapping[str, object]) -> bool:
    """Whether a notification is a reminder, in today's form or the former."""
    if method == METHOD:
        return True
    meta = params.get("_meta") if method == FALLBACK_METHOD else None
    harn = meta.get("harn") if isinstance(meta, Mapping) else None
    return isinstance(harn, Mapping) and "reminder" in harn


def _says_nothing(method: str, params: Mapping[str, object]) -> bool:
    """Whether progress is over without a word of what it was about."""
    message = params.get("message")
    return method == PROGRESS and not (isinstance(message, str) and message.strip())


def _key(method: str, params: Mapping[str, object]) -> str | None:
    """What coalesces in the queue: the dedupe key, in either spelling."""
    carried = params.get("reminder") if method == METHOD else None
    if not isinstance(carried, Mapping):
        return None
    key = carried.get("dedupeKey", carried.get("dedupe_key"))
    return f"key {key.strip()}" if isinstance(key, str) and key.strip() else None


def _named(params: Mapping[str, object]) -> str | None:
    """The id of a reminder that was not let in, if it has one that can be shown."""
    carried = params.get("reminder")
    name = carried.get("id") if isinstance(carried, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        return None
    return name.strip()[:LONGEST_ID].encode("utf-8", "replace").decode()


def _correlated(received: Received, reminder_id: str, server: str) -> list[Record]:
    """The correlation id that a server put beside its reminder, kept with the reminder's own."""
    if received.correlation is None:
        return []
    return [
        warning(
            "mcp_correlation",
            f"mcp:{server}",
            "the server knows this reminder by an id of its own",
            reminder_id=reminder_id,
            correlation_id=received.correlation,
            origin=server,
        )
    ]
