"""One server over time: connected, heard, lost, connected again, and at last given up.

One task per server owns the connection, opens and closes it. A loss is a record and a pause that grows; a
server that comes and goes all the time is left alone in the end. Tool calls use the connection there is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeAlias

import httpx2
import msgspec

from tidings.core.producers import shorten
from tidings.core.reminder import Payload
from tidings.errors import TidingsError
from tidings.mcp import advertisement
from tidings.mcp.cache import INVALIDATES
from tidings.mcp.config import Era, Server
from tidings.mcp.host.connection import Connection, ListenLostError, NotListeningError, connect
from tidings.mcp.host.era import ProbeEndedError, Spoken
from tidings.mcp.host.intake import Intake
from tidings.mcp.host.listing import Listing
from tidings.mcp.host.process import StartError
from tidings.mcp.host.settings import Backoff, Clock, Deadlines
from tidings.mcp.host.tap import Tap
from tidings.mcp.host.wanted import uris_of, wanted
from tidings.shell.ids import new_id

_logger = logging.getLogger("tidings.mcp")

State: TypeAlias = Literal["connecting", "connected", "waiting", "gave_up", "closed"]
OnPush: TypeAlias = Callable[[str, str, Mapping[str, object]], None]


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands with one server. `reason` says why it is not connected."""

    name: str
    state: State
    era: str | None = None
    version: str | None = None
    server: str = ""
    reminders: bool = False
    reason: str = ""
    accepted: int = 0
    dropped: Mapping[str, int] = {}


