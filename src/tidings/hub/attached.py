"""A session of your own loop, joined to the hub: what is addressed to it comes into its mailbox.

Inside the block the session is registered, reminders are leased, put into the mailbox, and then
acknowledged. The reminder's id makes a repetition harmless: it is in the transcript once. A hub that goes
away is waited for. What the session refuses is noted in its log, once, and stays with the hub.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

import msgspec

from tidings.agent.session import Session
from tidings.bridge.rpc import UNKNOWN_SESSION, RpcError
from tidings.core import records
from tidings.core.reminder import Payload
from tidings.errors import CallerError, TidingsError
from tidings.hub import shapes
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.place import place_of

WAIT_SECONDS = 20.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
NOTED = 100
"""How many of the last problems are remembered, so that each is noted once."""


class Attached:
    """Joins `session` to the hub for an `async with` block.

    `workspace` is the current folder unless given; `socket` that of this user's hub.
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
    ) -> None:
        self.session = session
        self._about: Payload = {
            "sessionId": session.id,
            "agent": agent or session.agent_id,
            "workspace": os.path.realpath(workspace or os.getcwd()),
            "tags": list(tags),
            "capabilities": dict(capabilities or {}),
        }
        self._socket = socket or place_of().socket
        self._noted: list[tuple[str, str]] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Register.

        Raises:
            HubError: no hub answers; start one with `tidings up`.
            RpcError: the hub refused.
        """
        await self._ask("register", self._about)
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
        with suppress(HubError, RpcError):  # a hub that is gone, or forgot us, needs no goodbye
            await self._ask("unregister", {"sessionId": self.session.id})
        if not task.cancelled() and (failure := task.exception()) is not None and error is None:
            raise failure

    async def _follow(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._deliver(await self._leased())
                pause = FIRST_PAUSE
            except (HubError, RpcError) as error:
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, pause * 2)
                await self._recover(error)

    async def _recover(self, error: HubError | RpcError) -> None:
        """Register again with a hub that went away or forgot us; another refusal is noted."""
        if isinstance(error, RpcError) and error.code != UNKNOWN_SESSION:
            self._note("", error)
            return
        with suppress(HubError, RpcError):  # the next lease meets it again
            await self._ask("register", self._about)

    async def _leased(self) -> list[shapes.LeasedRow]:
        asked: Payload = {"sessionId": self.session.id, "waitSeconds": WAIT_SECONDS}
        answer = await self._ask("lease", asked)
        return msgspec.convert(answer, shapes.LeaseAnswer).reminders

    async def _deliver(self, leased: Sequence[shapes.LeasedRow]) -> None:
        taken = [row.reminder_id for row in leased if self._take(row)]
        if taken:
            await self._ask("acknowledge", {"sessionId": self.session.id, "reminderIds": taken})

    def _take(self, row: shapes.LeasedRow) -> bool:
        """Put it into the mailbox; False when the session refuses it."""
        try:
            self.session.remind(row.reminder, mode=row.mode)
        except CallerError as error:
            self._note(row.reminder_id, error)
            return False
        return True

    def _note(self, reminder_id: str, error: TidingsError) -> None:
        """Write down what went wrong with a reminder, or with the hub, once."""
        about = (reminder_id, str(error))
        if about in self._noted:
            return
        self._noted = [*self._noted[-NOTED:], about]
        told = records.warning("hub_refused", "hub", str(error), reminder_id=reminder_id or None)
        with self.session.step():
            self.session.note((told,))

    async def _ask(self, name: str, params: Mapping[str, object]) -> Payload:
        return await ask(self._socket, f"hub/{name}", params)
