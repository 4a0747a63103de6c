"""Reading a payload whose shape may change: what is there is taken, what is odd is said. Pure.

Every host's module reads through a `Fields`; nothing it does raises.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidings.core.producers import shown
from tidings.hosts.happening import Event, Host, Odd

LONGEST_ID = 160
LONGEST_PATH = 4096
CALLS = 256
"""How many tool calls of one event are looked at."""


class Fields:
    """A payload, and what was odd about it so far."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self._payload = payload
        self.odd: list[str] = []

    def heading(self, host: Host) -> tuple[str, str] | Odd:
        """The event's name and the session's id, without which there is nothing to do."""
        name, session_id = self.text("hook_event_name"), self.text("session_id")
        if name is not None and session_id is not None:
            return name, session_id
        missing = f"no `hook_event_name` or no `session_id` among {shown(sorted(map(str, self._payload)))}"
        return Odd(host, "; ".join(self.odd) or missing)

    def event(self, name: str, events: Mapping[str, Event]) -> Event:
        """What the event of this name means; one that is not known means nothing, and is odd."""
        if name in events:
            return events[name]
        self.odd.append(f"the event {shown(name)} is not known; it is answered with nothing")
        return Event()

    def text(self, name: str, longest: int = LONGEST_ID) -> str | None:
        """A member that is text; None when it is absent, blank, too long or something else."""
        value = self._payload.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > longest or not value.isprintable():
            self.odd.append(f"`{name}` is {shown(value)}; text of up to {longest} characters was expected")
            return None
        return value.strip() or None

    def folder(self, name: str) -> str | None:
        """A member that is an absolute path."""
        path = self.text(name, LONGEST_PATH)
        if path is not None and not path.startswith("/"):
            self.odd.append(f"`{name}` is {shown(path)}; an absolute path was expected")
            return None
        return path

    def flag(self, name: str) -> bool:
        """A member that is true or false; absent is false."""
        value = self._payload.get(name)
        if value is not None and not isinstance(value, bool):
            self.odd.append(f"`{name}` is {shown(value)}; true or false was expected")
        return value is True

    def each(self, name: str, *inner: str) -> tuple[str, ...]:
        """The first text of these names in every object of a list; objects without one are left out."""
        value = self._payload.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.odd.append(f"`{name}` is {shown(value)}; a list of objects was expected")
            return ()
        rows = (row for row in value[:CALLS] if isinstance(row, Mapping))
        found = (next((row[each] for each in inner if each in row), None) for row in rows)
        return tuple(one for one in found if isinstance(one, str) and 0 < len(one) <= LONGEST_ID)

    def within(self, name: str) -> Mapping[str, object]:
        """A member that is an object; an empty one when it is something else."""
        value = self._payload.get(name)
        if value is not None and not isinstance(value, Mapping):
            self.odd.append(f"`{name}` is {shown(value)}; an object was expected")
        return value if isinstance(value, Mapping) else {}
