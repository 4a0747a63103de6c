"""The ACP sessions that a connection knows: their prompts under way, and their desks once they need one.

A session costs an id until the first reminder for it arrives; only then is the desk built, which loads the
session machinery. With a log the desk is opened at once, because reminders may wait there. This is
the `Sessions` that `tidings.bridge.handle` asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tidings.acp.proxy.block import BLOCK_LIMIT, FIRST_LIMIT
from tidings.acp.proxy.lowering import MODES
from tidings.acp.proxy.telling import Outbox
from tidings.errors import TidingsError

if TYPE_CHECKING:
    from tidings.acp.proxy.block import Composed
    from tidings.acp.proxy.desk import Desk
    from tidings.acp.proxy.message import Id
    from tidings.bridge.claims import Claims
    from tidings.bridge.rpc import RpcError
    from tidings.core.seams import Mode
    from tidings.log.port import EventLog

KNOWN = 10_000
"""How many sessions are known at most; beyond it the oldest without reminders is forgotten."""


class Running:
    """A prompt on its way: its turn, and what was added to it."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.sent: Composed | None = None


class Place:
    """One session, as far as the interposer knows it."""

    def __init__(self, session_id: str, *, fresh: bool, confirmed: bool, cwd: str | None = None) -> None:
        self.id = session_id
        self.cwd = cwd
        self.fresh = fresh
        self.confirmed = confirmed
        self.turn = 0
        self.running: dict[Id, Running] = {}
        self.outbox = Outbox(session_id)
        self.desk: Desk | None = None
        self.steered = False

    @property
    def next_turn(self) -> int:
        """The turn of a prompt that goes out now."""
        return self.turn + len(self.running) + 1

    @property
    def limit(self) -> int:
        """How many bytes may be added to the prompt that goes out now."""
        is_first = self.fresh and self.turn == 0 and not self.running
        return FIRST_LIMIT if is_first else BLOCK_LIMIT

    def answered(self, running: Running) -> None:
        """A prompt was answered."""
        self.turn = max(self.turn, running.turn)
        self.confirmed = True
        if self.desk is not None:
            self.desk.answered(running.turn, running.sent)


class Places:
    """All known sessions."""

    def __init__(
        self,
        log: EventLog | None = None,
        report: Callable[[str], None] = lambda _: None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.modes: Sequence[Mode] = MODES
        self._log = log
        self._report = report
        self._changed = changed
        self._known: dict[str, Place] = {}
        self._claims: Claims | None = None

    def learn(self, session_id: str, *, fresh: bool | None = None, cwd: str | None = None) -> Place:
        """Know this session from now on; `fresh` is None for one that no answer has named yet."""
        place = self._known.get(session_id)
        if place is None:
            place = Place(session_id, fresh=fresh is True, confirmed=fresh is not None, cwd=cwd)
            self._known[session_id] = place
            self._forget_oldest()
            if self._log is not None:
                self.desk(place)
            self._changed()
        return place

    def place(self, session_id: str) -> Place | None:
        """A known session."""
        return self._known.get(session_id)

    def forget(self, session_id: str) -> None:
        """The session was closed."""
        if self._known.pop(session_id, None) is not None:
            self._changed()
        if self._claims is not None:
            self._claims.release(session_id)

    def ids(self) -> list[str]:
        """The ids of all known sessions."""
        return list(self._known)

    def served(self) -> list[Place]:
        """The sessions that have a desk."""
        return [place for place in self._known.values() if place.desk is not None]

    def _forget_oldest(self) -> None:
        if len(self._known) <= KNOWN:
            return
        idle = (name for name, place in self._known.items() if place.desk is None and not place.running)
        self._known.pop(next(idle, ""), None)

    def desk(self, place: Place) -> Desk:
        """The desk of a session, built when it is first needed."""
        if place.desk is None:
            place.desk = self._open(place)
            place.turn = max(place.turn, place.desk.turn)
        return place.desk

    def _open(self, place: Place) -> Desk:
        from tidings.acp.proxy.desk import Desk  # only a reminder pays for loading it

        try:
            self._claim(place.id)
            return Desk(place.id, tell=place.outbox.add, modes=self.modes, log=self._log)
        except TidingsError as error:
            self._report(f"session {place.id!r} cannot be kept in the log, memory must do: {error}")
            return Desk(place.id, tell=place.outbox.add, modes=self.modes)

    def _claim(self, session_id: str) -> None:
        if self._log is None:
            return
        from tidings.bridge.claims import claims_on  # only a log pays for loading it

        self._claims = self._claims or claims_on(self._log)
        self._claims.take(session_id)

    def find(self, session_id: str) -> Desk | None:
        """The desk of this session, if it is known."""
        place = self._known.get(session_id)
        return None if place is None else self.desk(place)

    def only(self) -> Desk | None:
        """The desk of the only session there is."""
        if len(self._known) != 1:
            return None
        return self.desk(next(iter(self._known.values())))

    def rejected(self, session_id: str | None, method: str, error: RpcError) -> None:
        """Write down that a notification was refused (decision 30)."""
        self._report(f"{method} was refused: {error.message}")
        place = self._known.get(session_id or "") if session_id is not None else self._single()
        if place is not None and place.desk is not None:
            place.desk.note_refusal(method, error)

    def _single(self) -> Place | None:
        return next(iter(self._known.values())) if len(self._known) == 1 else None
