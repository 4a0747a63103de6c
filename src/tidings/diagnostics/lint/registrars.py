"""Functions that are registered as hooks or providers: which they are, and who reads what they return.

`REGISTRARS` lists the registering functions; each may be called with keywords, with one mapping,
or used as a decorator. Used by `sites.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from tidings.diagnostics.lint.literal import EMPTY, Options, keywords_of, options_of, value_of
from tidings.diagnostics.lint.names import Function, Names
from tidings.diagnostics.lint.spec import Reader

REGISTRARS: dict[str, Reader] = {
    "register_tool_hook": "hook",
    "register_session_hook": "hook",
    "register_step_hook": "hook",
    "register_persona_hook": "hook",
    "register_worker_hook": "worker",
    "register_reminder_provider": "provider",
}
_EVENT_KEYS = ("event", "events", "subscribes_to")


class Registration(msgspec.Struct, frozen=True):
    """A provider that the file registers under a literal id."""

    id: str
    node: ast.expr


class Registered(msgspec.Struct, frozen=True):
    """What one registering call says: the functions, who reads them, and the provider's id."""

    reader: Reader
    functions: tuple[Function, ...]
    providers: tuple[Registration, ...]


def registered(call: ast.Call, name: str, names: Names) -> Registered:
    """Read a call of one of `REGISTRARS`."""
    options = _given(call, names)
    reader = _reader(REGISTRARS[name], call, options, names)
    values = (*call.args, *options.given.values())
    functions = [names.function(value) for value in values]
    is_provider = REGISTRARS[name] == "provider"
    return Registered(
        reader,
        tuple(function for function in functions if function is not None),
        tuple(_provider(call, options, names)) if is_provider else (),
    )


def decorated(function: ast.FunctionDef | ast.AsyncFunctionDef, names: Names) -> Iterator[Reader]:
    """Who reads what a decorated function returns, once for each registering decorator."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = names.called(call.func if call else decorator)
        if name in REGISTRARS:
            options = _given(call, names) if call else EMPTY
            yield _reader(REGISTRARS[name], call, options, names)


def _given(call: ast.Call, names: Names) -> Options:
    mapping = options_of(call.args[0], names) if call.args else None
    return (mapping or EMPTY) | keywords_of(call, names)


def _reader(reader: Reader, call: ast.Call | None, options: Options, names: Names) -> Reader:
    """The registrar's reader, or `worker` if every event it names is a worker's (seed 001)."""
    given = [options.given[key] for key in _EVENT_KEYS if key in options.given]
    if reader == "hook" and call is not None:
        given += call.args[:1]
    events = [event for node in given for event in _events(value_of(node, names))]
    return "worker" if events and all(map(_is_worker_event, events)) else reader


def _events(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_worker_event(event: object) -> bool:
    return isinstance(event, str) and event.replace("_", "").lower().startswith("worker")


def _provider(call: ast.Call, options: Options, names: Names) -> Iterator[Registration]:
    place = options.given.get("id") or (call.args[0] if call.args else None)
    name = value_of(place, names) if place is not None else None
    if isinstance(name, str) and name.strip():
        yield Registration(name.strip(), call)
