"""The hub itself, without any wire: sessions register, reminders are accepted, leased and acknowledged.

It decides with `envelope.py`, writes through the store, and wakes the hosts that wait. What it
acknowledges to a caller is safe on disk. Time is handled before every answer and by whoever calls
`sweep`. The HTTP API and the socket call this; a program may too. All calls belong in one event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from tidings.core.producers import shown
from tidings.core.records import Record
from tidings.errors import DuplicateReminderError
from tidings.hub import envelope as letters
from tidings.hub import rows, shapes
from tidings.hub.address import Registration, reached
from tidings.hub.board import LEFT, REGISTERED
from tidings.hub.consents import Consents
from tidings.hub.envelope import Envelope
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.hosting.drain import Hosting
from tidings.hub.policy import Policy
from tidings.hub.retention import Retention
from tidings.hub.sealing import sealed
from tidings.hub.store import Store
from tidings.hub.told import Told, told_topic
from tidings.hub.withdrawal import ASKED, opened
from tidings.hub.withdrawing import Withdrawing
from tidings.shell.ids import now_ms
from tidings.version import __version__

if TYPE_CHECKING:
    from tidings.hub.workspace.attaching import Workspaces

OPEN_MOST = 10_000
SESSIONS_MOST = 4_096
LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 60.0


class Hub:
    """Reminders for whoever is there, or comes in time."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], int] = now_ms,
        lease_seconds: float = LEASE_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        consents: Consents | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.store = store
        self.consents = consents or Consents()
        self.board = store.board
        self.told = Told(store.log)
        self.retention = Retention(store, self.told, self._told_live, clock, policy or Policy())
        self.workspaces: Workspaces | None = None
        self.subscribers = 0
        self._clock = clock
        self._lease_ms = int(lease_seconds * 1000)
        self._silence_ms = int(heartbeat_seconds * 1000)
        self._heard: dict[str, int] = dict.fromkeys(self.board.sessions, clock())
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._due = 0
        self.hosting = Hosting(self)
        self.withdrawing = Withdrawing(self)

    def now_ms(self) -> int:
        """The time by the hub's clock."""
        return self._clock()

    async def remind(
        self,
        params: Mapping[str, object],
        *,
        origin: str | None = None,
        grants: frozenset[str] = frozenset(),
    ) -> shapes.Reminded:
        """Accept a reminder for an address; it is on disk when this returns.

        `origin` names the part of the hub that it comes from and makes it external; `grants` are the
        user's for that origin.

        Raises:
            DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
            CallerError: an address or a time that cannot be used.
            DuplicateReminderError: its id is known with other content or another address.
            HubFullError: too much is on its way.
        """
        letter, cut = sealed(params, self._clock(), origin, grants)
        self.sweep()
        known = self.board.find(letter.reminder_id)
        if known is None:
            self._accept(letter, cut)
        elif known.digest != letter.digest:
            raise DuplicateReminderError(letter.reminder_id, ("content or address",))
        await self.store.settle()
        return rows.reminded(self.board.find(letter.reminder_id) or letter)

    def _accept(self, letter: Envelope, cut: Sequence[Record]) -> None:
        if len(self.board.open) >= OPEN_MOST:
            raise HubFullError(f"{OPEN_MOST} reminders are on their way; send again when some have arrived")
        told = letters.accepted(letter, reached(letter.to, self.board.sessions.values()))
        self.write([*told, *cut])
        self.ring(self.board.open[letter.reminder_id].deliveries)

    def pending(self, asked: shapes.Pending) -> shapes.PendingAnswer:
        """What is on its way, for one session or at all."""
        self.sweep()
        everybody = asked.session_id is None
        chosen = list(self.board.open.values() if everybody else self.board.box(asked.session_id or ""))
        listed = [rows.row(letter) for letter in chosen[: asked.limit]]
        return shapes.PendingAnswer(pending_count=len(chosen), reminders=listed)

    async def revoke(self, asked: shapes.Revoke) -> shapes.RevokeAnswer:
        """Take a reminder back from everybody whose seams have not let it in.

        Raises:
            RevokeError: already_delivered, expired or unknown_reminder_id.
            UnknownSessionError: nobody knows the session.
        """
        return await self.withdrawing.revoke(asked)

    async def clear(self, asked: shapes.Clear) -> shapes.ClearAnswer:
        """Take back everything that matches, on its way and in the sessions.

        Raises:
            DiagnosticError: HARN-RMD-001 when nothing is given.
            UnknownSessionError: nobody knows the session.
        """
        return await self.withdrawing.clear(asked)

    async def register(self, asked: shapes.Register) -> shapes.RegisterAnswer:
        """Make a session reachable, and give it what already waits for such a one.

        Who registers again has a new host, or one that missed an answer: what was leased waits again.

        Raises:
            HubFullError: too many sessions are registered.
        """
        self.sweep()
        if len(self.board.sessions) >= SESSIONS_MOST and asked.session_id not in self.board.sessions:
            raise HubFullError(f"{SESSIONS_MOST} sessions are registered; unregister some")
        known = self.board.session(asked.session_id)
        session = rows.registration(asked, self._clock() if known is None else known.started_ms)
        told = [Record(REGISTERED, msgspec.to_builtins(session))]
        for letter in self.board.box(session.session_id):
            told += letters.returned(letter, session.session_id, "registered_again")
        for letter in self.board.open.values():
            if letter.to.reaches(session):
                told += letters.addressed(letter, [session.session_id])
        told += self.withdrawing.host_changed(session.session_id, session.takes_back)
        self.write(told)
        self._dismiss(session.session_id)
        self._hear(session.session_id)
        await self.store.settle()
        return shapes.RegisterAnswer(
            session_id=session.session_id,
            heartbeat_seconds=self._silence_ms / 1000,
            waiting=self._waits(session.session_id),
        )

    def heartbeat(self, asked: shapes.Who) -> shapes.Known:
        """Say that a session is still there.

        Raises:
            UnknownSessionError: it is not registered, or was forgotten; register it again.
        """
        self.sweep()
        self.present(asked.session_id)
        return shapes.Known(session_id=asked.session_id, waiting=self._waits(asked.session_id))

    async def unregister(self, asked: shapes.Who) -> shapes.Known:
        """Forget a session; what its host leased and did not acknowledge waits again.

        Raises:
            UnknownSessionError: it is not registered.
        """
        self.sweep()
        self.present(asked.session_id)
        self._leave(asked.session_id, "unregistered")
        await self.store.settle()
        return shapes.Known(session_id=asked.session_id, waiting=self._waits(asked.session_id))

    def sessions(self, asked: shapes.Sessions) -> shapes.SessionsAnswer:
        """List the sessions."""
        self.sweep()
        gone = reversed(self.board.ended.values()) if asked.ended else ()
        return shapes.SessionsAnswer(
            sessions=[self._seen(one) for one in (*self.board.sessions.values(), *gone)]
        )

    async def lease(self, asked: shapes.Lease) -> shapes.LeaseAnswer:
        """Give a host what waits for its session; with `wait_seconds`, as soon as there is something.

        Raises:
            UnknownSessionError: it is not registered.
        """
        self.sweep()
        self.present(asked.session_id)
        given = self._leased(asked)
        if given is None and asked.wait_seconds and await self._woken(asked):
            self.sweep()
            self.present(asked.session_id)
            given = self._leased(asked)
        return given or shapes.LeaseAnswer(reminders=[])

    def _leased(self, asked: shapes.Lease) -> shapes.LeaseAnswer | None:
        """What there is for a host now."""
        reminders, wanted = self._taken(asked), self.withdrawing.give(asked.session_id)
        if not reminders and not wanted:
            return None
        return shapes.LeaseAnswer(reminders=reminders, withdrawals=wanted)

    def _taken(self, asked: shapes.Lease) -> list[shapes.LeasedRow]:
        until = self._clock() + self._lease_ms
        told: list[Record] = []
        for letter in self.board.box(asked.session_id):
            if len(told) < asked.limit:
                told += letters.leased(letter, asked.session_id, until)
        chosen = [self.board.open[str(each.payload["reminder_id"])] for each in told]
        self.write(told)
        return [rows.leased_row(letter, until) for letter in chosen]

    async def _woken(self, asked: shapes.Lease) -> bool:
        """Whether something came in time, for a host that is still the session's."""
        with self.bell(asked.session_id) as bell:
            try:
                async with asyncio.timeout(asked.wait_seconds):
                    await bell.wait()
            except TimeoutError:
                return False
            return bell in self._waiting.get(asked.session_id, ())

    @contextmanager
    def bell(self, session_id: str) -> Iterator[asyncio.Event]:
        """An event for the block: set when something comes for a session, or when its host is dismissed.

        A session that somebody waits for counts as heard of.
        """
        bell = asyncio.Event()
        bells = self._waiting.setdefault(session_id, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if self._waiting.get(session_id) is bells and not bells:
                del self._waiting[session_id]

    def _dismiss(self, session_id: str) -> None:
        """Answer the hosts that wait with nothing: they are gone, or will ask again."""
        for bell in self._waiting.pop(session_id, ()):
            bell.set()

    async def acknowledge(self, asked: shapes.Acknowledge) -> shapes.AcknowledgeAnswer:
        """Hear from a host that reminders are in its session's mailbox; all of them, or none.

        Raises:
            Unaddressed: one of them was never given to this session.
        """
        self.sweep()
        told: list[Record] = []
        for name in dict.fromkeys(asked.reminder_ids):
            found = self.board.find(name)
            if found is None:
                raise letters.Unaddressed(
                    f"reminder {shown(name)} is not known; acknowledge what was leased"
                )
            told += letters.acknowledged(found, asked.session_id)
        self.write(told)
        if asked.session_id in self.board.sessions:
            self._hear(asked.session_id)
        await self.store.settle()
        return shapes.AcknowledgeAnswer(acknowledged=len(told))

    def status(self) -> shapes.StatusAnswer:
        """The hub at a glance."""
        self.sweep()
        return shapes.StatusAnswer(
            version=__version__,
            pid=os.getpid(),
            sessions=len(self.board.sessions),
            reminders={str(state): count for state, count in self.board.counts().items()},
            cursor=self.store.cursor,
            subscribers=self.subscribers,
        )

    def sweep(self) -> None:
        """Let time pass: leases run out, reminders expire, silent sessions are forgotten."""
        now = self._clock()
        if now < self._due:
            return
        self._heard |= {name: now for name in self._waiting if name in self._heard}
        told = [record for one in self.board.open.values() for record in letters.overdue(one, now)]
        self.write([*told, *self.withdrawing.overdue(now)])
        for name in [name for name, at in self._heard.items() if now - at >= self._patience(name)]:
            self._leave(name, "silent")
        self._due = self._next_due(now)
        self.ring(str(each.payload["session_id"]) for each in told if each.kind == letters.RETURNED)

    def _next_due(self, now: int) -> int:
        dues = [due for one in self.board.open.values() if (due := letters.due_ms(one)) is not None]
        dues += self.withdrawing.dues()
        dues += [at + self._patience(name) for name, at in self._heard.items()]
        return min(dues, default=now + self._silence_ms)

    def write(self, records: list[Record]) -> None:
        """Write records, take them in, and see when time next does something.

        Raises:
            LogUnavailableError: nothing was written, and nothing has changed.
        """
        self.store.commit(records)
        self.withdrawing.heard(records)
        dues = [due for each in records if (due := self._due_of(each)) is not None]
        self._due = min([self._due, *dues])

    def _due_of(self, record: Record) -> int | None:
        if record.kind == ASKED:
            return opened(record.payload).until_ms
        found = self.board.open.get(str(record.payload.get("reminder_id")))
        return None if found is None else letters.due_ms(found)

    def _leave(self, session_id: str, reason: str) -> None:
        told = [Record(LEFT, {"session_id": session_id, "reason": reason, "at_ms": self._clock()})]
        for letter in self.board.box(session_id):
            told += letters.returned(letter, session_id, "session_left")
        told += self.withdrawing.lapse(session_id, "session_left")
        self.write(told)
        self._heard.pop(session_id, None)
        self.told.forget(told_topic(session_id))
        self._dismiss(session_id)

    def _told_live(self) -> set[str]:
        """The topics of the sessions that are there."""
        return {told_topic(name) for name in self.board.sessions}

    def knows(self, session_id: str) -> bool:
        """Whether a session is there, was, or told something."""
        return self.board.session(session_id) is not None or self.told.count(session_id) > 0

    def present(self, session_id: str) -> None:
        """Hear of a registered session.

        Raises:
            UnknownSessionError: it is not registered.
        """
        if session_id not in self.board.sessions:
            raise UnknownSessionError(session_id)
        self._hear(session_id)

    def _hear(self, session_id: str) -> None:
        self._heard[session_id] = self._clock()
        self._due = min(self._due, self._heard[session_id] + self._patience(session_id))

    def _patience(self, session_id: str) -> int:
        """How long a session may be silent."""
        session = self.board.sessions.get(session_id)
        return (session and session.patience_ms) or self._silence_ms

    def ring(self, session_ids: Iterable[str]) -> None:
        """Wake the hosts of these sessions that wait."""
        for name in session_ids:
            for bell in self._waiting.get(name, ()):
                bell.set()

    def _waits(self, session_id: str) -> int:
        return sum(one.deliveries[session_id].state == "waiting" for one in self.board.box(session_id))

    def _seen(self, session: Registration) -> shapes.SessionRow:
        name, now = session.session_id, self._clock()
        silent = now - (self._heard.get(name, now) if session.ended_ms is None else session.ended_ms)
        return rows.session_row(session, self._waits(name), silent, self.told.count(name))
