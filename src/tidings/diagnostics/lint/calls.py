"""Calls and wire messages that hand a reminder over: what they spell out, as specs and selectors.

`CALLS` lists the functions that take options. A JSON-RPC message written as a dict counts as a call
of the bridge. Used by `sites.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidings.core.wire import SPELLING
from tidings.diagnostics.lint.literal import EMPTY, OPEN, Options, keywords_of, options_of, value_of
from tidings.diagnostics.lint.names import Names
from tidings.diagnostics.lint.spec import Reader, Spec

CALLS: dict[str, tuple[Reader, int]] = {
    "inject_reminder": ("pipeline", 1),
    "reminder_event": ("lenient", 0),
    "transcript_reminder_event": ("lenient", 0),
}
"""Functions that take reminder options, and the position of their mapping."""

WIRE_METHODS = frozenset(
    f"{prefix}session/{name}" for prefix in ("", "_", "_harn/") for name in ("remind", "inject_reminder")
)
_ENVELOPE = frozenset(("mode", "sessionId", "session_id"))
_SNAKE = {camel: snake for snake, camel in SPELLING.items()}


def called_specs(call: ast.Call, name: str, names: Names) -> Iterator[Spec]:
    """The spec that a call of one of ours hands over; `name` is the function's."""
    if not call.args and not call.keywords:
        return
    if name in CALLS:
        reader, position = CALLS[name]
        yield Spec(reader, *_options(call, position, names))
    elif name == "remind" and _is_session(call.func):
        yield Spec("bridge", call, _reminded(call, names))


def called_selector(call: ast.Call, names: Names) -> Options | None:
    """What a call of `clear_reminders` selects; None if a literal that is no mapping does."""
    return _options(call, 1, names)[1] if call.args or call.keywords else OPEN


def _options(call: ast.Call, position: int, names: Names) -> tuple[ast.expr, Options | None]:
    """The mapping and the keywords of a call, and the node to point at."""
    keywords = keywords_of(call, names)
    mapping = _mapping(call, position, names)
    if mapping is None or value_of(mapping, names) is None:
        return call, keywords
    options = options_of(mapping, names)
    if options is not None:
        return call, options.then(keywords)
    if isinstance(names.resolve(mapping), ast.Constant) and not call.keywords:
        return mapping, None
    return call, OPEN.then(keywords)


def _mapping(call: ast.Call, position: int, names: Names) -> ast.expr | None:
    """The argument that is the mapping: as a method, the only one may be it already."""
    arguments = call.args
    starred = [argument for argument in arguments if isinstance(argument, ast.Starred)]
    if starred or len(arguments) > position:
        return starred[0] if starred else arguments[position]
    if len(arguments) == 1 and not names.is_package_function(call.func):
        return arguments[0]
    return None


def _reminded(call: ast.Call, names: Names) -> Options | None:
    """`session.remind(...)`: a text or a mapping first, keywords, and the bridge's own keys."""
    if call.args and isinstance(value_of(call.args[0], names), str):
        body = call.args[0]
        return _from_wire(Options({"body": body}, {"body": body}) | keywords_of(call, names))
    options = _options(call, 0, names)[1]
    return None if options is None else _from_wire(options)


def wire_specs(node: ast.Dict, names: Names) -> Iterator[Spec]:
    """The params of a literal JSON-RPC message that injects a reminder, flat or under `reminder`."""
    message = options_of(node, names) or EMPTY
    method = message.value("method", names)
    place = message.given.get("params")
    if not isinstance(method, str) or method not in WIRE_METHODS or place is None:
        return
    params = options_of(place, names)
    if params is not None and "reminder" in params.given:
        place = params.given["reminder"]
        params = options_of(place, names)
    if params is not None:
        yield Spec("bridge", place, _from_wire(params))


def _from_wire(options: Options) -> Options:
    """The options in snake_case without the envelope; `_meta` may carry fields too."""
    given = {
        _SNAKE.get(str(name), name): value for name, value in options.given.items() if name not in _ENVELOPE
    }
    places = {_SNAKE.get(name, name): place for name, place in options.places.items()}
    return Options(given, places, options.whole and "_meta" not in given)


def _is_session(func: ast.expr) -> bool:
    owner = func.value if isinstance(func, ast.Attribute) else None
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return str(name).lower().endswith("session")
