"""What two ACP peers tell each other about reminders, read and written. Pure, no SDK.

An agent says that it takes and reports reminders; a client says that it wants reports as updates of their
own. Both are written under `_meta.harn.reminders`, where the protocol wants extensions, and in the form of
seed 004 (decision 31). Readers accept either, and never guess: what is not advertised is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tidings.core.reminder import PROPAGATE, ROLE_HINTS, Payload
from tidings.core.seams import MODES

DEFAULT_PROPAGATE = ("session",)
DEFAULT_ROLE_HINTS = ("system",)


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent says of reminders. `method` is the name to inject with."""

    inject: bool = False
    emit: bool = False
    propagate: tuple[str, ...] = DEFAULT_PROPAGATE
    role_hints: tuple[str, ...] = DEFAULT_ROLE_HINTS
    modes: tuple[str, ...] = MODES
    methods: tuple[str, ...] = ()

    def to_wire(self) -> Payload:
        """The object that seed 004 describes."""
        return {
            "inject": self.inject,
            "emit": self.emit,
            "propagate": list(self.propagate),
            "roleHints": list(self.role_hints),
        }

    def to_meta(self) -> Payload:
        """The same with what the extension form adds: delivery modes and method names."""
        return {**self.to_wire(), "modes": list(self.modes), "methods": list(self.methods)}


FULL = Capabilities(
    inject=True,
    emit=True,
    propagate=PROPAGATE,
    role_hints=ROLE_HINTS,
    modes=MODES,
    methods=(
        "session/inject",
        "session/inject_reminder",
        "session/pending_injections",
        "session/revoke_reminder",
        "session/clear_reminders",
    ),
)
"""What our own agent does."""


REFERENCE = Capabilities(
    inject=True, emit=True, propagate=PROPAGATE, role_hints=ROLE_HINTS, methods=("session/remind",)
)
"""What the reference system does; it says so by its list of session update extensions."""


def advertised(
    agent_capabilities: Mapping[str, object], ours: Capabilities, *, rfc: bool = True
) -> Payload:
    """`agentCapabilities` with ours added; `rfc` also writes the key of seed 004 at its root."""
    changed = {**agent_capabilities, "_meta": _with_harn(agent_capabilities.get("_meta"), ours.to_meta())}
    return {**changed, "reminders": ours.to_wire()} if rfc else changed


def client_advertised(client_capabilities: Mapping[str, object]) -> Payload:
    """`clientCapabilities` that say: tell me of reminders as updates of their own."""
    return {**client_capabilities, "_meta": _with_harn(client_capabilities.get("_meta"), {"emit": True})}


def agent_reminders(agent_capabilities: object) -> Capabilities | None:
    """What an agent advertises; None when it says nothing of reminders."""
    root = _object(agent_capabilities, "reminders")
    meta = _object(agent_capabilities, "_meta", "harn", "reminders")
    if root is None and meta is None:
        return REFERENCE if _is_reference(agent_capabilities) else None
    told = {**(meta or {}), **(root or {})}
    methods = _strings(told.get("methods"), ())
    return Capabilities(
        inject=told.get("inject") is True,
        emit=told.get("emit") is True,
        propagate=_strings(told.get("propagate"), DEFAULT_PROPAGATE),
        role_hints=_strings(told.get("roleHints"), DEFAULT_ROLE_HINTS),
        modes=_strings(told.get("modes"), MODES),
        methods=methods or ("session/inject_reminder" if root is not None else "_session/inject_reminder",),
    )


def client_takes_updates(client_capabilities: object) -> bool:
    """Whether a client said that it reads reminder updates of their own."""
    places = (("_meta", "harn", "reminders"), ("reminders",), ("session", "reminders"))
    found = [_object(client_capabilities, *place) for place in places]
    return any(told is not None and told.get("emit", True) is True for told in found)


def _is_reference(agent_capabilities: object) -> bool:
    harn = _object(agent_capabilities, "_meta", "harn")
    updates = harn.get("sessionUpdateExtensions") if harn is not None else None
    return isinstance(updates, (list, Mapping)) and any("reminder" in str(name) for name in updates)


def _with_harn(meta: object, reminders: Payload) -> Payload:
    outer = dict(meta) if isinstance(meta, Mapping) else {}
    harn = outer.get("harn")
    return {**outer, "harn": {**(harn if isinstance(harn, Mapping) else {}), "reminders": reminders}}


def _object(value: object, *path: str) -> Mapping[str, object] | None:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else None


def _strings(value: object, default: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return tuple(default)
    return tuple(item for item in value if isinstance(item, str))
