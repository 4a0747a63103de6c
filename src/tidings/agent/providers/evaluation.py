"""The pass: every enabled provider that hears an event is asked, in order, for its reminders.

Canonical providers come first in table order, custom ones follow by registration. One that fails is
reported and the others are still asked (decision 17); bodies that do not fit the pass's budget are
skipped and reported, and smaller ones behind them may still fit. The loop admits what comes out
as `producer="provider"` and writes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import TypeAlias, cast

import msgspec

from tidings.agent.calling import DEADLINE, Slot, call
from tidings.agent.context import Context, plain
from tidings.agent.effects import parse
from tidings.agent.events import HookEvent, find_event
from tidings.agent.hooks import Failure, failure
from tidings.agent.providers import facts, notices
from tidings.agent.providers.lineup import Lineup, Listener
from tidings.agent.providers.pressure import token_pressure
from tidings.agent.providers.review.review import grounded_review, is_uneventful
from tidings.agent.providers.situation import Situation
from tidings.agent.registry import Registry
from tidings.core import records
from tidings.core.records import Record
from tidings.core.reminder import Payload

PLAIN: dict[str, Callable[[Situation], Payload | None]] = {
    "idle_nudge": notices.idle_nudge,
    "tool_output_truncated": notices.tool_output_truncated,
    "post_compact_recap": notices.post_compact_recap,
    "resume_continuity": notices.resume_continuity,
    "workspace_anchor": notices.workspace_anchor,
    "grounded_review": grounded_review,
}
"""The canonical providers that need nothing but the situation."""


Look: TypeAlias = Callable[[Mapping[str, object]], bool]

NOTHING: dict[str, Look] = {
    "tool_output_truncated": notices.is_whole,
    "grounded_review": is_uneventful,
}
"""Canonical providers that can tell at a glance that a payload is not for them."""


class Skipped(msgspec.Struct, frozen=True):
    """A reminder that did not fit the pass's budget of bytes."""

    dedupe_key: str | None
    size: int
    left: int


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """What one provider gave: the specs to admit, what was skipped, or how it failed."""

    provider_id: str
    event: str
    reminders: tuple[Payload, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failure: Failure | None = None

    @property
    def fired(self) -> bool:
        """Whether it gave a reminder that fits."""
        return bool(self.reminders)

    def record(self) -> Record:
        """The `provider_evaluated` record: written before the reminders are admitted."""
        more: Payload = {}
        if self.failure is not None:
            more |= {"error": self.failure.error, "code": self.failure.code}
        if self.skipped:
            more["skipped"] = [msgspec.structs.asdict(one) for one in self.skipped]
        return records.record(
            "provider_evaluated", provider_id=self.provider_id, event=self.event, fired=self.fired, **more
        )


class Pass(msgspec.Struct, frozen=True):
    """What a pass gave, provider by provider; `pressure` is to be kept for the next pass."""

    evaluated: tuple[Evaluated, ...] = ()
    pressure: str = ""


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The event and everything a provider may look at."""

    event: HookEvent
    payload: Mapping[str, object]
    session: Mapping[str, object]
    lineup: Lineup
    recall: facts.Recall | None
    pressure: str
    recall_slot: Slot

    def situation(self, listener: Listener) -> Situation:
        """What a canonical provider sees."""
        return Situation(
            event=self.event.name,
            payload=self.payload,
            session=self.session,
            options=self.lineup.options,
            settings=listener.settings,
            window=self.lineup.window,
        )

    def context(self, listener: Listener) -> Context:
        """What a custom provider's `evaluate` is called with (seed 001, "From a provider")."""
        return Context(
            {
                "event": self.event.name,
                "session": self.session,
                "session_id": self.session.get("id"),
                "payload": self.payload,
                "options": self.lineup.options,
                "config": listener.config,
            }
        )


class Glance(msgspec.Struct, frozen=True):
    """Whether the providers that hear an event see at once that they have nothing to say; then `records`
    is what is written. If it does not suffice, `evaluate` says what they gave."""

    suffices: Look
    records: tuple[Record, ...]


def glances(lineup: Lineup) -> dict[str, Glance]:
    """The events of which all who hear them can tell at a glance that a payload is not for them."""
    found: dict[str, Glance] = {}
    for event in lineup.events:
        hearing = lineup.hearing(event)
        if all(listener.custom is None and listener.provider_id in NOTHING for listener in hearing):
            ids = [listener.provider_id for listener in hearing]
            told = [Evaluated(provider_id=name, event=event).record() for name in ids]
            found[event] = Glance(reduce(_both, [NOTHING[name] for name in ids]), tuple(told))
    return found


def _both(one: Look, other: Look) -> Look:
    """Whether neither has anything to say."""
    return lambda payload: one(payload) and other(payload)


async def evaluate(
    event: str,
    *,
    session: Mapping[str, object],
    payload: Mapping[str, object],
    options: Mapping[str, object],
    registry: Registry,
    recall: facts.Recall | None = None,
    pressure: str = "",
    strict: bool = False,
    recall_slot: Slot | None = None,
    lineup: Lineup | None = None,
) -> Pass:
    """Ask every enabled provider that hears `event`; `pressure` is what the last pass gave back.

    `recall_slot` belongs to the loop: with it, a recall that hangs is not started again. `lineup` too: it
    spares working out from options and registry who is asked.

    Raises:
        UnknownEventError: no such event.
        ReminderOptionsError: options that `check_providers` would have refused.
        Exception: with `strict`, whatever the first failing provider raised.
    """
    kind = find_event(event)
    asked = _Asked(
        event=kind,
        payload=payload,
        session=session,
        lineup=lineup or Lineup(options, registry),
        recall=recall,
        pressure=pressure,
        recall_slot=recall_slot or Slot(),
    )
    told = "" if kind.name == "post_compact" else pressure
    budget = _Budget(asked.lineup.body_budget)
    evaluated: list[Evaluated] = []
    for listener in asked.lineup.hearing(kind.name):
        provider_id = listener.provider_id
        try:
            specs, mark = await _ask(asked, listener)
        except Exception as error:
            if strict:
                raise
            failed = failure(f"provider:{provider_id}", kind.name, error)
            evaluated.append(Evaluated(provider_id=provider_id, event=kind.name, failure=failed))
            continue
        fitting, skipped = budget.take(specs)
        told = mark if mark is not None and fitting else told
        evaluated.append(
            Evaluated(provider_id=provider_id, event=kind.name, reminders=fitting, skipped=skipped)
        )
    return Pass(tuple(evaluated), told)


async def _ask(asked: _Asked, listener: Listener) -> tuple[tuple[Payload, ...], str | None]:
    """The specs of one provider, and the pressure mark if it has a new one."""
    provider_id, custom = listener.provider_id, listener.custom
    if custom is not None:
        bound = partial(custom.evaluate, asked.context(listener))
        returned = await call(bound, deadline=custom.deadline, slot=custom.slot)
        return parse(asked.event, plain(returned), author="provider", name=provider_id).reminders, None
    if provider_id == "token_pressure":
        spec, mark = token_pressure(asked.situation(listener), asked.pressure)
        return _listed(spec), mark
    if provider_id == "project_facts":
        return _listed(await _recalled(asked, listener)), None
    return _listed(PLAIN[provider_id](asked.situation(listener))), None


async def _recalled(asked: _Asked, listener: Listener) -> Payload | None:
    wanted = facts.wanted(asked.situation(listener))
    if asked.recall is None or wanted is None:
        return None
    query = wanted.pop("query")
    ask = cast("Callable[..., object]", asked.recall)
    found = await call(partial(ask, query, **wanted), deadline=DEADLINE, slot=asked.recall_slot)
    return facts.project_facts(found, cast("int", wanted["max_facts"]))


def _listed(spec: Payload | None) -> tuple[Payload, ...]:
    return () if spec is None else (spec,)


class _Budget:
    """The bytes of bodies that are left in a pass."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, specs: tuple[Payload, ...]) -> tuple[tuple[Payload, ...], tuple[Skipped, ...]]:
        """The specs that fit, and those that do not."""
        fitting: list[Payload] = []
        skipped: list[Skipped] = []
        for spec in specs:
            size = len(str(spec["body"]).encode())
            if size <= self._left:
                self._left -= size
                fitting.append(spec)
            else:
                key = spec.get("dedupe_key")
                skipped.append(Skipped(key if isinstance(key, str) else None, size, self._left))
        return tuple(fitting), tuple(skipped)
