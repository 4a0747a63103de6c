"""Asking the consenting servers about a user's message, all at once, with one deadline for all of them.

    asker = Asker(consents=ConsentStore(), ledger=open_ledger())
    asker.peers = peers_of(servers)
    results = await asker.ask(Words(conversation="c1", message="m1", content="…", project="/home/me/shop"))

Nothing is sent before the ledger has it, nothing without consent, and what comes after the deadline or
after a revocation is not used. Knows neither a session nor an SDK; `joined.py` puts it into the agent
loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tidings.core.producers import shorten
from tidings.core.redaction import beginning, redact
from tidings.errors import LogError
from tidings.log.port import EventLog
from tidings.mcp.conversation import breaker as breakers
from tidings.mcp.conversation import ledger as ledgers
from tidings.mcp.conversation.breaker import Breaker
from tidings.mcp.conversation.consent import ConsentError, Consents
from tidings.mcp.conversation.correlation import Correlation
from tidings.mcp.conversation.errand import Errand, Kind, Result, Settings, Words, plan, stated_purpose
from tidings.mcp.conversation.names import ASSISTANT_RESPONSE, CONTEXT, USER_MESSAGE
from tidings.mcp.conversation.peer import Peer
from tidings.mcp.conversation.store import ConsentStore
from tidings.mcp.conversation.wire import Turn, read_context
from tidings.mcp.host.settings import Clock, SteadyClock

_SLACK = 24 * 1024
"""How far beyond the cut secrets are looked for, so that none is cut in two and shown."""

_logger = logging.getLogger("tidings.mcp")


class Asker:
    """The way from a user's words to servers and back. Use it in one event loop."""

    def __init__(
        self,
        *,
        consents: ConsentStore,
        ledger: EventLog,
        settings: Settings | None = None,
        clock: Clock | None = None,
        mask: Callable[[str], str] = redact,
    ) -> None:
        self.peers: Sequence[Peer] = ()
        self.settings = settings or Settings()
        self.consents = consents
        self._ledger = ledger
        self._clock = clock or SteadyClock()
        self._mask = mask
        self._breakers: defaultdict[str, Breaker] = defaultdict(Breaker)
        self._correlations: dict[str, Correlation] = {}
        self._fading: dict[str, asyncio.Task[object]] = {}
        self._stuck: asyncio.Future[None] | None = None
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    async def ask(self, words: Words) -> list[Result]:
        """What became of each server that wants to see messages, in the order of priority."""
        return await self._send(words, USER_MESSAGE)

    async def tell(self, words: Words) -> list[Result]:
        """Tell those that may know what the assistant answered."""
        return await self._send(words, ASSISTANT_RESPONSE)

    def heard(self, server: str, method: str, params: Mapping[str, object]) -> None:
        """A server pushed something: the answer of the literal form ends up here."""
        if method != CONTEXT:
            return
        correlation = self._correlations.get(server)
        fate = "stray" if correlation is None else correlation.settle(params.get("messageId"), params)
        if fate != "taken":
            self.counts[server][f"{fate}_answers"] += 1

    def allowed(self, project: str) -> frozenset[str]:
        """The servers that may see messages of `project` now."""
        consents, _ = self._read_consents()
        grants = ((peer.name, consents.grant_for(peer.name, peer.target, project)) for peer in self.peers)
        return frozenset(name for name, grant in grants if grant is not None and "message" in grant.scopes)

    def breaker(self, server: str) -> Breaker:
        """How it stands with a server."""
        return self._breakers[server]

    async def _send(self, words: Words, method: str) -> list[Result]:
        timer = asyncio.ensure_future(self._clock.sleep(self.settings.deadline))
        try:
            errands, results = self._planned(self._masked(words), method)
            if errands:
                results += await self._carried_out(errands, timer)
        finally:
            timer.cancel()
        for result in results:
            self.counts[result.server][result.kind] += 1
        order = {peer.name: place for place, peer in enumerate(self.peers)}
        return sorted(results, key=lambda one: (-one.priority, order.get(one.server, 0)))

    def _masked(self, words: Words) -> Words:
        longest = self.settings.message_bytes + _SLACK
        turns = words.history[-self.settings.history_messages :] if self.settings.history_messages else ()
        return msgspec.structs.replace(
            words,
            content=self._mask(beginning(words.content, longest)),
            history=tuple(Turn(turn.role, self._mask(beginning(turn.content, longest))) for turn in turns),
        )

    def _planned(self, words: Words, method: str) -> tuple[list[Errand], list[Result]]:
        consents, broken = self._read_consents()
        errands: list[Errand] = []
        results: list[Result] = []
        for peer in self.peers:
            planned = plan(peer, consents, words, self.settings, method)
            hindered = self._hindrance(peer, method) if isinstance(planned, Errand) else planned
            if isinstance(planned, Errand) and hindered is None:
                errands.append(planned)
            elif hindered is not None:
                asks = hindered in ("no_consent", "changed")
                reason = broken or (stated_purpose(peer) if asks else "")
                results.append(Result(server=peer.name, kind=hindered, reason=reason))
        return errands, results

    def _hindrance(self, peer: Peer, method: str) -> Kind | None:
        if peer.name in self._fading:
            return "busy"
        left_alone = not self._breakers[peer.name].lets_through(self._clock.now())
        return "breaker_open" if left_alone and method == USER_MESSAGE else None

    def _read_consents(self) -> tuple[Consents, str]:
        """The consents, and what is wrong with them: then nobody has any."""
        try:
            return self.consents.read(), ""
        except ConsentError as error:
            _logger.error("nobody is asked about messages: %s", error)
            return Consents(), str(error)

    def _may(self, errand: Errand) -> bool:
        """Whether the server may still see what the errand holds."""
        sent = errand.sent
        grant = self._read_consents()[0].grant_for(sent.server, sent.target, sent.project)
        return grant is not None and set(sent.scopes) <= set(grant.scopes)

    async def _carried_out(self, errands: list[Errand], timer: asyncio.Future[None]) -> list[Result]:
        why = await self._recorded(errands, timer)
        if why:
            return [Result(server=one.peer.name, kind="unrecorded", reason=why) for one in errands]
        running: dict[asyncio.Task[object], Errand] = {}
        withdrawn: list[Errand] = []
        for errand in errands:
            if not self._may(errand):
                withdrawn.append(errand)
                continue
            if errand.method == USER_MESSAGE:
                self._breakers[errand.peer.name] = breakers.asked(self._breakers[errand.peer.name])
            running[asyncio.create_task(self._run(errand))] = errand
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self._withdraw, running)

        forget = self.consents.on_change(changed)
        try:
            await _until(running, timer)
            return [
                *(_result(one, "revoked") for one in withdrawn),
                *(self._outcome(task, one) for task, one in running.items()),
            ]
        finally:
            forget()
            for task, errand in running.items():
                self._let_go(task, errand.peer.name)

    async def _recorded(self, errands: list[Errand], timer: asyncio.Future[None]) -> str:
        """Write the ledger; gives why it could not be written in time."""
        if self._stuck is not None and not self._stuck.done():
            return "the ledger still writes what was to be sent before"  # more threads would wait in vain
        entries = [errand.sent for errand in errands]
        writing = asyncio.ensure_future(asyncio.to_thread(ledgers.write, self._ledger, entries))
        await asyncio.wait({writing, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done():
            writing.add_done_callback(_forgive)
            self._stuck = writing
            return "the ledger was not written in time"
        try:
            writing.result()
        except LogError as error:
            return str(error)
        return ""

    async def _run(self, errand: Errand) -> object:
        if errand.method == USER_MESSAGE and errand.offer.form == "request":
            return await errand.peer.request(errand.method, errand.params)
        if errand.method == ASSISTANT_RESPONSE:
            await errand.peer.notify(errand.method, errand.params)
            return None
        known = self._correlations.setdefault(errand.peer.name, Correlation(self._clock.now))
        answer = known.expect(errand.sent.message_id)
        await errand.peer.notify(errand.method, errand.params)
        return await answer

    def _withdraw(self, running: Mapping[asyncio.Task[object], Errand]) -> None:
        """Somebody changed the consents: who lost theirs is no longer asked."""
        for task, errand in running.items():
            if not task.done() and not self._may(errand):
                task.cancel()

    def _outcome(self, task: asyncio.Task[object], errand: Errand) -> Result:
        name = errand.peer.name
        if not self._may(errand):
            self._breakers[name] = msgspec.structs.replace(self._breakers[name], probing=False)
            return _result(errand, "revoked")
        asked = errand.method == USER_MESSAGE
        if not task.done() or task.cancelled():
            if asked:
                now, patience = self._clock.now(), self.settings.patience
                self._breakers[name] = breakers.timed_out(self._breakers[name], now, patience)
            return _result(errand, "late")
        if asked:
            self._breakers[name] = breakers.answered(self._breakers[name])
        error = task.exception()
        if error is not None:
            return _result(errand, "failed", reason=f"{type(error).__name__}: {shorten(str(error))}")
        if not asked:
            return _result(errand, "sent")
        found = read_context(task.result())
        return Result(
            server=name, kind="answered", items=found.items, junk=found.junk, priority=errand.grant.priority
        )

    def _let_go(self, task: asyncio.Task[object], name: str) -> None:
        """Cancel what still runs, without waiting for it: saying so to the server may take a while."""
        if task.done():
            return
        self._fading[name] = task

        def gone(ended: asyncio.Task[object]) -> None:
            if self._fading.get(name) is ended:
                del self._fading[name]
            _forgive(ended)

        task.add_done_callback(gone)
        task.cancel()


def _result(errand: Errand, kind: Kind, reason: str = "") -> Result:
    return Result(server=errand.peer.name, kind=kind, reason=reason, priority=errand.grant.priority)


async def _until(running: Mapping[asyncio.Task[object], Errand], timer: asyncio.Future[None]) -> None:
    """Wait for all of them, but not beyond the timer."""
    waiting: set[asyncio.Future[Any]] = set(running)
    while waiting and not timer.done():
        await asyncio.wait({*waiting, timer}, return_when=asyncio.FIRST_COMPLETED)
        waiting = {task for task in waiting if not task.done()}


def _forgive(ended: asyncio.Future[Any]) -> None:
    """Take the outcome off what nobody waits for any more: its lateness has been counted."""
    if not ended.cancelled():
        ended.exception()
