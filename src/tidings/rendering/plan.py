"""The plan: which reminder goes to which slot of a request, and in which words. Pure.

`TABLE` is the seed's capability table as data: capability first, then hint (decision 18); external
text is quoted in a user block before any of it applies (decision 21). The wire modules put the
planned texts into a body; they know nothing of reminders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from tidings.core.fire import Shot, Shown, Unused, Warned
from tidings.core.lifecycle import invalid_id
from tidings.core.records import producer_label
from tidings.core.reminder import ROLE_HINTS, Reminder, RoleHint, read_payload
from tidings.core.table import Slot as Name
from tidings.core.table import slot_of
from tidings.core.text import escape, is_plain, neutralise
from tidings.core.transcript import REMINDER_KIND, Pending, Withdrawn
from tidings.errors import CallerError
from tidings.rendering.budget import Fitting, fitting
from tidings.rendering.route import Route, keeps_hint

Slot: TypeAlias = Literal["developer", "block", "cached_block", "system_xml", "system_text", "quoted"]


class Row(msgspec.Struct, frozen=True):
    """One line of the table: what a route must have, which hints it is for, where they go."""

    capability: str
    hints: tuple[RoleHint, ...]
    slot: Slot
    role: str
    shape: str


TABLE: tuple[Row, ...] = (
    Row(
        "prefers_role_developer", ROLE_HINTS, "developer", "developer",
        "a message with role developer: `System reminder:` and the body",
    ),
    Row(
        "anthropic wire", ("user_block",), "block", "user",
        "a text block at the start of the first user message, in `<system-reminder>` tags",
    ),
    Row(
        "anthropic wire", ("ephemeral_cache",), "cached_block", "user",
        "the same block, with `cache_control` where prompt caching and its limit allow",
    ),
    Row(
        "prefers_xml_scaffolding", ROLE_HINTS, "system_xml", "system",
        "system prompt text in `<system-reminder>` tags",
    ),
    Row(
        "any route", ROLE_HINTS, "system_text", "system",
        "system prompt text behind `System reminder:`",
    ),
)  # fmt: skip
"""Read from the top: the first row that fits decides."""

_HAS: dict[str, Callable[[Route], bool]] = {
    "prefers_role_developer": lambda route: route.prefers_role_developer,
    "anthropic wire": lambda route: route.wire == "anthropic",
    "prefers_xml_scaffolding": lambda route: route.prefers_xml_scaffolding,
    "any route": lambda _: True,
}

_hint_of: Callable[[Reminder], RoleHint] = attrgetter("role_hint")

_FALLBACK = "the route {route} cannot keep role_hint {hint!r}; it is rendered as {shape}"


def row_for(route: Route, hint: RoleHint) -> Row:
    """The row of the table that decides for this route and hint."""
    return next(row for row in TABLE if hint in row.hints and _HAS[row.capability](route))


class Layout(msgspec.Struct, frozen=True):
    """What the table says for one route: the row and role of each hint, and which hints it loses."""

    rows: Mapping[RoleHint, Row]
    roles: Mapping[str, str]
    lost: Mapping[str, str]


@lru_cache(maxsize=128)
def layout(route: Route) -> Layout:
    """The table, read for `route`; remembered, because a loop asks for every request."""
    rows = {hint: row_for(route, hint) for hint in ROLE_HINTS}
    lost: dict[str, str] = {
        hint: _FALLBACK.format(route=route.name, hint=hint, shape=row.shape)
        for hint, row in rows.items()
        if not keeps_hint(route, hint)
    }
    roles: dict[str, str] = {hint: row.role for hint, row in rows.items()}
    return Layout(MappingProxyType(rows), MappingProxyType(roles), MappingProxyType(lost))


class Candidates(msgspec.Struct, frozen=True):
    """The reminders that may be rendered, and those that cannot."""

    reminders: Sequence[Reminder]
    dropped: tuple[Unused, ...]
    withdrawn: tuple[Withdrawn, ...]
    external: bool
    bodies: list[str]
    waiting: tuple[Name, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a seed-placed request holds, by slot, each in transcript order.

    `cached` are the positions of blocks that want a cache mark; `roles` says which role each hint of
    a `rendered` reminder was given, `lost` what to say about a hint that the route cannot keep.
    """

    system: Sequence[str] = ()
    developer: Sequence[str] = ()
    blocks: Sequence[str] = ()
    cached: frozenset[int] = frozenset()
    rendered: Sequence[Reminder] = ()
    roles: Mapping[str, str]
    lost: Mapping[str, str] = {}
    late: tuple[Reminder, ...] = ()
    warnings: tuple[Warned, ...] = ()


class Planned(msgspec.Struct, frozen=True, dict=True):
    """A plan and what it was made for: a request that asks for the same needs no other."""

    route: Route
    found: Candidates
    plan: Plan

    @cached_property
    def shot(self) -> Shot:
        """What is marked when a request with this plan was answered."""
        plan = self.plan
        return Shot(
            placement="seed",
            shown=shown(plan.rendered, plan.roles),
            unused=self.found.dropped,
            warnings=(*plan.warnings, *hint_warnings(plan.rendered, plan.lost)),
            waiting=tuple([slot_of(r) for r in plan.late if r.trust == "external"]),
        )


def planned(route: Route, found: Candidates, before: Planned | None = None) -> Planned:
    """The plan for `found`; the one before, if it was made for the same."""
    if before is not None and before.route is route and before.found == found:
        return before
    return Planned(route, found, make_plan(route, found))


