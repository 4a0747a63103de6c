"""How a server says that it sends reminders, and how a host reads it. Pure.

Said three ways at once, because hosts of both eras and of the reference system look in different places
(decision 25): as the extension, as seed 000's `capabilities.reminders`, and under `_meta.harn.reminders`.
A host reads the raw result: the SDK drops keys that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tidings.core.records import Record
from tidings.core.reminder import PROPAGATE, ROLE_HINTS, Payload, Reminder
from tidings.core.trust import restricted
from tidings.mcp.names import EXTENSION, MODERN


class Advertised(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of its reminders (seed 000, "Server capability advertisement")."""

    emit: bool = True
    propagate: tuple[str, ...] = ("session", "none")
    role_hints: tuple[str, ...] = ("system", "developer")

    def to_wire(self) -> Payload:
        """The object of seed 000."""
        return {"emit": self.emit, "propagate": list(self.propagate), "roleHints": list(self.role_hints)}


def with_reminders(capabilities: Mapping[str, object], ours: Advertised, era: str) -> Payload:
    """A server's `capabilities` with ours; the modern era has no place for the seed's own key."""
    told = ours.to_wire()
    changed: Payload = {
        **capabilities,
        "extensions": {**_object(capabilities, "extensions"), EXTENSION: told},
    }
    if era == MODERN:
        return changed
    meta = _object(capabilities, "_meta")
    harn = {**_object(meta, "harn"), "reminders": told}
    return {**changed, "reminders": told, "_meta": {**meta, "harn": harn}}


def read(capabilities: object) -> Advertised | None:
    """What a server advertises; None when it does not say that it emits: its reminders are dropped."""
    places = (("extensions", EXTENSION), ("reminders",), ("_meta", "harn", "reminders"))
    found = [told for place in places if (told := _at(capabilities, place)) is not None]
    for told in found:
        if told.get("emit", True) is True:
            return Advertised(
                propagate=_strings(told.get("propagate"), ("session",), PROPAGATE),
                role_hints=_strings(told.get("roleHints"), ("system",), ROLE_HINTS),
            )
    return None


def within(reminder: Reminder, advertised: Advertised) -> tuple[Reminder, list[Record]]:
    """`reminder` lowered to what its server advertised, and the records of what it claimed beyond."""
    changed: Payload = {}
    written: list[Record] = []
    for name, allowed in (("propagate", advertised.propagate), ("role_hint", advertised.role_hints)):
        asked = getattr(reminder, name)
        given = _lowered(name, asked, allowed)
        if given != asked:
            changed[name] = given
            written.append(restricted(reminder, name, asked, given, reason="not advertised"))
    return (replace(reminder, **changed) if changed else reminder), written


def _lowered(name: str, asked: str, allowed: tuple[str, ...]) -> str:
    """The nearest that was advertised: a shorter reach, or the plainest role."""
    if asked in allowed:
        return asked
    if name == "role_hint":
        return "system"
    shorter = PROPAGATE[PROPAGATE.index(asked) + 1 :] if asked in PROPAGATE else ()
    return next((one for one in shorter if one in allowed), "none")


def _object(value: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _at(value: object, path: tuple[str, ...]) -> Mapping[str, object] | None:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else None


def _strings(value: object, default: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return default
    return tuple(item for item in known if item in value)
