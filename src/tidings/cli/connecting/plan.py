"""What connecting or disconnecting does to one file: its bytes now in, its bytes then out. Pure.

A file that is as we left it gets its original back, byte for byte. One that was changed since loses our
hooks and keeps all else. Connecting again starts from there, so that it can be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff

import msgspec

from tidings.cli.connecting.manifest import Entry, digest
from tidings.cli.connecting.places import Target
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.hosts.settings.edit import added, checked, events_of, removed, undone
from tidings.hosts.settings.tree import Node, SettingsError, parse
from tidings.hosts.settings.wiring import is_ours

VERSIONS = (1,)
"""The versions of a hooks file that are known, where it names one."""

SWITCHES: dict[tuple[str, ...], bool] = {("hooksConfig", "enabled"): False, ("disableAllHooks",): True}
"""Settings with which a host runs no hooks, by their value."""

PLUGIN = "News from the hub."
MONITOR = "news from tidings"
"""How the plugin with a monitor describes itself, and how its monitor does: the model reads that."""
MARKS = ("// Tidings plugin", f'"description": "{PLUGIN}"', f'"description": "{MONITOR}"')
"""By which the files of our plugins are known."""


class Plan(msgspec.Struct, frozen=True):
    """A file before and after; None is a file that is not there. `entry` is what to remember."""

    target: Target
    before: bytes | None
    after: bytes | None
    entry: Entry | None = None

    @property
    def change(self) -> str:
        """What happens to the file, in a word."""
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"

    def diff(self) -> str:
        """The change as a unified diff."""
        path = str(self.target.path)
        sides = [(data or b"").decode().splitlines(keepends=True) for data in (self.before, self.after)]
        old, new = ([line.rstrip("\r\n") + "\n" for line in side] for side in sides)
        return "".join(unified_diff(old, new, path, path))


def connected(
    place: Target, now: bytes | None, known: Entry | None, groups: Mapping[str, Payload], wake: bool
) -> Plan:
    """The file with our hooks in it.

    Raises:
        SettingsError: its JSON is broken, or it has another shape or version than is known.
    """
    text = _text(place, now)
    base = _without(place, text, known)
    if base.strip():
        _check(place, base, groups)
    edited = added(base, groups)
    after = edited.text.encode()
    entry = Entry(
        host=place.host,
        path=str(place.path),
        existed=known.existed if known is not None else now is not None,
        original=digest(base.encode()),
        written=digest(after),
        inserted=edited.inserted,
        events=events_of(base),
        folders=known.folders if known is not None else (),
        wake=wake,
    )
    return Plan(place, now, after, entry)


def disconnected(place: Target, now: bytes | None, known: Entry | None) -> Plan:
    """The file without our hooks; gone, when it was not there before us and holds nothing else.

    Raises:
        SettingsError: its JSON is broken.
    """
    if now is None:
        return Plan(place, None, None)
    base = _without(place, _text(place, now), known)
    made_by_us = known is not None and not known.existed
    return Plan(place, now, None if made_by_us and not base.strip() else base.encode())


def plugged(place: Target, now: bytes | None, known: Entry | None, source: str, wake: bool) -> Plan:
    """The plugin's file.

    Raises:
        SettingsError: another file of that name is there.
    """
    if now is not None and not is_our_plugin(now):
        raise SettingsError(f"{str(place.path)!r} is there and not ours; move it away first")
    after = source.encode()
    folders = known.folders if known is not None else ()
    entry = Entry(
        host=place.host,
        path=str(place.path),
        existed=False,
        original="",
        written=digest(after),
        folders=folders,
        wake=wake,
    )
    return Plan(place, now, after, entry)


def unplugged(place: Target, now: bytes | None, known: Entry | None) -> Plan:
    """The plugin's file, gone.

    Raises:
        SettingsError: somebody changed it since, or it is not ours.
    """
    if now is None:
        return Plan(place, None, None)
    if known is not None and digest(now) != known.written:
        raise SettingsError(f"{str(place.path)!r} was changed since it was installed; remove it yourself")
    if not is_our_plugin(now):
        return Plan(place, now, now)
    return Plan(place, now, None)


def is_our_plugin(data: bytes) -> bool:
    """Whether a file is a plugin of ours."""
    return any(mark.encode() in data for mark in MARKS)


def _text(place: Target, now: bytes | None) -> str:
    try:
        return (now or b"").decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{str(place.path)!r} is not UTF-8: {error}") from error


def _without(place: Target, text: str, known: Entry | None) -> str:
    """The text as it was before us, or without our hooks when it was changed since."""
    if not text.strip():
        return text
    if known is not None and digest(text.encode()) == known.written:
        original = undone(text, known.inserted)
        if digest(original.encode()) == known.original:
            return original
    try:
        return removed(text, is_ours, known.events if known is not None else frozenset())
    except SettingsError as error:
        raise _placed(place, error) from error


def _check(place: Target, text: str, groups: Mapping[str, Payload]) -> None:
    try:
        root = parse(text)
        checked(root, groups)
    except SettingsError as error:
        raise _placed(place, error) from error
    version = root.get("version") if place.host == "codex" else None
    if version is not None and version.plain() not in VERSIONS:
        raise SettingsError(
            f"{str(place.path)!r} has version {shown(version.plain())}; known is "
            f"{', '.join(map(str, VERSIONS))}: upgrade Tidings, or put the hooks in by hand"
        )
    for path, off in SWITCHES.items():
        found: Node | None = root
        for name in path:
            found = None if found is None else found.get(name)
        if found is not None and found.plain() is off:
            said = f"`{'.'.join(path)}` is {str(off).lower()}"
            raise SettingsError(f"{str(place.path)!r} switches hooks off: {said}; change that first")


def _placed(place: Target, error: SettingsError) -> SettingsError:
    return SettingsError(f"{str(place.path)!r}: {error}; mend it first, nothing was changed")