def candidates(given: Iterable[object]) -> Candidates:
    """Sort what the caller passed: reminders, their payloads or events; invalid ones drop out."""
    if isinstance(given, Pending):
        invalid = tuple(Unused(invalid_id(event), "invalid") for event in given.invalid)
        outsiders = given.outsiders > 0
        return Candidates(given.stored, invalid, given.withdrawn, outsiders, given.bodies, given.waiting)
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise CallerError(f"`reminders` is a list, such as transcript.pending; got {given!r:.80}")
    reminders: list[Reminder] = []
    dropped: list[Unused] = []
    for item in given:
        reminder = item if isinstance(item, Reminder) else _read(item)
        if reminder is None or not reminder.body.strip() or reminder.role_hint not in ROLE_HINTS:
            dropped.append(Unused(_name(item), "invalid"))
        else:
            reminders.append(reminder)
    external = any(reminder.trust == "external" for reminder in reminders)
    return Candidates(reminders, tuple(dropped), (), external, [r.body for r in reminders])


def _read(item: object) -> Reminder | None:
    if isinstance(item, Mapping) and item.get("kind") == REMINDER_KIND:
        return read_payload(item.get("reminder"))
    return read_payload(item)


def _name(item: object) -> str:
    if isinstance(item, Reminder):
        return item.id
    return invalid_id(dict(item)) if isinstance(item, Mapping) else "invalid-reminder"


def make_plan(route: Route, found: Candidates) -> Plan:
    """Plan a seed-placed request. Most are uniform, and then nothing is done one by one."""
    table = layout(route)
    if not found.reminders:
        return Plan(roles=table.roles)
    slots = {row.slot for row in table.rows.values()}
    if len(slots) > 1 and not found.external:
        slots = {table.rows[hint].slot for hint in set(map(_hint_of, found.reminders))}
    if len(slots) == 1 and not found.external:
        plan = _uniform(route, slots.pop(), found, table.roles)
        return msgspec.structs.replace(plan, lost=table.lost)
    fit = fitting(found.reminders, found.waiting)
    plan = _one_by_one(route, fit, table.rows, table.roles)
    return msgspec.structs.replace(plan, lost=table.lost, late=fit.late, warnings=fit.warnings)


def _uniform(route: Route, slot: Slot, found: Candidates, roles: Mapping[str, str]) -> Plan:
    """Every reminder in the same slot, none from outside."""
    kept, bodies = found.reminders, found.bodies
    if slot in ("system_xml", "system_text"):
        return Plan(system=[_joined(slot, bodies)], rendered=kept, roles=roles)
    opening, closing = _FRAMES[slot]
    if is_plain("".join(bodies)):
        texts = [f"{opening}{body}{closing}" for body in bodies]
    else:
        texts = [framed(slot, body) for body in bodies]
    if slot == "developer":
        return Plan(developer=texts, rendered=kept, roles=roles)
    marked = slot == "cached_block" and route.prompt_caching
    cached = frozenset(range(len(texts))) if marked else frozenset()
    return Plan(blocks=texts, cached=cached, rendered=kept, roles=roles)


def _joined(slot: Slot, bodies: list[str]) -> str:
    """All bodies in their frames, with a blank line between them: long texts, so copied once."""
    opening, closing = _FRAMES[slot]
    framed_ends = [opening + bodies[0], *bodies[1:]]
    framed_ends[-1] += closing
    text = f"{closing}\n\n{opening}".join(framed_ends)
    plain = is_plain("".join(bodies)) if closing else is_plain(text)
    return text if plain else "\n\n".join([framed(slot, body) for body in bodies])


def _one_by_one(route: Route, fit: Fitting, rows: Mapping[RoleHint, Row], roles: Mapping[str, str]) -> Plan:
    texts: dict[Slot, list[str]] = {"developer": [], "system_xml": [], "system_text": []}
    blocks: list[str] = []
    cached: set[int] = set()
    for reminder in fit.kept:
        if id(reminder) in fit.quotes:
            blocks.append(fit.quotes[id(reminder)])
            continue
        slot = rows[reminder.role_hint].slot
        if slot == "cached_block" and route.prompt_caching:
            cached.add(len(blocks))
        texts.get(slot, blocks).append(framed(slot, reminder.body))
    return Plan(
        system=texts["system_xml"] or texts["system_text"],
        developer=texts["developer"],
        blocks=blocks,
        cached=frozenset(cached),
        rendered=fit.kept,
        roles=roles,
    )


_TAGGED = ("<system-reminder>\n", "\n</system-reminder>")
_PREFIXED = ("System reminder:\n", "")
_FRAMES: dict[Slot, tuple[str, str]] = {
    "developer": _PREFIXED,
    "system_text": _PREFIXED,
    "system_xml": _TAGGED,
    "block": _TAGGED,
    "cached_block": _TAGGED,
}


def framed(slot: Slot, body: str) -> str:
    """A body in its slot's frame: neutralised, and escaped wherever it sits inside tags."""
    opening, closing = _FRAMES[slot]
    safe = escape(neutralise(body)) if closing else neutralise(body)
    return f"{opening}{safe}{closing}"


def shown(rendered: Sequence[Reminder], roles: Mapping[str, str]) -> tuple[Shown, ...]:
    """Each rendered reminder with the role it was given."""
    return tuple(
        [
            Shown(r.id, roles[r.role_hint])
            if r.meta is None or r.scope is None
            else Shown(r.id, "user", r.scope)
            for r in rendered
        ]
    )


def hint_warnings(rendered: Sequence[Reminder], lost: Mapping[str, str]) -> tuple[Warned, ...]:
    """HARN-RMD-003, once for each producer whose hint the route could not keep (decision 16)."""
    found: dict[str, Warned] = {}
    for reminder in rendered if lost else ():
        if reminder.role_hint in lost and reminder.trust != "external":
            label = producer_label(reminder)
            told = Warned("HARN-RMD-003", label, lost[reminder.role_hint], reminder.id)
            found.setdefault(label, told)
    return tuple(found.values())
