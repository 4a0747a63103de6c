"""The hub itself, without any wire: sessions register, reminders are accepted, leased and acknowledged.

It decides with `envelope.py`, writes through the store, and wakes the hosts that wait. What it
acknowledges to a caller is safe on disk. Time is handled before every answer and by whoever calls
`sweep`. The HTTP API and the socket call this; a program may too. All calls belong in one event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

import msgspec

from tidings.bridge import params as read
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import RevokeError
from tidings.core.producers import build, shown
from tidings.core.records import Record
from tidings.core.seams import with_mode
from tidings.core.trust import admit
from tidings.errors import DuplicateReminderError
from tidings.hub import envelope as letters
from tidings.hub import rows, shapes
from tidings.hub.address import Registration, checked, reached
from tidings.hub.board import LEFT, REGISTERED
from tidings.hub.envelope import Envelope
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.store import Store
from tidings.shell.ids import new_id, now_ms
from tidings.version import __version__

OPEN_MOST = 10_000
SESSIONS_MOST = 4_096
LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 60.0

_CONTEXT = "hub/remind"


class Hub:
    """Reminders for whoever is there, or comes in time."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], int] = now_ms,
        lease_seconds: float = LEASE_SECONDS,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.store = store
        self.board = store.board
        self.subscribers = 0
        self._clock = clock
        self._lease_ms = int(lease_seconds * 1000)
        self._silence_ms = int(heartbeat_seconds * 1000)
        self._heard: dict[str, int] = dict.fromkeys(self.board.sessions, clock())
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._due = 0

    async def remind(self, params: Mapping[str, object]) -> shapes.Reminded:
        """Accept a reminder for an address; it is on disk when this returns.

        Raises:
            DiagnosticError: HARN-RMD-001, 002 or 005, with every problem.
            CallerError: an address or a time that cannot be used.
            DuplicateReminderError: its id is known with other content or another address.
            HubFullError: too much is on its way.
        """
        letter, cut = self._sealed(params)
        self.sweep()
        known = self.board.find(letter.reminder_id)
        if known is None:
            self._accept(letter, cut)
        elif known.digest != letter.digest:
            raise DuplicateReminderError(letter.reminder_id, ("content or address",))
        await self.store.settle()
        return rows.reminded(self.board.find(letter.reminder_id) or letter)

    def _sealed(self, params: Mapping[str, object]) -> tuple[Envelope, tuple[Record, ...]]:
        """The envelope of a request, and the records of what its sender may not have."""
        beside = {name: value for name, value in params.items() if name in ("to", "deliverWithin")}
        part = rows.read_as(shapes.EnvelopePart, beside)
        given = {name: value for name, value in params.items() if name not in beside}
        options, asked = read.reminder_of(given, _CONTEXT)
        reminder, mode, _ = with_mode(asked, _CONTEXT, lambda: build("bridge", options, id=new_id()))
        admitted = admit(reminder)
        now, to = self._clock(), checked(rows.resolved_address(part.to))
        kept = rows.options_of(admitted.reminder)
        letter = Envelope(
            reminder_id=reminder.id,
            reminder=kept,
            mode=mode,
            to=to,
            digest=sha256(msgspec.json.encode([kept, mode, to], order="deterministic")).hexdigest(),
            deliver_until_ms=now + int(part.deliver_within * 1000),
            accepted_at_ms=now,
        )
        return letter, admitted.records

    def _accept(self, letter: Envelope, cut: Sequence[Record]) -> None:
        if len(self.board.open) >= OPEN_MOST:
            raise HubFullError(f"{OPEN_MOST} reminders are on their way; send again when some have arrived")
        told = letters.accepted(letter, reached(letter.to, self.board.sessions.values()))
        self._write([*told, *cut])
        self._ring(self.board.open[letter.reminder_id].deliveries)

    def pending(self, asked: shapes.Pending) -> shapes.PendingAnswer:
        """What is on its way, for one session or at all."""
        self.sweep()
        everybody = asked.session_id is None
        chosen = list(self.board.open.values() if everybody else self.board.box(asked.session_id or ""))
        listed = [rows.row(letter) for letter in chosen[: asked.limit]]
        return shapes.PendingAnswer(pending_count=len(chosen), reminders=listed)

    async def revoke(self, asked: shapes.Revoke) -> shapes.RevokeAnswer:
        """Take a reminder back from everybody whose host has not got it.

        Raises:
            RevokeError: already_delivered, expired or unknown_reminder_id.
        """
        self.sweep()
        found = self.board.find(asked.reminder_id)
        if found is None:
            raise RevokeError(asked.reminder_id, "unknown_reminder_id")
        told = letters.revoked(found)
        self._write(told)
        await self.store.settle()
        return shapes.RevokeAnswer(
            status="revoked" if told else "already_revoked", reminder_id=asked.reminder_id
        )

    async def clear(self, asked: shapes.Clear) -> shapes.ClearAnswer:
        """Take back everything on its way that matches.

        Raises:
            DiagnosticError: HARN-RMD-001 when nothing is given.
        """
        chosen = Selector.of(msgspec.structs.asdict(asked))
        self.sweep()
        found = [one for one in self.board.open.values() if chosen.matches(rows.reminder_of(one))]
        told = [record for one in found for record in rows.revocation(one)]
        self._write(told)
        await self.store.settle()
        return shapes.ClearAnswer(removed_count=len(told))

    async def register(self, asked: shapes.Register) -> shapes.RegisterAnswer:
        """Make a session reachable, and give it what already waits for such a one.

        Who registers again has a new host, or one that missed an answer: what was leased waits again.

        Raises:
            HubFullError: too many sessions are registered.
        """
        self.sweep()
        if len(self.board.sessions) >= SESSIONS_MOST and asked.session_id not in self.board.sessions:
            raise HubFullError(f"{SESSIONS_MOST} sessions are registered; unregister some")
        session = rows.registration(asked)
        told = [Record(REGISTERED, msgspec.to_builtins(session))]
        for letter in self.board.box(session.session_id):
            told += letters.returned(letter, session.session_id, "registered_again")
        for letter in self.board.open.values():
            if letter.to.reaches(session):
                told += letters.addressed(letter, [session.session_id])
        self._write(told)
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
        self._present(asked.session_id)
        return shapes.Known(session_id=asked.session_id, waiting=self._waits(asked.session_id))

    async def unregister(self, asked: shapes.Who) -> shapes.Known:
        """Forget a session; what its host leased and did not acknowledge waits again.

        Raises:
            UnknownSessionError: it is not registered.
        """
        self.sweep()
        self._present(asked.session_id)
        self._leave(asked.session_id, "unregistered")
        await self.store.settle()
        return shapes.Known(session_id=asked.session_id, waiting=self._waits(asked.session_id))

    def sessions(self) -> shapes.SessionsAnswer:
        """The registered sessions."""
        self.sweep()
        return shapes.SessionsAnswer(sessions=[self._seen(one) for one in self.board.sessions.values()])

    async def lease(self, asked: shapes.Lease) -> shapes.LeaseAnswer:
        """Give a host what waits for its session; with `wait_seconds`, as soon as there is something.

        Raises:
            UnknownSessionError: it is not registered.
        """
        self.sweep()
        self._present(asked.session_id)
        given = self._leased(asked)
        if not given and asked.wait_seconds and await self._woken(asked):
            self.sweep()
            self._present(asked.session_id)
            given = self._leased(asked)
        return shapes.LeaseAnswer(reminders=given)

    def _leased(self, asked: shapes.Lease) -> list[shapes.LeasedRow]:
        until = self._clock() + self._lease_ms
        told: list[Record] = []
        for letter in self.board.box(asked.session_id):
            if len(told) < asked.limit:
                told += letters.leased(letter, asked.session_id, until)
        chosen = [self.board.open[str(each.payload["reminder_id"])] for each in told]
        self._write(told)
        return [rows.leased_row(letter, until) for letter in chosen]

    async def _woken(self, asked: shapes.Lease) -> bool:
        """Whether something came in time, for a host that is still the session's."""
        bell = asyncio.Event()
        bells = self._waiting.setdefault(asked.session_id, set())
        bells.add(bell)
        try:
            async with asyncio.timeout(asked.wait_seconds):
                await bell.wait()
        except TimeoutError:
            return False
        finally:
            bells.discard(bell)
            current = self._waiting.get(asked.session_id) is bells
            if current and not bells:
                del self._waiting[asked.session_id]
        return current

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
        self._write(told)
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
        self._write(told)
        for name in [name for name, at in self._heard.items() if now - at >= self._silence_ms]:
            self._leave(name, "silent")
        self._due = self._next_due(now)
        self._ring(str(each.payload["session_id"]) for each in told if each.kind == letters.RETURNED)

    def _next_due(self, now: int) -> int:
        dues = [due for one in self.board.open.values() if (due := letters.due_ms(one)) is not None]
        dues += [at + self._silence_ms for at in self._heard.values()]
        return min(dues, default=now + self._silence_ms)

    def _write(self, records: list[Record]) -> None:
        self.store.commit(records)
        for each in records:
            found = self.board.open.get(str(each.payload.get("reminder_id")))
            due = None if found is None else letters.due_ms(found)
            if due is not None:
                self._due = min(self._due, due)

    def _leave(self, session_id: str, reason: str) -> None:
        told = [Record(LEFT, {"session_id": session_id, "reason": reason})]
        for letter in self.board.box(session_id):
            told += letters.returned(letter, session_id, "session_left")
        self._write(told)
        self._heard.pop(session_id, None)
        self._dismiss(session_id)

    def _present(self, session_id: str) -> None:
        if session_id not in self.board.sessions:
            raise UnknownSessionError(session_id)
        self._hear(session_id)

    def _hear(self, session_id: str) -> None:
        self._heard[session_id] = self._clock()
        self._due = min(self._due, self._heard[session_id] + self._silence_ms)

    def _ring(self, session_ids: Iterable[str]) -> None:
        for name in session_ids:
            for bell in self._waiting.get(name, ()):
                bell.set()

    def _waits(self, session_id: str) -> int:
        return sum(one.deliveries[session_id].state == "waiting" for one in self.board.box(session_id))

    def _seen(self, session: Registration) -> shapes.SessionRow:
        silent = self._clock() - self._heard.get(session.session_id, self._clock())
        return shapes.SessionRow(
            session_id=session.session_id,
            agent=session.agent,
            workspace=session.workspace,
            tags=list(session.tags),
            capabilities=session.capabilities,
            waiting=self._waits(session.session_id),
            silent_seconds=silent / 1000,
        )
