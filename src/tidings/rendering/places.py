"""Where each reminder stands in a rendered request: its path in the body, and its words there. Pure.

Rendering itself keeps no such list, because most requests have nobody who asks: this finds the places
afterwards, by the rules that put them there. Paths are those of the vendor's body, such as
`messages[3].content[1]`. Called for whoever observes the answered requests of a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import TypeAlias

import msgspec

from tidings.core.messages import Message
from tidings.core.reminder import Reminder
from tidings.core.table import slot_of
from tidings.rendering.append_only import entry_text
from tidings.rendering.budget import fitting
from tidings.rendering.pieces import block_list, first_plain_user, leading, piece_text
from tidings.rendering.plan import framed, layout
from tidings.rendering.request import Request
from tidings.rendering.route import Route

Holder: TypeAlias = tuple[str, str]
"""A path in the body, and the text that stands there."""

_HISTORIES = ("messages", "input", "contents")
_PROMPT = "prompt"
_LAST = 2
"""An append-only request adds at most one entry in the user's voice and one in the operator's."""


class Place(msgspec.Struct, frozen=True):
    """A reminder in a request: the role it was given, where it stands, and the text as it stands there."""

    reminder_id: str
    role: str
    path: str
    fragment: str


def places(route: Route, request: Request) -> list[Place]:
    """The place of every reminder that the request shows anew, in transcript order."""
    roles = {shown.slot: shown.rendered_role for shown in request.fired}
    quotes = fitting(request.rendered).quotes
    found: list[Place] = []
    paths = _Paths(route, request)
    for reminder in request.rendered:
        role, quoted = roles[slot_of(reminder)], quotes.get(id(reminder))
        text = paths.words(reminder, role) if quoted is None else quoted
        found.append(Place(reminder.id, role, paths.of(role, text), text))
    return found


def history(body: Mapping[str, object]) -> tuple[str, Sequence[Message]]:
    """The name and the entries of a body's history; a prompt of plain text has no entries."""
    for name in _HISTORIES:
        found = body.get(name)
        if isinstance(found, list):
            return name, found
    return _PROMPT, ()


class _Paths:
    """Finds the paths of one request's reminders, asked for in transcript order."""

    def __init__(self, route: Route, request: Request) -> None:
        self._route = route
        self._seed = request.placement == "seed"
        self._body = request.body
        self._name, self._entries = history(request.body)
        self._blocks = self._first_user() if self._seed else iter(())
        told = sum(shown.rendered_role == "developer" for shown in request.fired)
        self._developers = self._last_developers(told) if self._seed else iter(())

    def words(self, reminder: Reminder, role: str) -> str:
        """An operator's or host's reminder as it was written."""
        if self._seed:
            return framed(layout(self._route).rows[reminder.role_hint].slot, reminder.body)
        return entry_text(self._route, role, reminder.body)

    def of(self, role: str, text: str) -> str:
        """Where `text` stands, given the role that it was rendered in."""
        if self._name == _PROMPT:
            return _PROMPT
        if not self._seed:
            return _holding(self._last(), text)
        if role == "system":
            return _holding(self._system(), text)
        return next(self._developers if role == "developer" else self._blocks)

    def _system(self) -> Iterator[Holder]:
        instruction = self._body.get("systemInstruction")
        if isinstance(instruction, dict):
            yield from _holders("systemInstruction.parts", instruction.get("parts"))
        for name in ("system", "instructions"):
            yield from _holders(name, self._body.get(name))
        yield from self._at(0)

    def _last_developers(self, count: int) -> Iterator[str]:
        """Those that open the history, behind its own: one message each."""
        head = leading(self._entries)
        return (path for place in range(head - count, head) for path, _ in self._at(place))

    def _first_user(self) -> Iterator[str]:
        """The blocks that open the first user message, or over and over the string that holds them all."""
        place = first_plain_user(self._entries)
        paths = [path for path, _ in self._at(place or 0)] if self._entries else []
        return repeat(paths[0]) if paths and paths[0].endswith("content") else iter(paths)

    def _last(self) -> Iterator[Holder]:
        for place in range(len(self._entries) - 1, max(-1, len(self._entries) - 1 - _LAST), -1):
            yield from reversed(list(self._at(place)))

    def _at(self, place: int) -> Iterator[Holder]:
        entry = self._entries[place] if self._entries else {}
        name = "parts" if "parts" in entry else "content"
        return _holders(f"{self._name}[{place}].{name}", entry.get(name))


def _holders(path: str, content: object) -> Iterator[Holder]:
    if isinstance(content, str):
        yield path, content
    for place, part in enumerate(block_list(content) or ()):
        if isinstance(part, (str, Mapping)):
            yield f"{path}[{place}]", piece_text(part)


def _holding(holders: Iterator[Holder], text: str) -> str:
    return next(path for path, held in holders if text in held)
