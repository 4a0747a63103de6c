"""What the hub tells of a host's session, which has no log: records of the lifecycle and of requests.

They go where sessions of our own tell theirs, so that the panel and `tidings log` show both alike. Each
process of the hub counts anew, under an epoch of its own. They are observation: they are written after the
hook has its answer, and no hook fails by them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence

from tidings.core.records import Record
from tidings.errors import TidingsError
from tidings.hub import shapes
from tidings.hub.hosting.deciding import Decision
from tidings.hub.told import Told
from tidings.shell.ids import new_id

_logger = logging.getLogger(__name__)


class Teller:
    """Tells for the sessions of hosts. What a decision says waits until the loop has a moment."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._epoch = f"hub-{new_id()}"
        self._last = 0
        self._waiting: list[tuple[str, Decision, int, str | None]] = []
        self._open: set[str] = set()

    async def open(self, session_id: str) -> None:
        """Be ready to tell of a session."""
        if session_id not in self._open:
            await self._told.tell(self._tell(session_id, "lifecycle", ()))
            self._open.add(session_id)

    def close(self, session_id: str) -> None:
        """Tell what is left of a session that ends."""
        self.flush()
        self._open.discard(session_id)

    def tell(self, session_id: str, decision: Decision, now_ms: int, agent: str | None) -> None:
        """Tell what a decision says of its session, soon."""
        if not decision.told and decision.rendered is None:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append((session_id, decision, now_ms, agent))

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            for told in self._told_by(*each):
                self._write(told)

    def _write(self, told: shapes.Tell) -> None:
        try:
            known = self._told.tell_more(told)
        except TidingsError as error:
            _logger.warning("hub: %s could not be told: %s", told.session_id, error)
            return
        if not known:
            self._open.discard(told.session_id)
            _logger.warning("hub: %s left before all of it was told", told.session_id)

    def _told_by(
        self, session_id: str, decision: Decision, now_ms: int, agent: str | None
    ) -> Iterator[shapes.Tell]:
        about = {"session_id": session_id, "task_id": None, "agent_id": agent}
        streams: dict[shapes.Stream, Sequence[Record]] = {
            "lifecycle": decision.lifecycle(),
            "requests": () if decision.rendered is None else (decision.rendered,),
        }
        for stream, records in streams.items():
            rows = [self._row(each, now_ms, about) for each in records]
            for start in range(0, len(rows), shapes.TELL_MOST):
                yield self._tell(session_id, stream, rows[start : start + shapes.TELL_MOST])

    def _tell(
        self, session_id: str, stream: shapes.Stream, records: Iterable[shapes.TellRecord]
    ) -> shapes.Tell:
        return shapes.Tell(session_id=session_id, epoch=self._epoch, stream=stream, records=list(records))

    def _row(self, record: Record, now_ms: int, about: dict[str, str | None]) -> shapes.TellRecord:
        self._last += 1
        payload = {**record.payload, **about}
        return shapes.TellRecord(cursor=self._last, kind=record.kind, at_ms=now_ms, payload=payload)
