"""A session tells the hub what happens in it, beside its work: the three streams, each at its own pace.

Each stream asks how far the hub knows it and goes on from there, so that an interruption, a restart of the
hub or of this process costs nothing and repeats nothing. The loop never waits for it. `Attached` owns it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TypeAlias

import msgspec

from tidings.agent.session import Session
from tidings.bridge.rpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RpcError,
)
from tidings.core.records import Change, transcript_topic
from tidings.core.reminder import Payload
from tidings.errors import LogError, SubscriberLaggedError
from tidings.hub.failure import HubError
from tidings.hub.fitting import stub
from tidings.hub.shapes import TellAnswer, TellRecord
from tidings.hub.streams import Requests, Stream, lifecycle, transcript
from tidings.log import EventLog, LogRecord
from tidings.log.memory import MemoryLog
from tidings.log.search import first_mark
from tidings.shell.journal import Journal, current_journal

PAUSE = 1.0
LAST_WORDS = 2.0
"""Seconds that a session that ends gets to tell the rest."""
KEPT = 10_000
"""How many records of each topic a session without a log keeps for the hub."""

Ask: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[Payload]]
Note: TypeAlias = Callable[[str, str], None]
"""Writes a warning: its code and its message."""

_WRONG = (INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR)


@asynccontextmanager
async def telling(session: Session, ask: Ask, note: Note, there: asyncio.Event) -> AsyncIterator[None]:
    """Tell the hub what happens in `session` while the block runs, and the rest at its end.

    `there` is set while a hub listens.
    """
    requests = Requests(there)
    with lent_log(session) as log, session.observers.looking(requests):
        told = (transcript(log, session.id), lifecycle(log, session.id), requests)
        teller = Teller(session.id, log, told, ask, note)
        task = asyncio.create_task(teller.run(there))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            if there.is_set():
                await teller.finish()
    if not task.cancelled() and (failure := task.exception()) is not None:
        raise failure


class Teller:
    """Sends the streams of one session to the hub."""

    def __init__(
        self, session_id: str, log: EventLog, told: Sequence[Stream], ask: Ask, note: Note
    ) -> None:
        self._session_id = session_id
        self._log = log
        self._streams = told
        self._ask = ask
        self._note = note
        self._epoch = ""

    async def run(self, there: asyncio.Event) -> None:
        """Tell until cancelled, or until the session's log is closed."""
        topic = transcript_topic(self._session_id)
        if await _first(self._log, topic) is None:
            return
        self._epoch = first_mark(self._log, topic) or ""
        async with asyncio.TaskGroup() as group:
            for stream in self._streams:
                group.create_task(self._follow(stream, there))

    async def finish(self) -> None:
        """Tell what is left, if that can be done at once."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                for stream in self._streams if self._epoch else ():
                    for batch in stream.now(await self._send(stream, ())):
                        await self._send(stream, batch)
        except (HubError, RpcError, LogError, SubscriberLaggedError, TimeoutError) as error:
            self._note("hub_untold", f"the session ended before the hub knew all of it: {error!r}")

    async def _follow(self, stream: Stream, there: asyncio.Event) -> None:
        while True:
            await there.wait()
            try:
                await self._tell(stream)
                return
            except SubscriberLaggedError as lagged:
                told = f"{lagged}; {lagged.missed} records of stream {stream.name} were gone"
                self._note("hub_lagged", f"the hub was told too slowly: {told}")
            except RpcError as error:
                if error.code == METHOD_NOT_FOUND:
                    self._note("hub_refused", f"the hub hears no records: {error}")
                    return
                await asyncio.sleep(PAUSE)
            except HubError:
                await asyncio.sleep(PAUSE)
            except LogError as error:
                self._note("hub_untold", f"the log of the session cannot be read: {error}")
                return

    async def _tell(self, stream: Stream) -> None:
        position = await self._send(stream, ())
        async with aclosing(stream.after(position)) as batches:
            async for batch in batches:
                await self._send(stream, batch)
                self._admit_losses(stream)

    def _admit_losses(self, stream: Stream) -> None:
        if stream.lost:
            lost, stream.lost = stream.lost, 0
            self._note("hub_lagged", f"{lost} records of stream {stream.name} were dropped untold")

    async def _send(self, stream: Stream, batch: Sequence[TellRecord]) -> int:
        """Tell a batch, in parts where the hub refuses it; gives how far the hub knows the stream."""
        asked: Payload = {
            "sessionId": self._session_id,
            "epoch": self._epoch,
            "stream": stream.name,
            "records": msgspec.to_builtins(batch),
        }
        try:
            return msgspec.convert(await self._ask("tell", asked), TellAnswer).told
        except RpcError as error:
            if not batch or error.code not in _WRONG:
                raise
            refused = error
        if len(batch) == 1:
            return await self._without_content(stream, batch[0], refused)
        middle = len(batch) // 2
        await self._send(stream, batch[:middle])
        return await self._send(stream, batch[middle:])

    async def _without_content(self, stream: Stream, record: TellRecord, refused: RpcError) -> int:
        self._note("hub_refused", f"record {record.cursor} of stream {stream.name}: {refused}")
        if stub(record).payload.keys() == record.payload.keys():
            return record.cursor
        return await self._send(stream, [stub(record)])


@contextmanager
def lent_log(session: Session) -> Iterator[EventLog]:
    """The log of a session; one that has none gets one in memory for the block, bounded."""
    journal = session.journal or current_journal()
    if journal is not None:
        yield journal.log
        return
    with MemoryLog(capacity=KEPT) as log:
        session.journal = Journal(log)
        try:
            with session.step():
                whole: Payload = {"transcript": session.transcript.to_dict()}
                session.note((), (Change("transcript.snapshot", whole),))
            yield log
        finally:
            session.journal = None


async def _first(log: EventLog, topic: str) -> LogRecord | None:
    """The first record that is kept, as soon as there is one; None when the log is closed before."""
    start = 0
    while True:
        try:
            async with aclosing(log.subscribe(topic, start)) as records:
                return await anext(records, None)
        except SubscriberLaggedError as lagged:
            start = lagged.resume_from
