"""The transcript: an agent's durable messages and its events, among them the pending reminders.

An immutable value: every change gives a new one that shares nearly everything with the old. A
reminder is pending as long as its `system_reminder` event stands here (decision 2). Events are
read and written in the exact shape of seed 001; one that does not hold a valid reminder is
kept as it is until a request is built, which drops it with a record (decision 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, overload

import msgspec

from tidings.core.listing import Listing
from tidings.core.messages import Message, MessageList
from tidings.core.reminder import Payload, Reminder, Trust, read_payload
from tidings.core.shelf import Shelf
from tidings.core.table import Entry, Slot, listed, slot
from tidings.core.text import is_unicode
from tidings.errors import TranscriptError

REMINDER_KIND = "system_reminder"

Other: TypeAlias = tuple[int, Payload]
"""An event that is no valid reminder, with its place among all events."""


class Withdrawn(msgspec.Struct, frozen=True):
    """A reminder that stands in an append-only history but was cleared or replaced since."""

    reminder_id: str
    reason: str
    body: str
    trust: Trust = "operator"
    scope: str | None = None

    @property
    def slot(self) -> Slot:
        """Its id in the namespace of its origin."""
        return slot(self.scope, self.reminder_id)


class Marks(msgspec.Struct, frozen=True):
    """What the lifecycle remembers besides the events.

    `turn` is the last answered turn; `warned` holds the warnings given (one per session, code and
    producer); `standing` the reminders that an append-only history shows; `withdrawn` those of
    them that no longer hold and were not yet said to; `waiting` the external ones that the last
    request had no room for, in the order they wait.
    """

    turn: int = 0
    warned: frozenset[str] = frozenset()
    standing: frozenset[Slot] = frozenset()
    withdrawn: tuple[Withdrawn, ...] = ()
    waiting: tuple[Slot, ...] = ()


class State(msgspec.Struct, frozen=True, gc=False):
    """The parts of a transcript, for the lifecycle; users see `Transcript`."""

    messages: MessageList
    shelf: Shelf
    others: tuple[Other, ...]
    next_seq: int
    session_id: str | None
    agent_id: str | None
    marks: Marks


class Pending(Sequence[Reminder]):
    """The pending reminders in order, read-only; equal to a list or tuple of the same.

    The ttl each has left is worked out when somebody looks. `render` does not: it takes `stored`, the
    reminders as they were put, with `outsiders` (how many are external), `invalid`, `withdrawn` and
    `waiting`.
    """

    __slots__ = ("_listed", "_shelf", "invalid", "outsiders", "waiting", "withdrawn")

    def __init__(self, state: State) -> None:
        self._shelf = state.shelf
        self._listed: Listing[Reminder] | None = None
        self.outsiders = state.shelf.external
        others = state.others
        self.invalid = tuple([e for _, e in others if e.get("kind") == REMINDER_KIND]) if others else ()
        self.withdrawn = state.marks.withdrawn
        self.waiting = state.marks.waiting

    @property
    def stored(self) -> list[Reminder]:
        """The reminders in order, as they were put."""
        return self._shelf.listing().reminders

    @property
    def bodies(self) -> list[str]:
        """Their bodies."""
        return self._shelf.listing().bodies

    def _list(self) -> Listing[Reminder]:
        if self._listed is None:
            self._listed = Listing(map(self._shelf.remaining, self._shelf.entries()))
        return self._listed

    @overload
    def __getitem__(self, index: int) -> Reminder: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Reminder]: ...
    def __getitem__(self, index: int | slice) -> Reminder | Sequence[Reminder]:
        return self._list()[index]

    def __len__(self) -> int:
        return self._shelf.size

    def __iter__(self) -> Iterator[Reminder]:
        return iter(self._list())

    def __eq__(self, other: object) -> bool:
        return self._list() == (tuple(other) if isinstance(other, Pending) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._list())


class Transcript:
    """Messages and events of one agent session. Never changes; every transform returns another."""

    __slots__ = ("_events", "_pending", "_state")
    _state: State
    _events: Listing[Payload]
    _pending: Pending

    def __init__(
        self,
        messages: Iterable[Message] = (),
        events: Iterable[Mapping[str, object]] = (),
        session_id: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        given = _checked_objects("messages", messages)
        shelf, others, count = _sort_events(_checked_objects("events", events))
        session = _text_or_none("session_id", session_id)
        agent = _text_or_none("agent_id", agent_id)
        self._state = State(MessageList.of(given), shelf, others, count, session, agent, Marks())

    @classmethod
    def of(cls, state: State) -> Transcript:
        """The transcript with these parts."""
        transcript = _new(cls)
        transcript._state = state
        return transcript

    @property
    def state(self) -> State:
        """The parts, for code that transforms transcripts."""
        return self._state

    @property
    def messages(self) -> Listing[Message]:
        """The durable messages; reminders never touch them."""
        return self._state.messages.listing()

    @property
    def events(self) -> Listing[Payload]:
        """All events in order, reminders with the ttl they have left."""
        try:
            return self._events
        except AttributeError:
            self._events = _list_events(self._state)
            return self._events

    @property
    def pending(self) -> Pending:
        """The pending reminders, oldest first."""
        try:
            return self._pending
        except AttributeError:
            self._pending = Pending(self._state)
            return self._pending

    @property
    def session_id(self) -> str | None:
        """The session this transcript belongs to."""
        return self._state.session_id

    @property
    def agent_id(self) -> str | None:
        """The agent that works in it."""
        return self._state.agent_id

    @property
    def turn(self) -> int:
        """The last answered turn; 0 before the first."""
        return self._state.marks.turn

    def append(self, message: Message) -> Transcript:
        """This transcript with one more durable message."""
        if type(message) is not dict:
            (message,) = _checked_objects("messages", (message,))
        messages = self._state.messages.append(message)
        return Transcript.of(msgspec.structs.replace(self._state, messages=messages))

    def to_dict(self) -> Payload:
        """The JSON-ready form; `from_dict` reads it back."""
        stored: Payload = {
            "messages": [dict(message) for message in self.messages],
            "events": [dict(event) for event in self.events],
            "session_id": self.session_id,
            "agent_id": self.agent_id,
        }
        if self._state.marks != Marks():
            stored["reminder_lifecycle"] = _marks_to_dict(self._state.marks)
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> Transcript:
        """The transcript that `to_dict` stored.

        Raises:
            TranscriptError: naming what cannot be read.
        """
        if not isinstance(stored, Mapping):
            raise TranscriptError(f"a stored transcript is an object, not {type(stored).__name__}")
        transcript = cls(
            messages=_checked_objects("messages", stored.get("messages") or ()),
            events=_checked_objects("events", stored.get("events") or ()),
            session_id=_text_or_none("session_id", stored.get("session_id")),
            agent_id=_text_or_none("agent_id", stored.get("agent_id")),
        )
        marks = _read_marks(stored.get("reminder_lifecycle"))
        return cls.of(msgspec.structs.replace(transcript._state, marks=marks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transcript) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        state = self._state
        return (
            f"Transcript(session_id={state.session_id!r}, agent_id={state.agent_id!r}, "
            f"messages={len(state.messages)}, pending={state.shelf.size}, turn={self.turn})"
        )


_new = object.__new__


def wrap(state: State) -> Transcript:
    """`Transcript.of`, for the hot paths."""
    transcript = _new(Transcript)
    transcript._state = state
    return transcript


def event_of(reminder: Reminder, event_id: str) -> Payload:
    """The transcript event of a reminder, in the shape of seed 001."""
    payload = reminder.to_dict()
    return {
        "id": event_id,
        "kind": REMINDER_KIND,
        "role": reminder.role_hint,
        "visibility": "public",
        "text": reminder.body,
        "blocks": [{"type": "text", "text": reminder.body, "visibility": "public"}],
        "reminder": payload,
        "metadata": dict(payload),
    }


def entry_event(shelf: Shelf, entry: Entry) -> Payload:
    """The event of an entry with the ttl it has left; a stored event keeps its other fields."""
    reminder = shelf.remaining(entry)
    if entry.event is None:
        return event_of(reminder, entry.event_id)
    if reminder == read_payload(entry.event.get("reminder")):
        return entry.event
    return {**entry.event, **_mirrored(entry.event, reminder)}


def _mirrored(event: Payload, reminder: Reminder) -> Payload:
    """Both copies of a stored payload with what the lifecycle changes: ttl and turn."""
    fresh: Payload = {"fired_at_turn": reminder.fired_at_turn}
    if reminder.ttl_turns is not None:
        fresh["ttl_turns"] = reminder.ttl_turns
    changed: Payload = {}
    for name in ("reminder", "metadata"):
        stored = event.get(name)
        changed[name] = {**stored, **fresh} if isinstance(stored, Mapping) else reminder.to_dict()
    return changed


def _sort_events(events: tuple[Payload, ...]) -> tuple[Shelf, tuple[Other, ...], int]:
    """Valid reminders go on the shelf, everything else stays as it is."""
    stored: list[tuple[int, Reminder, str, Payload]] = []
    others: list[Other] = []
    seen: set[object] = set()
    for seq, event in enumerate(events):
        reminder = read_payload(event.get("reminder")) if event.get("kind") == REMINDER_KIND else None
        identity = None if reminder is None else (reminder.scope, reminder.id)
        if reminder is None or identity in seen:
            others.append((seq, event))
        else:
            seen.add(identity)
            event_id = event.get("id")
            name = event_id if isinstance(event_id, str) else reminder.id
            stored.append((seq, reminder, name, event))
    return Shelf.of(stored), tuple(others), len(events)


def _list_events(state: State) -> Listing[Payload]:
    shelf = state.shelf
    placed = [(entry.seq, entry_event(shelf, entry)) for entry in shelf.entries()]
    if state.others:
        placed = sorted((*placed, *state.others), key=lambda pair: pair[0])
    return Listing(event for _, event in placed)


def _checked_objects(name: str, given: object) -> tuple[Payload, ...]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise TranscriptError(f"`{name}` must be a list of objects, not {type(given).__name__}")
    items = tuple(given)
    for index, item in enumerate(items):
        if not isinstance(item, (dict, Mapping)):
            kind = type(item).__name__
            raise TranscriptError(f"`{name}[{index}]` must be an object, not {kind}: {item!r:.80}")
    return items


def _text_or_none(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and is_unicode(value)):
        return value
    raise TranscriptError(f"`{name}` must be a string or null, not {value!r:.80}")


def _marks_to_dict(marks: Marks) -> Payload:
    stored: Payload = {"turn": marks.turn, "warned": sorted(marks.warned)}
    stored["standing"] = listed(sorted(marks.standing, key=str))
    stored["withdrawn"] = [msgspec.to_builtins(note) for note in marks.withdrawn]
    stored["waiting"] = listed(marks.waiting)
    return {name: value for name, value in stored.items() if value}


def _read_marks(stored: object) -> Marks:
    try:
        return msgspec.convert({} if stored is None else stored, Marks)
    except msgspec.ValidationError as error:
        raise TranscriptError(f"`reminder_lifecycle` cannot be read: {error}") from error
