"""What rendering does, found by rendering: for reminder.md, rendering.md and routes.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from docs.parts.markdown import code, fenced, table
from tidings.core.producers import PRODUCERS, UNKNOWN_KEY, ProducerName, build
from tidings.core.reminder import ROLE_HINTS, Reminder, RoleHint
from tidings.rendering import plan
from tidings.rendering import route as routes
from tidings.rendering.render import render
from tidings.rendering.request import Request

BODY = "The build is red."


def catalogue_routes() -> list[routes.Route]:
    """The built-in routes, in the order of their file; not those that a program added."""
    path = Path(routes.__file__).with_name("routes.toml")
    stored = msgspec.toml.decode(path.read_bytes(), type=dict[str, list[routes.Route]])
    return stored["route"]


def reminder(hint: RoleHint = "system", producer: ProducerName = "pipeline") -> Reminder:
    """A reminder to render."""
    options = {"body": BODY, "ttl_turns": 1, "role_hint": hint}
    origin = "ci.example" if producer == "mcp" else None
    return build(producer, options, id="r-1", turn=1, origin=origin)


def producers() -> str:
    """What each producer gives a reminder, and how its mistakes are named."""
    rows = []
    for name, rule in PRODUCERS.items():
        keys = f"refused, `{UNKNOWN_KEY}`" if rule.unknown == "reject" else "left out, one `warning` record"
        given = (f"`{name}`", f"`{rule.source}`", f"`{rule.trust}`", f"`{rule.shape_code}`", keys)
        rows.append((*given, "yes" if rule.wire_fields else "no"))
    head = ("producer", "`source`", "trust", "wrong shape", "unknown key", "may send `id`")
    return table(head, rows)


def capability_table() -> str:
    """The rows of `plan.TABLE`."""
    rows = [(row.capability, code(row.hints), row.role, row.shape) for row in plan.TABLE]
    return table(("the route has", "for the hints", "role", "what is written"), rows)


def hints_by_route() -> str:
    """Where each hint lands on each route, found by rendering it."""
    rows = [_hint_row(route) for route in catalogue_routes()]
    return table(("route", "placement", *(f"`{hint}`" for hint in ROLE_HINTS)), rows)


def _hint_row(route: routes.Route) -> tuple[str, ...]:
    requests = [_request(route, reminder(hint)) for hint in ROLE_HINTS]
    first, *others = [_landing(request.body) for request in requests]
    cells = ["the same" if cell == first else cell for cell in others]
    return (f"`{route.name}`", f"`{requests[0].placement}`", first, *cells)


def external_by_wire() -> str:
    """Where an external reminder lands: one route for each wire."""
    rows = []
    for wire in routes.WIRES:
        route = next(r for r in catalogue_routes() if r.wire == wire)
        rows.append((f"`{wire}`", _landing(_request(route, reminder(producer="mcp")).body)))
    return table(("wire", "an external reminder"), rows)


def _request(route: routes.Route, given: Reminder, placement: Any = None) -> Request:
    messages: Any = "Fix the login test."
    return render(route, messages=messages, reminders=[given], system="Be brief.", placement=placement)


def _landing(body: Mapping[str, object]) -> str:
    """In words, where the reminder stands in a body."""
    path, text, role, cached = next(_found(body, "", "", False))
    where = f"`{path}`" + (f" (role `{role}`)" if role in ("system", "developer") else "")
    frame = "in tags" if "<system-reminder>" in text else "behind `System reminder:`"
    return f"{where} {frame}" + (", with `cache_control`" if cached else "")


def _found(value: object, path: str, role: str, cached: bool) -> Iterator[tuple[str, str, str, bool]]:
    """Every text that holds the reminder: its path, itself, its message's role, its cache mark."""
    if isinstance(value, str):
        if BODY in value:
            yield path, value, role, cached
    elif isinstance(value, Mapping):
        here = str(value.get("role", role))
        for name, inner in value.items():
            yield from _found(inner, f"{path}.{name}".lstrip("."), here, "cache_control" in value)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _found(inner, f"{path}[{index}]", role, cached)


def seed_body() -> str:
    """An Anthropic body in seed placement."""
    return _body("anthropic/claude-opus-5", "seed")


def append_only_body() -> str:
    """The same in append-only placement."""
    return _body("anthropic/claude-opus-5", "append_only")


def _body(name: str, placement: str) -> str:
    body = _request(routes.route(name), reminder(), placement).body
    return fenced(msgspec.json.format(msgspec.json.encode(body), indent=2).decode(), "json")


def route_table() -> str:
    """The catalogue."""
    return table(("name", "wire", "capabilities", "context window"), map(_route_row, catalogue_routes()))


def _route_row(route: routes.Route) -> tuple[str, ...]:
    flags = [name for name in route.__struct_fields__ if getattr(route, name) is True]
    window = "" if route.context_window is None else f"{route.context_window:,}"
    return f"`{route.name}`", f"`{route.wire}`", code(flags), window
