"""What a hook or provider returned becomes `Effects`: reminders, an action, a veto. Pure.

The shapes are those of seed 001 ("From a hook", "From a provider"): nothing, a bare reminder spec,
`{"reminder": …, "then": …}`, `{"effects": …}`, `{"type": "reminder", "spec": …}`, or a list of those; a
hook may also decide about its event with the keys of `DECIDES`. Every spec passes the gate in
`core/producers.py` here, so what comes out can be admitted as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from tidings.agent.events import DECIDES, HookEvent
from tidings.core.producers import build, shown
from tidings.core.reminder import Payload
from tidings.errors import CallerError, DiagnosticError, Problem

Author: TypeAlias = Literal["hook", "provider"]

MAX_DEPTH = 32
"""How deep `then`, `effects` and lists may nest."""
MAX_REMINDERS = 64
"""How many reminders one result may carry."""

DECISIONS = ("allow", "deny", "ask")
"""What `{"decision": …}` may say at permission_asked."""

ACTION_KEYS = frozenset(
    ("deny", "args", "result", "output", "modify", "block", "decision", "action", "control")
)
"""Keys that make a returned mapping a decision about the event, not a bare reminder."""

_VETOED = "refused by a hook without giving a reason"


class EffectError(CallerError):
    """A hook returned something that is neither reminders nor a decision its event allows."""


class Effects(msgspec.Struct, frozen=True):
    """What one result asks for. `action` holds `args`, `result` or `decision`; empty means go on."""

    reminders: tuple[Payload, ...] = ()
    action: Payload = {}
    veto: str | None = None

    def __bool__(self) -> bool:
        return bool(self.reminders or self.action or self.veto is not None)


class _Origin(msgspec.Struct, frozen=True):
    """Whose result is read, for the rules and the error messages."""

    event: HookEvent
    author: Author
    label: str

    def wrong(self, value: object, fix: str) -> CallerError:
        """The error for a shape that this author may not return."""
        if self.author == "provider":
            problem = Problem("HARN-RMD-006", "", shown(value), f"{fix}; got {shown(value)}")
            return DiagnosticError(self.label, (problem,))
        return EffectError(f"{self.label}: {fix}; got {shown(value)}")


def parse(event: HookEvent, returned: object, *, author: Author = "hook", name: str = "") -> Effects:
    """The effects that `returned` describes; `name` is the hook's or provider's, for messages.

    Raises:
        DiagnosticError: HARN-RMD-001 or 005 for a wrong spec, 006 for a provider's wrong shape, 008
            for a reminder from a worker event.
        EffectError: any other shape from a hook, or a decision that the event does not allow.
    """
    label = f"{author} {name!r} at {event.name}" if name else f"{author} at {event.name}"
    return _read(_Origin(event, author, label), returned, 0)


def _read(origin: _Origin, value: object, depth: int) -> Effects:
    if depth > MAX_DEPTH:
        raise origin.wrong(value, f"effects may nest at most {MAX_DEPTH} deep")
    if value is None:
        return Effects()
    if isinstance(value, bool) and origin.author == "hook":
        return Effects() if value else _veto(origin, value, None)
    if isinstance(value, (list, tuple)):
        return _merge(origin, (_read(origin, item, depth + 1) for item in value))
    if isinstance(value, Mapping):
        return _read_mapping(origin, value, depth)
    raise origin.wrong(value, "must return nothing, a reminder spec, an effect or a list of effects")


def _read_mapping(origin: _Origin, value: Mapping[str, object], depth: int) -> Effects:
    if "effects" in value:
        return _merge(
            origin,
            (_read(origin, value["effects"], depth + 1), *_rest(origin, value, {"effects"}, depth)),
        )
    typed = "reminder" in (_word(value, "type"), _word(value, "kind"))
    slot = "reminder" if "reminder" in value else "spec" if typed and "spec" in value else None
    if slot is not None:
        used = {slot, "type", "kind"} if typed else {slot}
        first = Effects((_spec(origin, value[slot]),))
        return _merge(origin, (first, *_rest(origin, value, used, depth)))
    if "body" in value and not ACTION_KEYS & set(value):
        return Effects((_spec(origin, value),))
    return _act(origin, value)


def _word(value: Mapping[str, object], key: str) -> object:
    word = value.get(key)
    return word if isinstance(word, str) else None


def _rest(origin: _Origin, value: Mapping[str, object], used: set[str], depth: int) -> Iterable[Effects]:
    """What stands beside the reminder: `then`, and action keys."""
    if "then" in value:
        yield _read(origin, value["then"], depth + 1)
    left = {key: item for key, item in value.items() if key not in used and key != "then"}
    if left:
        yield _act(origin, left)


def _spec(origin: _Origin, spec: object) -> Payload:
    """The spec, once the event may carry it and the gate has let it through."""
    if not origin.event.reminders:
        fix = (
            f"{origin.event.name} only observes a worker and carries no reminders; "
            "return it from a session, tool, step or persona hook"
        )
        raise DiagnosticError(origin.label, (Problem("HARN-RMD-008", "reminder", shown(spec), fix),))
    options = cast("Mapping[str, object]", spec)  # the gate refuses what is no mapping
    try:
        build(origin.author, options, id="checked")
    except DiagnosticError as error:
        raise DiagnosticError(origin.label, error.problems) from None
    return dict(options)


def _act(origin: _Origin, value: Mapping[str, object]) -> Effects:
    """The action that `value` describes, in one spelling each: args, result, decision, or a veto."""
    allowed = DECIDES[origin.event.verdict] if origin.author == "hook" else frozenset()
    unknown = sorted(str(key) for key in value if key not in allowed)
    if unknown or not set(value) - {"reason"}:
        raise origin.wrong(value, _unexpected(origin, unknown, allowed))
    if (refused := _refusal(origin, value)) is not None:
        return _veto(origin, value, refused)
    return Effects((), _action(origin, value))


def _unexpected(origin: _Origin, unknown: list[str], allowed: frozenset[str]) -> str:
    told = f"may decide with {', '.join(sorted(allowed))}" if allowed else "may decide nothing"
    kind = "carries no reminder and " if not unknown else ""
    named = f"{kind}has {', '.join(unknown) or 'only a reason'}"
    if origin.author == "provider":
        return f"a provider's result needs `body`, `reminder` or `effects`; this one {named}"
    return f"a hook at {origin.event.name} {told}, and a reminder needs a `body`; this result {named}"


def _refusal(origin: _Origin, value: Mapping[str, object]) -> str | None:
    """Why the event is to be stopped: from `block` (a flag) or `deny` (a flag or the reason)."""
    reason = value.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise origin.wrong(reason, "`reason` must be a string")
    block, deny = value.get("block"), value.get("deny")
    if block is not None and not isinstance(block, bool):
        raise origin.wrong(block, "`block` must be true or false")
    if deny is not None and not isinstance(deny, (bool, str)):
        raise origin.wrong(deny, "`deny` must be true, false or the reason")
    if isinstance(deny, str):
        return _writable(deny.strip() or reason or _VETOED)
    return _writable(reason or _VETOED) if block or deny else None


def _writable(reason: str) -> str:
    """`reason` without what no log can hold: a refusal counts, however badly it is put."""
    return reason.encode(errors="replace").decode()


def _action(origin: _Origin, value: Mapping[str, object]) -> Payload:
    action: Payload = {}
    for key, item in value.items():
        if key == "args" or (key == "modify" and origin.event.verdict == "arguments"):
            if not isinstance(item, Mapping):
                raise origin.wrong(item, f"`{key}` must be the tool's arguments, a mapping")
            _once(origin, action, "args", dict(item))
        elif key in ("result", "output", "modify"):
            _once(origin, action, "result", _shown_to_the_model(origin, key, item))
        elif key == "decision":
            if item not in DECISIONS:
                raise origin.wrong(item, f"`decision` must be one of {', '.join(DECISIONS)}")
            if item == "deny" and not value.get("reason"):
                raise origin.wrong(value, 'a `decision` of "deny" needs a `reason`: the model is told it')
            reason = value.get("reason")
            action |= {"decision": item, "reason": _writable(reason) if isinstance(reason, str) else None}
    return action


def _once(origin: _Origin, action: Payload, key: str, item: object) -> None:
    """Put `item` into `action`, unless something else stands there."""
    if action.setdefault(key, item) != item:
        raise origin.wrong(item, f"`{key}` is given twice with different values")


def _shown_to_the_model(origin: _Origin, key: str, item: object) -> object:
    """A result as it can be written: text, or what has a JSON form."""
    if isinstance(item, str):
        return _writable(item)
    try:
        msgspec.json.encode(item)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise origin.wrong(item, f"`{key}` must be text or JSON ({error})") from None
    return item


def _veto(origin: _Origin, value: object, reason: str | None) -> Effects:
    if not origin.event.can_veto:
        raise origin.wrong(value, f"{origin.event.name} cannot be refused; return nothing or a reminder")
    return Effects((), {}, reason or _VETOED)


def _merge(origin: _Origin, parts: Iterable[Effects]) -> Effects:
    """All parts as one: the first veto holds, and two actions may not contradict each other."""
    reminders: tuple[Payload, ...] = ()
    action: Payload = {}
    veto: str | None = None
    for part in parts:
        reminders += part.reminders
        if len(reminders) > MAX_REMINDERS:
            raise origin.wrong(len(reminders), f"at most {MAX_REMINDERS} reminders in one result")
        for key, item in part.action.items():
            _once(origin, action, key, item)
        veto = part.veto if veto is None else veto
    return Effects(reminders, action, veto)
