"""Taking reminders back: first what the hub holds, then what sessions have, which are asked for it.

A session whose host can do it gets the question with its next lease and answers with what it did; a revoke
and a seam of that session have one winner, and the sender learns which. What a coding agent was shown is
the hub's own knowledge and let go of here. Questions are records of the hub's log, bounded for each session
and in time. `Hub` calls this; all calls belong in its event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec

from tidings.bridge.shapes import Wire
from tidings.core.lifecycle import Selector
from tidings.core.mailbox import RevokeError
from tidings.core.producers import shown
from tidings.core.records import Record
from tidings.hub import envelope as letters
from tidings.hub import rows, shapes, withdrawal
from tidings.hub.envelope import Envelope
from tidings.hub.failure import HubFullError, NotThereError, UnknownSessionError
from tidings.hub.takeback import at_hub, holders, status_of
from tidings.hub.withdrawal import Lapse, Result, Withdrawal, WithdrawalRow
from tidings.shell.ids import new_id

if TYPE_CHECKING:
    from tidings.hub.service import Hub

OPEN_MOST = 100
"""How many questions a session may leave open; then it is asked no more until it answers or they lapse."""
LAPSE_MS = 60_000
AGAIN_MS = 10_000
"""When a question is given again to a host that did not answer it."""

Plan: TypeAlias = dict[str, Withdrawal | shapes.Reached]
"""By session: the question that it is asked, or what is known without asking."""


class Answer(shapes.Asked, frozen=True, kw_only=True):
    """Says what a session did about a withdrawal; the same again does no harm."""

    session_id: shapes.Name
    withdrawal_id: shapes.Name
    result: Result
    removed_count: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0


class Answered(Wire, frozen=True, kw_only=True):
    """Whether this was news: not when it had been answered before."""

    answered: bool


async def answer(hub: Hub, asked: Answer) -> Answered:
    """Hear from a host what its session took back."""
    return await hub.withdrawing.answer(asked)


class Withdrawing:
    """What sessions are asked to take back, for a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._given: dict[str, int] = {}
        self._news = asyncio.Event()

    async def revoke(self, asked: shapes.Revoke) -> shapes.RevokeAnswer:
        """Take a reminder back before a seam lets it in, from everybody or from one session.

        Raises:
            RevokeError: already_delivered, expired or unknown_reminder_id.
            UnknownSessionError: nobody knows the session.
            HubFullError: who has it leaves too many questions open.
        """
        self._hub.sweep()
        found, who = self._hub.board.find(asked.reminder_id), asked.session_id
        if found is None and who is None:
            raise RevokeError(asked.reminder_id, "unknown_reminder_id")
        self._known(who)
        plan = self._plan(holders(found, who, self._able()), revoke=asked.reminder_id)
        held = at_hub(found, who, _asked(plan))
        await self._carry_out(held.records, plan, asked.wait_seconds)
        reached = [self._reached(name, one, asked.reminder_id) for name, one in plan.items()]
        beside = sum(name not in plan for name in held.waited)
        return shapes.RevokeAnswer(
            status=status_of(asked, held, reached),
            reminder_id=asked.reminder_id,
            removed_count=beside + sum(one.removed_count for one in reached),
            sessions=reached,
        )

    async def clear(self, asked: shapes.Clear) -> shapes.ClearAnswer:
        """Take back everything that matches, of everybody or of one session.

        Raises:
            DiagnosticError: HARN-RMD-001 when nothing is given.
            UnknownSessionError: nobody knows the session.
            HubFullError: who has it leaves too many questions open.
        """
        chosen = Selector.of({"id": asked.id, "tag": asked.tag, "dedupe_key": asked.dedupe_key})
        self._hub.sweep()
        who = asked.session_id
        self._known(who)
        plan = self._plan(self._clearable(chosen, who), clear=chosen)
        held = [at_hub(one, who, _asked(plan)) for one in self._matching(chosen, who)]
        await self._carry_out([each for one in held for each in one.records], plan, asked.wait_seconds)
        reached = [self._reached(name, one) for name, one in plan.items()]
        taken = sum(one.refusal is None and bool(one.records) for one in held)
        return shapes.ClearAnswer(
            removed_count=taken + sum(one.removed_count for one in reached), sessions=reached
        )

    async def answer(self, asked: Answer) -> Answered:
        """Hear what a session did.

        Raises:
            NotThereError: it was not asked this, or too long ago.
            CallerError: a result that the question cannot have.
        """
        self._hub.sweep()
        found = self._hub.board.withdrawal(asked.session_id, asked.withdrawal_id)
        if found is None:
            raise NotThereError(
                f"session {shown(asked.session_id)} was not asked {shown(asked.withdrawal_id)}; "
                "answer what a lease of this session held"
            )
        told = withdrawal.answered(found, asked.result, asked.removed_count)
        if told and asked.result == "unknown_reminder_id":
            told += self._never_came(found)
        self._hub.write(told)
        await self._hub.store.settle()
        return Answered(answered=bool(told))

    def _never_came(self, asked: Withdrawal) -> list[Record]:
        """What a host has leased and its session does not know is not given again: the lease is over."""
        found = self._hub.board.open.get(asked.revoke or "")
        return [] if found is None else letters.returned(found, asked.session_id, "withdrawn")

    def give(self, session_id: str) -> list[WithdrawalRow]:
        """What a session is asked now; what its host was just given is not repeated yet."""
        now = self._hub.now_ms()
        questions = self._hub.board.asked.get(session_id, {}).values()
        due = [one for one in questions if self._given.get(one.withdrawal_id, 0) <= now]
        self._given |= {one.withdrawal_id: now + AGAIN_MS for one in due}
        return [withdrawal.row(one) for one in due]

    def host_changed(self, session_id: str, able: bool) -> list[Record]:
        """Records of a session that registers again: a host that is able is given everything anew."""
        for name in self._hub.board.asked.get(session_id, ()):
            self._given.pop(name, None)
        return [] if able else self.lapse(session_id, "not_able")

    def lapse(self, session_id: str, reason: Lapse) -> list[Record]:
        """The records that a session is asked nothing any more."""
        questions = self._hub.board.asked.get(session_id, {}).values()
        return [record for one in questions for record in withdrawal.lapsed(one, reason)]

    def overdue(self, now_ms: int) -> list[Record]:
        """What time did: questions without an answer."""
        late = [one for one in self._open() if now_ms >= one.until_ms]
        return [record for one in late for record in withdrawal.lapsed(one, "unanswered")]

    def dues(self) -> list[int]:
        """When time does something to a question."""
        return [one.until_ms for one in self._open()]

    def heard(self, records: Iterable[Record]) -> None:
        """Wake those who wait for an answer, when `records` hold one."""
        over = [each for each in records if each.kind in (withdrawal.ANSWERED, withdrawal.LAPSED)]
        for each in over:
            self._given.pop(str(each.payload["withdrawal_id"]), None)
        if over:
            self._news.set()
            self._news = asyncio.Event()

    def _open(self) -> Iterator[Withdrawal]:
        return (one for questions in self._hub.board.asked.values() for one in questions.values())

    def _able(self) -> set[str]:
        """The sessions that can be asked."""
        return {name for name, one in self._hub.board.sessions.items() if one.takes_back}

    def _known(self, session_id: str | None) -> None:
        board = self._hub.board
        if session_id is not None and board.session(session_id) is None and session_id not in board.boxes:
            raise UnknownSessionError(session_id)

    def _matching(self, chosen: Selector, who: str | None) -> list[Envelope]:
        """The open envelopes that are to be cleared, for everybody or for one session."""
        found = self._hub.board.open.values() if who is None else self._hub.board.box(who)
        return [one for one in found if chosen.matches(rows.reminder_of(one))]

    def _clearable(self, chosen: Selector, who: str | None) -> list[str]:
        """The sessions that may have something which matches; one that is named in any case."""
        board, hosting = self._hub.board, self._hub.hosting
        if who is not None:
            return [who]
        found = None if chosen.id is None else board.find(chosen.id)
        names = board.sessions if found is None else holders(found, None, self._able())
        live = [one for name in names if (one := board.sessions.get(name)) is not None]
        return [
            one.session_id for one in live if one.takes_back or hosting.standing(one.session_id, chosen)
        ]

    def _plan(
        self, names: Iterable[str], *, revoke: str | None = None, clear: Selector | None = None
    ) -> Plan:
        """Whom to ask, and what is known of the others.

        Raises:
            HubFullError: nobody is left who could be asked.
        """
        plan = {name: self._planned(name, revoke, clear) for name in names}
        busy = [name for name, one in plan.items() if _outcome(one) == "busy"]
        if plan and len(busy) == len(plan):
            text = f"session {shown(busy[0])} has not answered {OPEN_MOST} questions; ask again when it has"
            raise HubFullError(text)
        return plan

    def _planned(
        self, name: str, revoke: str | None, clear: Selector | None
    ) -> Withdrawal | shapes.Reached:
        board, now = self._hub.board, self._hub.now_ms()
        session = board.sessions.get(name)
        if session is None:
            return _known_of(name, "left")
        if name in board.hosted:
            return _known_of(name, "already_delivered") if clear is None else self._hosted(name, clear)
        if not session.takes_back:
            return _known_of(name, "not_able")
        question = Withdrawal(
            withdrawal_id=new_id(),
            session_id=name,
            asked_at_ms=now,
            until_ms=now + LAPSE_MS,
            revoke=revoke,
            clear=clear,
        )
        questions = board.asked.get(name, {})
        same = next((one for one in questions.values() if self._stands_for(one, question)), None)
        if same is None and len(questions) >= OPEN_MOST:
            return _known_of(name, "busy")
        return same or question

    def _stands_for(self, known: Withdrawal, question: Withdrawal) -> bool:
        """Whether an open question does for a new one; a clear that may be done missed what came since."""
        return known.same(question) and (known.clear is None or known.withdrawal_id not in self._given)

    def _hosted(self, name: str, chosen: Selector) -> shapes.Reached:
        """Let go of what stands before a coding agent's model: most cannot un-show what they have shown."""
        count, un_shown = self._hub.hosting.clear(name, chosen)
        return _known_of(name, "cleared" if un_shown or not count else "forgotten", count)

    async def _carry_out(self, held: list[Record], plan: Plan, seconds: float) -> None:
        """Write it all, ask, and wait for the answers."""
        questions = [one for one in plan.values() if isinstance(one, Withdrawal)]
        known = self._hub.board.asked
        new = [one for one in questions if one.withdrawal_id not in known.get(one.session_id, {})]
        self._hub.write([*held, *(withdrawal.asked(one) for one in new)])
        self._hub.ring(one.session_id for one in new)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(one.withdrawal_id in known.get(one.session_id, {}) for one in questions):
                    await self._news.wait()
        await self._hub.store.settle()

    def _reached(
        self, name: str, one: Withdrawal | shapes.Reached, reminder_id: str | None = None
    ) -> shapes.Reached:
        """What became of it in a session, as far as is known now."""
        if isinstance(one, shapes.Reached):
            return one
        now = self._hub.board.withdrawal(name, one.withdrawal_id)
        if now is None or now.result is None:
            return _known_of(name, "asked" if now is not None and now.open else "lapsed")
        letter = None if reminder_id is None else self._hub.board.find(reminder_id)
        never = letter is not None and letter.deliveries.get(name, letters.Delivery()).state == "revoked"
        if never and now.result == "unknown_reminder_id":
            return _known_of(name, "revoked", 1)
        return _known_of(name, now.result, now.removed_count)


def _known_of(name: str, outcome: shapes.Outcome, count: int = 0) -> shapes.Reached:
    return shapes.Reached(session_id=name, outcome=outcome, removed_count=count)


def _outcome(one: Withdrawal | shapes.Reached) -> shapes.Outcome:
    return one.outcome if isinstance(one, shapes.Reached) else "asked"


def _asked(plan: Plan) -> list[str]:
    return [name for name, one in plan.items() if isinstance(one, Withdrawal)]
