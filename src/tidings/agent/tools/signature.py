"""A function's signature becomes parameters: their schema, and the check of what a model sent.

Arguments are checked one by one, so that a model reads every problem of its call at once, each with
the argument, the value and the fix. Called by `function.py`; knows nothing of running.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from tidings.agent.tools.docstring import Described
from tidings.agent.tools.schema import json_schema
from tidings.agent.tools.tool import ToolContext
from tidings.core.reminder import Payload
from tidings.errors import CallerError

_SHOWN = 80
_SHOWN_SCHEMA = 400
_SCALARS = frozenset((str, int, float, bool))
"""What needs no conversion if it is exactly that."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One argument that the model may send."""

    name: str
    hint: object
    schema: Payload
    required: bool


class Signature(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All arguments of a function; `contexts` names the ones that get the `ToolContext`."""

    parameters: tuple[Parameter, ...]
    contexts: tuple[str, ...] = ()

    def schema(self) -> Payload:
        """JSON Schema for the arguments object."""
        return {
            "type": "object",
            "properties": {each.name: each.schema for each in self.parameters},
            "required": [each.name for each in self.parameters if each.required],
            "additionalProperties": False,
        }

    @functools.cached_property
    def _known(self) -> dict[str, Parameter]:
        return {each.name: each for each in self.parameters}

    @functools.cached_property
    def _needed(self) -> tuple[Parameter, ...]:
        return tuple(each for each in self.parameters if each.required)

    def check(self, arguments: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
        """The arguments in the function's own types, and one sentence for each problem."""
        known = self._known
        values: dict[str, object] = {}
        problems = [_missing(each) for each in self._needed if each.name not in arguments]
        for name, value in arguments.items():
            if name not in known:
                problems.append(_unknown(name, tuple(known)))
                continue
            try:
                values[name] = _convert(value, known[name].hint)
            except msgspec.ValidationError as error:
                problems.append(_invalid(known[name], value, error))
        return values, tuple(problems)


def read_signature(function: Callable[..., object], described: Described) -> Signature:
    """What `function` takes.

    Raises:
        CallerError: a parameter without a type hint, of a type with no JSON form, or `*args`.
    """
    hints = _hints(function)
    wanted = inspect.signature(function).parameters.values()
    for each in wanted:
        if each.kind not in _NAMED:
            kind = each.kind.description
            raise CallerError(f"parameter {each.name!r} is {kind}; a model sends arguments by name")
    contexts = tuple(each.name for each in wanted if _is_context(hints.get(each.name)))
    given = (each for each in wanted if each.name not in contexts)
    return Signature(
        parameters=tuple(_parameter(each, hints, described) for each in given), contexts=contexts
    )


def _parameter(each: inspect.Parameter, hints: Mapping[str, object], described: Described) -> Parameter:
    if each.name not in hints:
        raise CallerError(f"parameter {each.name!r} has no type hint; add one, such as {each.name}: str")
    required = each.default is inspect.Parameter.empty
    hint = hints[each.name]
    if each.default is None:
        hint = Union[hint, None]  # noqa: UP007 the hint is a value here
    try:
        schema = json_schema(hint)
    except CallerError as error:
        raise CallerError(f"parameter {each.name!r}: {error}") from error
    text = _annotated_text(hint) or described.arguments.get(each.name)
    extra: Payload = {"description": text} if text else {}
    if not required:
        extra["default"] = _default(each)
    return Parameter(name=each.name, hint=hint, schema={**schema, **extra}, required=required)


def _default(each: inspect.Parameter) -> object:
    try:
        return msgspec.to_builtins(each.default)
    except TypeError as error:
        raise CallerError(f"parameter {each.name!r}: default {each.default!r} has no JSON form") from error


def _hints(function: Callable[..., object]) -> dict[str, object]:
    target: object = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(cast(Callable[..., object], target), include_extras=True)
    except NameError as error:
        raise CallerError(f"a type hint cannot be read ({error}); define it at module level") from error


def _parts(hint: object) -> tuple[object, ...]:
    """The hint without `Annotated`, and the members of a union."""
    if get_origin(hint) is Annotated:
        return _parts(get_args(hint)[0])
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_context(hint: object) -> bool:
    return ToolContext in _parts(hint)


def _annotated_text(hint: object) -> str | None:
    """The text in `Annotated[T, "text"]`, also when `T` was widened to take None."""
    options = (hint, *get_args(hint)) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    notes = [note for option in options if get_origin(option) is Annotated for note in get_args(option)[1:]]
    return next((note for note in notes if isinstance(note, str)), None)


def _convert(value: object, hint: object) -> object:
    """`value` in the type of `hint`; whole floats may stand for integers, as in JSON Schema."""
    if type(value) is hint and hint in _SCALARS:
        return value
    try:
        return msgspec.convert(value, cast(type, hint))
    except msgspec.ValidationError:
        whole = _whole(value)
        return msgspec.convert(whole, cast(type, hint))


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


def _missing(parameter: Parameter) -> str:
    return f"argument {parameter.name!r} is missing; send {_expected(parameter)}"


def _unknown(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    takes = ", ".join(map(repr, known)) or "no arguments"
    fix = f"did you mean {near[0]!r}?" if near else f"it takes {takes}"
    return f"argument {name!r} is unknown; {fix}"


def _invalid(parameter: Parameter, value: object, error: msgspec.ValidationError) -> str:
    why = str(error).replace("$.", f"{parameter.name}.").replace("$[", f"{parameter.name}[")
    return f"argument {parameter.name!r} is {shown(repr(value))}: {why}; send {_expected(parameter)}"


def _expected(parameter: Parameter) -> str:
    schema = {key: value for key, value in parameter.schema.items() if key != "default"}
    return shown(msgspec.json.encode(schema).decode(), _SHOWN_SCHEMA)


def shown(text: str, limit: int = _SHOWN) -> str:
    """`text` in at most a few characters, for a message."""
    return text if len(text) <= limit else f"{text[:limit]}…"
