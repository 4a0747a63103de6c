"""The hub's records as a compact live log: one line for each thing that happens, and why. Pure.

`Story` keeps what a later line needs of an earlier record: who sent which reminder to whom, in short. What
the sessions tell (that a reminder stood in a request) belongs to it, too. Text of others is made harmless.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from tidings.cli.hubbing import addressed
from tidings.core.producers import shorten
from tidings.diagnostics.visible import visible
from tidings.log import LogRecord

Tone: TypeAlias = Literal["good", "plain", "quiet", "bad"]

KNOWN = 10_000
"""How many reminders are remembered."""


class Line(msgspec.Struct, frozen=True):
    """One line: when, what happened to whom, and the words it is about."""

    at_ms: int
    tone: Tone
    what: str
    words: str = ""

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.at_ms / 1000).strftime("%H:%M:%S")
        return f"{when}  {self.what}{': ' if self.words else ''}{self.words}"


class Sent(msgspec.Struct, frozen=True):
    """What is remembered of a reminder."""

    words: str
    why: str


class Story:
    """Turns records into lines, in their order."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, Sent] = OrderedDict()
        self._sessions: set[str] = set()

    def line(self, record: LogRecord) -> Line | None:
        """The line of a record of the hub's topic; None for what needs none."""
        tell = _HUB.get(record.kind)
        return None if tell is None else tell(self, record.occurred_at_ms, record.payload)

    def told(self, session_id: str, record: LogRecord) -> Line | None:
        """The line of a record that a session told."""
        inner = record.payload.get("payload")
        if not isinstance(inner, Mapping):
            return None
        if record.kind == "transcript.injected":
            self._learn(inner.get("event"))
        tell = _TOLD.get(record.kind)
        return None if tell is None else tell(self, record.occurred_at_ms, session_id, inner)

    def _learn(self, event: object) -> None:
        reminder = event.get("reminder") if isinstance(event, Mapping) else None
        if isinstance(reminder, Mapping) and str(reminder.get("id")) not in self._sent:
            sent = Sent(_short(reminder.get("body")), str(reminder.get("source")))
            self._keep(str(reminder.get("id")), sent)

    def _keep(self, reminder_id: str, sent: Sent) -> None:
        self._sent[reminder_id] = sent
        if len(self._sent) > KNOWN:
            self._sent.popitem(last=False)

    def _of(self, payload: Mapping[str, object]) -> Sent:
        name = str(payload.get("reminder_id"))
        return self._sent.get(name) or Sent(f"reminder {visible(shorten(name))}", "")

    def _registered(self, at: int, payload: Mapping[str, object]) -> Line | None:
        name = str(payload.get("session_id"))
        if name in self._sessions:
            return None
        self._sessions.add(name)
        about = [str(payload[key]) for key in ("agent", "workspace") if payload.get(key)]
        return Line(at, "plain", f"{_short(name)} is here", _short(", ".join(about)))

    def _left(self, at: int, payload: Mapping[str, object]) -> Line:
        name = str(payload.get("session_id"))
        self._sessions.discard(name)
        return Line(at, "plain", f"{_short(name)} left ({payload.get('reason')})")

    def _accepted(self, at: int, payload: Mapping[str, object]) -> Line:
        reminder = payload.get("reminder")
        body = reminder.get("body") if isinstance(reminder, Mapping) else ""
        origin = str(payload.get("origin") or "a host")
        why = f"{visible(origin)}, for {visible(addressed(payload.get('to')))}"
        self._keep(str(payload.get("reminder_id")), Sent(_short(body), why))
        return Line(at, "quiet", f"news from {why}", _short(body))

    def _acknowledged(self, at: int, payload: Mapping[str, object]) -> Line:
        sent = self._of(payload)
        why = f" ({sent.why})" if sent.why else ""
        return Line(at, "good", f"{_short(payload.get('session_id'))} got it{why}", sent.words)

    def _returned(self, at: int, payload: Mapping[str, object]) -> Line:
        what = f"{_short(payload.get('session_id'))} did not take it ({payload.get('reason')})"
        return Line(at, "bad", what, self._of(payload).words)

    def _expired(self, at: int, payload: Mapping[str, object]) -> Line:
        return Line(at, "quiet", "its time is over", self._of(payload).words)

    def _revoked(self, at: int, payload: Mapping[str, object]) -> Line:
        return Line(at, "quiet", "taken back", self._of(payload).words)

    def _fired(self, at: int, session_id: str, payload: Mapping[str, object]) -> Line:
        what = f"the model of {_short(session_id)} saw it in turn {payload.get('turn_number')}"
        return Line(at, "good", what, self._of(payload).words)


def _attached(_: Story, at: int, payload: Mapping[str, object]) -> Line:
    names = payload.get("watchers")
    listed = ", ".join(map(str, names)) if isinstance(names, list) else ""
    return Line(at, "plain", f"{_short(payload.get('workspace'))} is attached", visible(listed))


def _detached(_: Story, at: int, payload: Mapping[str, object]) -> Line:
    return Line(at, "plain", f"{_short(payload.get('workspace'))} is detached")


def _watcher(_: Story, at: int, payload: Mapping[str, object]) -> Line | None:
    state = str(payload.get("state"))
    if state == "stopped" and not payload.get("message"):
        return None
    tone: Tone = "plain" if state in ("watching", "stopped") else "bad"
    what = f"{_short(payload.get('name'))} is {visible(state)}"
    return Line(at, tone, what, _short(payload.get("message")))


def _config(_: Story, at: int, payload: Mapping[str, object]) -> Line:
    found = payload.get("problems")
    listed = [str(one) for one in found] if isinstance(found, list) else []
    place = _short(payload.get("workspace"))
    if not listed:
        return Line(at, "plain", f"the tidings.toml of {place} was read again")
    return Line(at, "bad", f"the tidings.toml of {place} is not used", visible("; ".join(listed)))


def _noticed(_: Story, at: int, payload: Mapping[str, object]) -> Line:
    return Line(at, "quiet", f"{_short(payload.get('name'))} notes", _short(payload.get("message")))


def _dropped(_: Story, at: int, payload: Mapping[str, object]) -> Line:
    count, why = payload.get("count", 1), payload.get("detail") or payload.get("reason")
    return Line(at, "bad", f"{count} of {_short(payload.get('origin'))} dropped", _short(why))


def _short(value: object) -> str:
    return visible(shorten(" ".join(str(value or "").split())))


Tell: TypeAlias = Callable[[Story, int, Mapping[str, object]], Line | None]

_HUB: dict[str, Tell] = {
    "hub.session.registered": Story._registered,
    "hub.session.left": Story._left,
    "hub.reminder.accepted": Story._accepted,
    "hub.reminder.acknowledged": Story._acknowledged,
    "hub.reminder.returned": Story._returned,
    "hub.reminder.expired": Story._expired,
    "hub.reminder.revoked": Story._revoked,
    "hub.workspace.attached": _attached,
    "hub.workspace.detached": _detached,
    "hub.workspace.watcher": _watcher,
    "hub.workspace.config": _config,
    "hub.workspace.noticed": _noticed,
    "transcript.reminder.dropped": _dropped,
}
_TOLD: dict[str, Callable[[Story, int, str, Mapping[str, object]], Line | None]] = {
    "transcript.reminder.fired": Story._fired,
}
