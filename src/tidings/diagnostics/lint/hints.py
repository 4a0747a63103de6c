"""HARN-RMD-003: a role hint next to a model route that cannot keep it, both written out.

The routes that count are those of the function that names the hint; if it names none, those of
the file. A hint is fine as long as one of them keeps it: code may serve several routes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidings.core.reminder import ROLE_HINTS
from tidings.diagnostics.lint.literal import value_of
from tidings.diagnostics.lint.names import Names
from tidings.diagnostics.lint.sites import Sites
from tidings.diagnostics.lint.source import Mark
from tidings.diagnostics.lint.spec import Spec
from tidings.errors import RouteError
from tidings.rendering.route import Route, keeps_hint, route

_NAMING_CALLS = frozenset(("route", "model", "render"))
_NAMING_KEYWORDS = frozenset(("route", "model"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def judge_hints(sites: Sites) -> Iterator[Mark]:
    """The hints of a file that none of their routes can keep."""
    hinted = [spec for spec in sites.specs if spec.options and "role_hint" in spec.options.given]
    if not hinted:
        return
    everywhere = _routes(sites.tree, sites.names)
    scopes = [node for node in ast.walk(sites.tree) if isinstance(node, _FUNCTIONS)]
    for spec in hinted:
        around = [scope for scope in scopes if _holds(scope, spec.node)]
        own = _routes(around[-1], sites.names) if around else []
        yield from _judge(spec, own or everywhere, sites.names)


def _judge(spec: Spec, routes: list[Route], names: Names) -> Iterator[Mark]:
    assert spec.options is not None
    value = spec.options.value("role_hint", names)
    hint = next((hint for hint in ROLE_HINTS if hint == value), None)
    if hint is None or not routes or any(keeps_hint(known, hint) for known in routes):
        return
    shown = ", ".join(dict.fromkeys(known.name for known in routes))
    text = (
        f"{shown} cannot keep role_hint {hint!r}, it will fall back to the route's own form; "
        'use "system" or "developer"'
    )
    place, end = spec.options.places["role_hint"], spec.options.given["role_hint"]
    yield Mark("HARN-RMD-003", text, place, end, spec.node)


def _holds(scope: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(scope))


def _routes(scope: ast.AST, names: Names) -> list[Route]:
    calls = (node for node in ast.walk(scope) if isinstance(node, ast.Call))
    named = (value for call in calls for value in _route_names(call, names))
    return [known for known in map(_known, named) if known is not None]


def _route_names(call: ast.Call, names: Names) -> Iterator[str]:
    given = [word.value for word in call.keywords if word.arg in _NAMING_KEYWORDS]
    if names.called(call.func) in _NAMING_CALLS:
        given += call.args
    for node in given:
        value = value_of(node, names)
        if isinstance(value, str):
            yield value


def _known(name: str) -> Route | None:
    try:
        return route(name)
    except RouteError:
        return None
