"""What a server can tell on a listen stream, and which streams asked for it. Pure.

A `Filter` is what a client asked for and the server agreed to: the four core kinds, and ids of extensions.
Nothing reaches a stream that its filter does not name (seed 002, "list-changed only where filtered").
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.mcp.names import (
    EXTENSION,
    METHOD,
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    SESSION_META,
    TOOLS_CHANGED,
)

CHANGES = {
    "toolsListChanged": TOOLS_CHANGED,
    "promptsListChanged": PROMPTS_CHANGED,
    "resourcesListChanged": RESOURCES_CHANGED,
}
"""Each yes-or-no key of a filter, and the notification that it asks for."""

RESOURCES = "resourceSubscriptions"
MOST_URIS = 10_000


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One notification to whoever asked for it. `key` coalesces, `session` addresses one conversation."""

    method: str
    params: Payload = {}
    extension: str | None = None
    key: str | None = None
    session: str | None = None


def reminder_event(params: Payload, *, key: str | None = None, session: str | None = None) -> Event:
    """A reminder for the streams that asked for reminders."""
    return Event(method=METHOD, params=params, extension=EXTENSION, key=key, session=session)


def resource_updated(uri: str) -> Event:
    """A resource changed; its notifications coalesce by uri."""
    return Event(method=RESOURCE_UPDATED, params={"uri": uri}, key=f"{RESOURCE_UPDATED}:{uri}")


def list_changed(method: str) -> Event:
    """A list changed; one waiting notification says it as well as ten."""
    return Event(method=method, key=method)


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream gets. `extensions` holds the client's settings of each extension it asked for."""

    changes: frozenset[str] = frozenset()
    uris: frozenset[str] = frozenset()
    extensions: Mapping[str, Payload] = {}

    def wants(self, event: Event) -> bool:
        """Whether the stream asked for `event`."""
        if event.extension is not None:
            settings = self.extensions.get(event.extension)
            return settings is not None and event.session in (None, settings.get("session"))
        if event.method == RESOURCE_UPDATED:
            return _covers(self.uris, str(event.params.get("uri", "")))
        return event.method in self.changes

    def to_wire(self) -> Payload:
        """The honoured subset, as an acknowledgement names it."""
        told: Payload = {key: True for key, method in CHANGES.items() if method in self.changes}
        if self.uris:
            told[RESOURCES] = sorted(self.uris)
        return {**told, **{name: dict(settings) for name, settings in self.extensions.items()}}

    def meta(self, event: Event) -> Payload:
        """What the client is to find in `_meta` beside the subscription's id: its own handle."""
        settings = self.extensions.get(event.extension or "", {})
        return {SESSION_META: settings["session"]} if "session" in settings else {}


def read_filter(asked: object, supported: Filter) -> Filter:
    """What of `asked` a server that supports `supported` honours; unknown kinds are left out.

    Raises:
        CallerError: not an object, or a key with a value of the wrong kind.
    """
    if not isinstance(asked, Mapping):
        raise CallerError(f"`notifications` must be an object of what to listen to; got {shown(asked)}")
    changes = frozenset(CHANGES[key] for key in CHANGES if _yes(asked, key)) & supported.changes
    extensions = {
        name: _settings(name, asked[name]) for name in supported.extensions if asked.get(name) is not None
    }
    uris = _uris(asked.get(RESOURCES)) if supported.uris else frozenset()
    return Filter(changes=changes, uris=uris, extensions=extensions)


def _yes(asked: Mapping[str, object], key: str) -> bool:
    value = asked.get(key)
    if value is None or isinstance(value, bool):
        return value is True
    raise CallerError(f"`notifications.{key}` must be true or false; got {shown(value)}")


def _uris(value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    if isinstance(value, (list, tuple)) and all(isinstance(uri, str) for uri in value):
        if len(value) <= MOST_URIS:
            return frozenset(value)
        raise CallerError(f"`notifications.{RESOURCES}` may name {MOST_URIS} resources; got {len(value)}")
    raise CallerError(f"`notifications.{RESOURCES}` must be a list of strings; got {shown(value)}")


def _settings(name: str, value: object) -> Payload:
    if value is True:
        return {}
    if isinstance(value, Mapping) and isinstance(value.get("session", ""), str):
        return dict(value)
    raise CallerError(
        f"`notifications[{name!r}]` must be an object such as {{session: …}}; got {shown(value)}"
    )


def _covers(subscribed: frozenset[str], uri: str) -> bool:
    """Whether `uri` or something that holds it is subscribed: an update may name a sub-resource."""
    if uri in subscribed:
        return True
    return any(uri.startswith(one if one.endswith("/") else f"{one}/") for one in subscribed)
