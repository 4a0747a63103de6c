"""A served session's membership elsewhere: whoever joins it to a hub is handed in, as a context.

How one joins is the business of `Settings.join`, because protocols know no hub. It happens in the
background, so that opening a session waits for nobody, and again when the session moves to another folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from tidings.agent.session import Session
from tidings.errors import TidingsError

Join: TypeAlias = Callable[[Session, str], AbstractAsyncContextManager[object]]
"""Joins a session that works in a folder to something, while the block runs."""


class Membership:
    """From the moment a session is served until it is closed."""

    def __init__(
        self, session: Session, join: Join | None, root: str, note: Callable[[str, str], None]
    ) -> None:
        self._session = session
        self._root = root
        self._note = note
        self._moved = asyncio.Event()
        self._closed = False
        self._task = None if join is None else asyncio.create_task(self._belong(join))

    def move(self, root: str) -> None:
        """The session works in another folder now."""
        self._root = root
        self._moved.set()

    async def close(self) -> None:
        """Leave, in order."""
        self._closed = True
        self._moved.set()
        if self._task is not None:
            await self._task

    async def _belong(self, join: Join) -> None:
        try:
            while not self._closed:
                self._moved.clear()
                async with join(self._session, self._root):
                    await self._moved.wait()
        except TidingsError as error:
            self._note("not_joined", f"the session cannot be joined to the hub: {error}")
