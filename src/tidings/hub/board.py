"""The board: all envelopes, sessions and withdrawals of the hub, as the fold of its records.

`apply` is the only thing that changes it, live and at replay alike. Envelopes that are finished are
kept without their text, the last `REMEMBERED` of them, so that a repeated id and a late acknowledgement
get their answer; of the sessions that left, the last `ENDED`. It decides nothing and writes nothing:
`service.py` does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from tidings.core.records import Alike, Record
from tidings.hub import envelope as letters
from tidings.hub import withdrawal as recalls
from tidings.hub.address import Registration
from tidings.hub.envelope import Envelope, State
from tidings.hub.hosting.hosted import OFFERED, Hosted, evolve
from tidings.hub.rows import reminder_of
from tidings.hub.withdrawal import Withdrawal

REGISTERED = "hub.session.registered"
LEFT = "hub.session.left"

REMEMBERED = 10_000
"""How many finished envelopes are remembered."""
ENDED = 200
"""How many sessions that left are remembered."""
HOSTED = 1_000
"""How many sessions of hosts are remembered, those there are and those that were."""
WITHDRAWN = 10_000
"""How many withdrawals that are over are remembered."""


class Board:
    """What the records say. Not for more than one thread at a time."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.sessions: dict[str, Registration] = {}
        self.ended: OrderedDict[str, Registration] = OrderedDict()
        self.hosted: OrderedDict[str, Hosted] = OrderedDict()
        self.open: dict[str, Envelope] = {}
        self.finished: OrderedDict[str, Envelope] = OrderedDict()
        self.boxes: dict[str, dict[str, None]] = {}
        self.asked: dict[str, dict[str, Withdrawal]] = {}
        self.withdrawn: OrderedDict[str, Withdrawal] = OrderedDict()
        for record in records:
            self.apply(record)

    def apply(self, record: Record | Alike) -> None:
        """Take in one record, or several that are alike; kinds of others mean nothing here."""
        if isinstance(record, Alike):
            self._apply_all(record)
        elif record.kind == REGISTERED:
            session = msgspec.convert(record.payload, Registration)
            self.sessions[session.session_id] = session
            self.ended.pop(session.session_id, None)
        elif record.kind == LEFT:
            self._left(str(record.payload["session_id"]), record.payload.get("at_ms"))
        elif record.kind.startswith("hub.host."):
            self._host(record)
        elif record.kind.startswith("hub.withdrawal."):
            self._withdraw(record)
        elif record.kind == letters.ACCEPTED:
            self._keep(letters.opened(record.payload))
        elif record.kind.startswith("hub.reminder."):
            found = self.find(str(record.payload["reminder_id"]))
            if found is not None:
                self._keep(letters.evolve(found, record))

    def _apply_all(self, told: Alike) -> None:
        """Take in records that are alike; what a drain acknowledges needs none of them built."""
        if told.kind != letters.ACKNOWLEDGED:
            for record in told.records():
                self.apply(record)
            return
        session_id = str(told.rest["session_id"])
        for name in told.values:
            found = self.find(name)
            if found is not None:
                self._keep(letters.arrived(found, session_id))

    def _host(self, record: Record) -> None:
        """A record of a host's session; one that offers reminders takes them from their envelopes."""
        name = record.payload.get("session_id")
        if not isinstance(name, str):
            return
        ids = record.payload.get("reminder_ids") if record.kind == OFFERED else ()
        found = map(self.open.get, msgspec.convert(ids, list[str]))
        session = self.hosted.get(name) or Hosted(session_id=name)
        self.hosted[name] = evolve(session, record, [reminder_of(one) for one in found if one is not None])
        self.hosted.move_to_end(name)
        while len(self.hosted) > HOSTED:
            self.hosted.popitem(last=False)

    def _withdraw(self, record: Record) -> None:
        """A record of a withdrawal: it is open, or over."""
        session_id, name = str(record.payload["session_id"]), str(record.payload["withdrawal_id"])
        known = self.withdrawal(session_id, name)
        if record.kind == recalls.ASKED:
            self.asked.setdefault(session_id, {})[name] = recalls.opened(record.payload)
        elif known is not None:
            self._over(recalls.evolve(known, record))

    def _over(self, withdrawal: Withdrawal) -> None:
        questions = self.asked.get(withdrawal.session_id, {})
        questions.pop(withdrawal.withdrawal_id, None)
        if not questions:
            self.asked.pop(withdrawal.session_id, None)
        self.withdrawn[withdrawal.withdrawal_id] = withdrawal
        while len(self.withdrawn) > WITHDRAWN:
            self.withdrawn.popitem(last=False)

    def withdrawal(self, session_id: str, withdrawal_id: str) -> Withdrawal | None:
        """What this session was asked under this id, open or over."""
        found = self.asked.get(session_id, {}).get(withdrawal_id) or self.withdrawn.get(withdrawal_id)
        return found if found is not None and found.session_id == session_id else None

    def find(self, reminder_id: str) -> Envelope | None:
        """The envelope of this reminder, open or finished."""
        return self.open.get(reminder_id) or self.finished.get(reminder_id)

    def box(self, session_id: str) -> Iterator[Envelope]:
        """The open envelopes that have something for a session, first come first."""
        return map(self.open.__getitem__, tuple(self.boxes.get(session_id, ())))

    def counts(self) -> dict[State, int]:
        """How many envelopes are in each state, among those that are remembered."""
        counted = dict.fromkeys(letters.STATES, 0)
        for group in (self.open, self.finished):
            for envelope in group.values():
                counted[envelope.state] += 1
        return counted

    def session(self, session_id: str) -> Registration | None:
        """A session that is there, or was."""
        return self.sessions.get(session_id) or self.ended.get(session_id)

    def _left(self, session_id: str, at_ms: object) -> None:
        session = self.sessions.pop(session_id, None)
        if session is None:
            return
        self.ended[session_id] = replace(session, ended_ms=at_ms if isinstance(at_ms, int) else 0)
        while len(self.ended) > ENDED:
            self.ended.popitem(last=False)

    def _keep(self, envelope: Envelope) -> None:
        name = envelope.reminder_id
        if not envelope.finished:
            self.open[name] = envelope
            self._index(envelope)
            return
        self.open.pop(name, None)
        for session_id in envelope.deliveries:
            self._drop(session_id, name)
        self.finished[name] = replace(envelope, reminder=_without_text(envelope))
        while len(self.finished) > REMEMBERED:
            self.finished.popitem(last=False)

    def _index(self, envelope: Envelope) -> None:
        for session_id, delivery in envelope.deliveries.items():
            if delivery.state in letters.UNDER_WAY:
                self.boxes.setdefault(session_id, {})[envelope.reminder_id] = None
            else:
                self._drop(session_id, envelope.reminder_id)

    def _drop(self, session_id: str, reminder_id: str) -> None:
        box = self.boxes.get(session_id)
        if box is not None:
            box.pop(reminder_id, None)
            if not box:
                del self.boxes[session_id]


def _without_text(envelope: Envelope) -> dict[str, object]:
    kept = dict(envelope.reminder)
    kept.pop("body", None)
    return kept