class Link:
    """The way to one server."""

    def __init__(
        self,
        server: Server,
        intake: Intake,
        listing: Listing,
        *,
        deadlines: Deadlines,
        backoff: Backoff,
        clock: Clock,
        auth: httpx2.Auth | None = None,
        on_push: OnPush | None = None,
    ) -> None:
        self.server = server
        self.intake = intake
        self.listing = listing
        self._connection: Connection | None = None
        self.spoken: Spoken | None = None
        self.state: State = "connecting"
        self.reason = ""
        self.settled = asyncio.Event()
        self.closing = asyncio.Event()
        self._deadlines = deadlines
        self._backoff = backoff
        self._clock = clock
        self._auth = auth
        self._on_push = on_push
        self._era: Era = server.era
        self._handle = new_id()
        self._hopeless = False

    @property
    def connection(self) -> Connection | None:
        """The connection that can be used now, if there is one."""
        there = self._connection
        return None if there is None or there.tap.over else there

    def status(self) -> Status:
        """How it stands now."""
        spoken = self.spoken
        is_over = self.state == "connected" and self.connection is None
        return Status(
            name=self.server.name,
            state="waiting" if is_over else self.state,
            era=spoken.era if spoken else None,
            version=spoken.version if spoken else None,
            server=spoken.name if spoken else "",
            reminders=self.intake.advertised is not None,
            reason=self.reason,
            accepted=self.intake.accepted,
            dropped=dict(self.intake.tally.total),
        )

    async def run(self) -> None:
        """Keep the server connected until `closing` is set or it is given up."""
        losses = 0
        while not self.closing.is_set():
            self.state = "connecting"
            lasted = await self._stay(again=losses > 0)
            if self.closing.is_set():
                break
            losses = 1 if lasted >= self._backoff.steady else losses + 1
            pause = None if self._hopeless else self._backoff.pause(losses)
            if pause is None:
                self._give_up(losses)
                return
            self.state = "waiting"
            self.settled.set()
            await _until_first(self._clock.sleep(pause), self.closing.wait())
        self.state = "closed"
        self.settled.set()

    async def _stay(self, *, again: bool) -> float:
        """One connection, from its opening to its end; gives how long it lasted, 0 if it never opened."""
        tap = Tap(self._heard, self.intake.drop, self._handle)
        opened: float | None = None
        try:
            async with connect(self.server, tap, self._deadlines, self._era, self._auth) as connection:
                opened = self._clock.now()
                self._opened(connection, again)
                await self._attend(connection)
            why = tap.why
        except Exception as error:  # noqa: BLE001 whatever a foreign server does costs only its own connection
            why = self._explained(_first_of(error), tap)
        self._closed(why, was_open=opened is not None)
        return 0.0 if opened is None else self._clock.now() - opened

    def _explained(self, error: BaseException, tap: Tap) -> str:
        """Why a connection failed; some reasons change what is tried next."""
        if isinstance(error, StartError):
            self._hopeless = True
        if isinstance(error, ProbeEndedError):
            self._era = "legacy"
        if isinstance(error, TimeoutError):
            patience = self._deadlines.to_connect(self._auth is not None)
            return f"it did not answer within {patience:g} seconds"
        if tap.why or isinstance(error, TidingsError):
            return tap.why or str(error)
        return f"{type(error).__name__}: {shorten(' '.join(str(error).split()))}".rstrip(": ")

    def _opened(self, connection: Connection, again: bool) -> None:
        self._connection, self.spoken = connection, connection.spoken
        self.intake.open(advertisement.read(connection.spoken.capabilities))
        self.listing.renew()
        self.state, self.reason = "connected", ""
        if again:
            self.intake.warn("mcp_reconnected", "connected again")
        self.settled.set()

    def _closed(self, why: str, *, was_open: bool) -> None:
        self._connection = None
        self.reason = why
        self.intake.close()
        if not self.closing.is_set():
            code, said = ("mcp_lost", "lost") if was_open else ("mcp_failed", "could not connect")
            self.intake.warn(code, f"{said}: {why}")

    def _give_up(self, losses: int) -> None:
        self.state = "gave_up"
        self.intake.warn("mcp_gave_up", f"given up after {losses} in a row: {self.reason}", losses=losses)
        self.settled.set()

    async def _attend(self, connection: Connection) -> None:
        """Listen, until the connection is lost or we take leave."""
        listening = asyncio.create_task(self._listen(connection))
        try:
            await _until_first(connection.tap.lost.wait(), self.closing.wait(), listening)
        finally:
            listening.cancel()
            await asyncio.wait({listening})
        if not listening.cancelled():
            listening.result()

    async def _listen(self, connection: Connection) -> None:
        """Ask for what is to be heard, and keep asking; ends with the connection."""
        spoken = connection.spoken
        uris = uris_of(self.server.rules, spoken.capabilities)
        handle = self._handle if self.intake.advertised is not None else None
        asked = wanted(spoken.capabilities, self.server.rules, handle, uris)
        if not spoken.is_modern:
            await self._subscribe(connection, uris)
        elif asked:
            await self._keep_listening(connection, asked)
        await connection.tap.lost.wait()

    async def _keep_listening(self, connection: Connection, asked: Payload) -> None:
        """Subscribe again after every end, until the server refuses or the connection is given up."""
        losses = 0
        while True:
            began = self._clock.now()
            try:
                await connection.listen(asked)
            except NotListeningError as error:
                self.intake.warn("mcp_not_listening", f"refused the subscription: {error}")
                return
            except ListenLostError as error:
                if connection.tap.over:
                    return
                self.intake.warn("mcp_listen_lost", f"lost the subscription: {error}")
            losses = 1 if self._clock.now() - began >= self._backoff.steady else losses + 1
            pause = self._backoff.pause(losses)
            if pause is None:
                connection.tap.lose(f"its subscription ended {losses} times in a row")
                return
            await self._clock.sleep(pause)

    async def _subscribe(self, connection: Connection, uris: list[str]) -> None:
        for uri in uris:
            try:
                async with asyncio.timeout(self._deadlines.request):
                    await connection.subscribe(uri)
            except (TidingsError, TimeoutError) as error:
                said = shorten(str(error) or "no answer in time")
                self.intake.warn("mcp_not_subscribed", f"does not tell of {uri}: {said}")

    def _heard(self, method: str, params: Mapping[str, object], size: int) -> None:
        if self._on_push is not None:
            try:
                self._on_push(self.server.name, method, params)
            except Exception:
                _logger.exception("on_push failed on %s", method)
        if method in INVALIDATES:
            self.listing.heard(method, params)
        self.intake.hear(method, params, size)


async def _until_first(*waits: Awaitable[object]) -> None:
    """Wait for the first of several; what was started for that is cancelled, given tasks live on."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, wait in zip(tasks, waits, strict=True):
            if task is not wait:
                task.cancel()


def _first_of(error: BaseException) -> BaseException:
    """The first of what may be a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
