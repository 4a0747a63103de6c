"""The reminders that a function returns, as far as its source spells them out.

Hooks and providers may return a bare spec, `{"reminder": …, "then": …}`, `{"effects": …}`,
`{"type": "reminder", "spec": …}`, or a list of those (seed 001, "From a hook", and the reference's
return shapes). Returns inside nested functions belong to those.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidings.diagnostics.lint.literal import Options, options_of
from tidings.diagnostics.lint.names import Function, Names

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_ACTIONS = frozenset(
    ("deny", "args", "result", "output", "modify", "block", "decision", "action", "control")
)
"""Keys that make a returned dict a decision about the event, not a bare reminder."""
_CARRIERS = frozenset(("reminder", "then", "effects", "spec", "type", "kind"))


def returned(function: Function) -> Iterator[ast.expr]:
    """The expressions that a function may return, each branch of a choice on its own."""
    if isinstance(function, ast.Lambda):
        yield from _branches(function.body)
        return
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield from _branches(node.value)
        elif not isinstance(node, _NESTED):
            waiting += ast.iter_child_nodes(node)


def _branches(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            yield from _branches(body)
            yield from _branches(orelse)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _branches(value)
        case _:
            yield node


def carried(node: ast.expr, names: Names) -> Iterator[ast.expr]:
    """The reminder specs that `node` carries under the documented keys."""
    node = names.resolve(node)
    if isinstance(node, (ast.List, ast.Tuple)):
        for item in node.elts:
            yield from carried(item, names)
        return
    options = options_of(node, names)
    if options is None:
        return
    if "reminder" in options.given:
        yield options.given["reminder"]
    elif "spec" in options.given and _is_typed(options, names):
        yield options.given["spec"]
    for key in ("then", "effects"):
        if key in options.given:
            yield from carried(options.given[key], names)


def bare(node: ast.expr, names: Names, *, only: bool) -> Iterator[ast.expr]:
    """The bare specs in `node`: dicts with a body and no decision.

    `only` says that the function may return nothing but reminders; then every other dict and
    every string counts too.
    """
    node = names.resolve(node)
    if isinstance(node, (ast.List, ast.Tuple)):
        for item in node.elts:
            yield from bare(item, names, only=only)
        return
    options = options_of(node, names)
    if options is None:
        if only and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
    elif not options.given.keys() & (_CARRIERS if only else _CARRIERS | _ACTIONS) and (
        "body" in options.given or (only and options.whole)
    ):
        yield node


def only_carries(node: ast.expr, names: Names) -> bool:
    """Whether `node` is a dict of nothing but a reminder and what to do then."""
    options = options_of(node, names)
    return options is not None and options.whole and options.given.keys() <= {"reminder", "then"}


def _is_typed(options: Options, names: Names) -> bool:
    return "reminder" in (options.value("type", names), options.value("kind", names))
