"""A session of your own loop, joined to the hub: what is addressed to it comes into its mailbox.

Inside the block the session is registered, reminders are leased, put into the mailbox, and then
acknowledged. The reminder's id makes a repetition harmless: it is in the transcript once. What the hub asks
back is taken out of the session (`complying.py`), and what happens there is told (`telling.py`). A hub that
goes away is waited for. What the session refuses is noted in its log, once, and stays with the hub.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from types import TracebackType
from typing import Self, TypeAlias

import msgspec

from tidings.agent.session import Session
from tidings.bridge.rpc import UNKNOWN_SESSION, RpcError
from tidings.core import records
from tidings.core.reminder import Payload
from tidings.errors import CallerError, TidingsError
from tidings.hub import shapes
from tidings.hub.client import ask
from tidings.hub.complying import Compliance, Withdraw, withdraw_from
from tidings.hub.failure import HubError
from tidings.hub.place import place_of
from tidings.hub.rows import producer_for
from tidings.hub.telling import telling
from tidings.hub.withdrawal import WithdrawalRow

WAIT_SECONDS = 20.0
GOODBYE_SECONDS = 2.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
NOTED = 100
"""How many of the last problems are remembered, so that each is noted once."""

Deliver: TypeAlias = Callable[[shapes.LeasedRow], Awaitable[None]]


class Attached:
    """Joins `session` to the hub for an `async with` block.

    `workspace` is the current folder unless given; `socket` that of this user's hub. With `patient`, a hub
    that is not there is no error: the session joins when one starts. `deliver` puts a reminder somewhere
    else than into the session's mailbox; it raises `CallerError` or `RpcError` for one that is refused.
    `withdraw` takes back from there; without it such a session is asked to take nothing back.
    """

    def __init__(
        self,
        session: Session,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        tags: Sequence[str] = (),
        capabilities: Mapping[str, object] | None = None,
        socket: str | None = None,
        patient: bool = False,
        deliver: Deliver | None = None,
        withdraw: Withdraw | None = None,
    ) -> None:
        self.session = session
        able = deliver is None or withdraw is not None
        self._about: Payload = {
            "sessionId": session.id,
            "agent": agent or session.agent_id,
            "workspace": os.path.realpath(workspace or os.getcwd()),
            "tags": list(tags),
            "capabilities": {"delivery": "transcript", "withdraw": able, **(capabilities or {})},
        }
        self._socket = socket or place_of().socket
        self._patient = patient
        self._put = deliver or self._remind
        self._compliance = Compliance(withdraw or withdraw_from(session), self._note)
        self._noted: list[tuple[str, str]] = []
        self._there = asyncio.Event()
        self._telling: AbstractAsyncContextManager[None] = nullcontext()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Register.

        Raises:
            HubError: no hub answers; start one with `tidings up`. Not for one that is patient.
            RpcError: the hub refused.
        """
        if not self._patient:
            await self._register()
        self._telling = telling(self.session, self._ask, self._note_code, self._there)
        await self._telling.__aenter__()
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        try:
            await self._telling.__aexit__(None, None, None)
        finally:
            await self._leave()
        if not task.cancelled() and (failure := task.exception()) is not None and error is None:
            raise failure

    async def _leave(self) -> None:
        if self._there.is_set():
            with suppress(HubError, RpcError):  # a hub that is gone, or forgot us, needs no goodbye
                await ask(self._socket, "hub/unregister", {"sessionId": self.session.id}, GOODBYE_SECONDS)

    async def _register(self) -> None:
        await self._ask("register", self._about)
        self._there.set()

    async def _follow(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                if not self._there.is_set():
                    await self._register()
                leased = await self._leased()
                await self._comply(leased.withdrawals)
                await self._deliver(leased.reminders)
                pause = FIRST_PAUSE
            except (HubError, RpcError) as error:
                self._missed(error)
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)

    def _missed(self, error: HubError | RpcError) -> None:
        """Register again with a hub that went away or forgot us; another refusal is noted."""
        if isinstance(error, RpcError) and error.code != UNKNOWN_SESSION:
            self._note("", error)
        else:
            self._there.clear()

    async def _leased(self) -> shapes.LeaseAnswer:
        asked: Payload = {"sessionId": self.session.id, "waitSeconds": WAIT_SECONDS}
        answer = await self._ask("lease", asked)
        return msgspec.convert(answer, shapes.LeaseAnswer)

    async def _comply(self, wanted: Sequence[WithdrawalRow]) -> None:
        """Take back what the hub asks for and say so, before anything newer is let in."""
        for row in wanted:
            answer = await self._compliance.answer(row)
            try:
                await self._ask("answer", {"sessionId": self.session.id, **answer})
            except RpcError as error:
                self._note(row.revoke or "", error)

    async def _deliver(self, leased: Sequence[shapes.LeasedRow]) -> None:
        taken = [row.reminder_id for row in leased if await self._take(row)]
        if taken:
            await self._ask("acknowledge", {"sessionId": self.session.id, "reminderIds": taken})

    async def _take(self, row: shapes.LeasedRow) -> bool:
        """Put it into the mailbox; False when that is refused."""
        try:
            await self._put(row)
        except (CallerError, RpcError) as error:
            self._note(row.reminder_id, error)
            return False
        return True

    async def _remind(self, row: shapes.LeasedRow) -> None:
        self.session.remind(
            row.reminder,
            mode=row.mode,
            producer=producer_for(row.origin),
            origin=row.origin,
            grants=frozenset(row.grants),
        )

    def _note(self, reminder_id: str, error: TidingsError) -> None:
        """Write down what went wrong with a reminder, or with the hub, once."""
        about = (reminder_id, str(error))
        if about not in self._noted:
            self._noted = [*self._noted[-NOTED:], about]
            self._note_code("hub_refused", str(error), reminder_id or None)

    def _note_code(self, code: str, message: str, reminder_id: str | None = None) -> None:
        told = records.warning(code, "hub", message, reminder_id=reminder_id)
        with self.session.step():
            self.session.note((told,))

    async def _ask(self, name: str, params: Mapping[str, object]) -> Payload:
        return await ask(self._socket, f"hub/{name}", params)
