"""Running the hooks of one event: payload in, effects and failures out.

Hooks are called one after the other in the order of their registration; a change of arguments or
result is seen by the next, and a veto ends the run. A hook that fails, is late or returns nonsense
becomes a `Failure` and the others still run (decision 17). The loop admits the reminders and writes the
records.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from tidings.agent.calling import LateError, call
from tidings.agent.context import Context, plain
from tidings.agent.effects import EffectError, Effects, parse
from tidings.agent.events import HookEvent, find_event
from tidings.agent.registration import Hook
from tidings.agent.registry import Registry
from tidings.core import records
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.errors import DiagnosticError, TidingsError

FailureKind: TypeAlias = Literal["error", "late", "malformed"]
_LONGEST = 500


class Failure(msgspec.Struct, frozen=True):
    """A hook or provider that did not do its part. `code` is a HARN code, or the kind."""

    owner: str
    event: str
    kind: FailureKind
    code: str
    error: str

    def record(self) -> Record:
        """The `warning` record of this failure."""
        return records.warning(self.code, self.owner, self.error, event=self.event)


class HookResult(msgspec.Struct, frozen=True):
    """What one hook asked for."""

    hook: str
    effects: Effects


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """What the hooks of one event gave, in order. `skipped` were not called because of the veto."""

    event: str
    results: tuple[HookResult, ...] = ()
    failures: tuple[Failure, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def reminders(self) -> tuple[tuple[str, Payload], ...]:
        """Every reminder spec with the hook it came from: to be admitted as `producer="hook"`."""
        return tuple([(result.hook, spec) for result in self.results for spec in result.effects.reminders])

    @property
    def action(self) -> Payload:
        """The last word on `args`, `result` and `decision`."""
        action: Payload = {}
        for result in self.results:
            action |= result.effects.action
        return action

    @property
    def veto(self) -> str | None:
        """Why the event must not go on, if a hook said so."""
        reasons = [result.effects.veto for result in self.results if result.effects.veto is not None]
        return reasons[0] if reasons else None

    def noted(self) -> list[Record]:
        """What the log is told of this run: who failed, and who refused."""
        told = [failed.record() for failed in self.failures]
        return told + [
            records.warning("vetoed", f"hook:{result.hook}", result.effects.veto, event=self.event)
            for result in self.results
            if result.effects.veto is not None
        ]


async def run_hooks(
    registry: Registry,
    event: str,
    payload: Mapping[str, object],
    *,
    session_id: str | None = None,
    strict: bool = False,
) -> HookRun:
    """Call the matching hooks of `event` and read what they return; `session_id` says whose event it is.

    Raises:
        UnknownEventError: no such event.
        Exception: with `strict`, whatever the first failing hook raised (DiagnosticError, LateError, …).
    """
    kind = find_event(event)
    if not registry.hooks:
        return HookRun(event=kind.name)
    results: list[HookResult] = []
    failures: list[Failure] = []
    whose: Payload = {} if session_id is None else {"session_id": session_id}
    seen = _seen({**whose, **payload, "event": kind.name}, {})
    hooks = registry.matching(kind, payload)
    skipped: tuple[str, ...] = ()
    for number, hook in enumerate(hooks):
        try:
            effects = await _run(hook, kind, seen)
        except Exception as error:
            if strict:
                raise
            failures.append(failure(f"hook:{hook.name}", kind.name, error))
            continue
        results.append(HookResult(hook.name, effects))
        seen = _seen(seen, effects.action)
        if effects.veto is not None:
            skipped = tuple(later.name for later in hooks[number + 1 :])
            break
    return HookRun(event=kind.name, results=tuple(results), failures=tuple(failures), skipped=skipped)


def _seen(payload: Payload, action: Payload) -> Payload:
    """What the next hook is handed; a tool's arguments go by `args` and `arguments`."""
    changed = {**payload, **action}
    if "args" in action or ("args" in changed and "arguments" not in changed):
        changed["arguments"] = changed["args"]
    elif "arguments" in changed:
        changed.setdefault("args", changed["arguments"])
    return changed


async def _run(hook: Hook, event: HookEvent, payload: Payload) -> Effects:
    bound = partial(hook.function, Context(dict(payload)))
    returned = await call(bound, deadline=hook.deadline, slot=hook.slot)
    return parse(event, plain(returned), name=hook.name)


def failure(owner: str, event: str, error: Exception) -> Failure:
    """What is kept of an exception: its kind, its code and one bounded line of text."""
    kind: FailureKind = "error"
    if isinstance(error, LateError):
        kind = "late"
    elif isinstance(error, (DiagnosticError, EffectError)):
        kind = "malformed"
    code = error.code if isinstance(error, DiagnosticError) else kind
    return Failure(owner, event, kind, code, told(error)[:_LONGEST])


def told(error: Exception) -> str:
    """The error in one line that can be written, whatever a user's class makes of `str`."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # the class name is all such an exception tells
        text = ""
    if not isinstance(error, TidingsError):
        text = f"{type(error).__name__}: {text}"
    return " ".join(text.encode(errors="replace").decode().split())
