"""Asking servers in this process: peers that answer by script, a clock that stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from tidings.core.reminder import Payload
from tidings.log.memory import MemoryLog
from tidings.mcp.conversation.asking import Asker
from tidings.mcp.conversation.consent import Grant
from tidings.mcp.conversation.errand import Result, Settings, Words
from tidings.mcp.conversation.peer import LocalPeer
from tidings.mcp.conversation.store import ConsentStore
from tidings.mcp.conversation.wire import Offer

DEADLINE = 60
PROJECT = "/srv/shop"
T = TypeVar("T")


class StandingClock:
    """Time stands still; the deadline comes when `ring` says so."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self._rung = asyncio.Event()

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._rung.wait()

    def ring(self) -> None:
        self._rung.set()

    def wind(self) -> None:
        self._rung.clear()


class Scripted(LocalPeer):
    """A peer that writes down what it is sent and answers with what the test gave it."""

    def __init__(self, name: str, answer: Any = None, offer: Offer | None = None) -> None:
        super().__init__(name, self._play, offer)
        self.answer = answer
        self.sent: list[tuple[str, Payload]] = []
        self.cancelled = False

    async def _play(self, method: str, params: Payload) -> object:
        self.sent.append((method, params))
        if not callable(self.answer):
            return self.answer
        try:
            return await self.answer(params)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def stall(_params: Payload) -> object:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


class Stage:
    """An asker, its consents, its ledger and its clock."""

    def __init__(self, folder: Path, *peers: Scripted, settings: Settings | None = None) -> None:
        self.consents = ConsentStore(folder / "consent.json", clock=lambda: 1)
        self.ledger = MemoryLog()
        self.clock = StandingClock()
        self.asker = Asker(consents=self.consents, ledger=self.ledger, settings=settings, clock=self.clock)
        self.asker.peers = peers

    def grant(self, *peers: Scripted, **more: Any) -> None:
        for peer in peers:
            self.consents.grant(Grant(server=peer.name, target=peer.target, **more))

    def entries(self) -> list[dict[str, Any]]:
        return [dict(record.payload) for record in self.ledger.read("conversation.ledger")]

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():  # noqa: ASYNC110  # the deadline of the scene bounds it
            await asyncio.sleep(0)

    async def late(self, peer: Scripted, said: Words | None = None) -> list[Result]:
        """Ask, and let the deadline come as soon as `peer` was sent its message."""
        before = len(peer.sent)
        asking = asyncio.create_task(self.asker.ask(said or words()))
        await self.until(lambda: len(peer.sent) > before)
        self.clock.ring()
        results = await asking
        self.clock.wind()
        return results


def words(content: str = "which schema?", message: str = "m1", **more: Any) -> Words:
    return Words(conversation="s1", message=message, content=content, project=PROJECT, **more)


def play(scene: Callable[[], Awaitable[T]]) -> T:
    """What the scene gives, within a deadline."""

    async def whole() -> T:
        async with asyncio.timeout(DEADLINE):
            return await scene()

    return asyncio.run(whole())
