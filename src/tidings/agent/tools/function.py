"""A Python function becomes a tool: schema from its hints, words from its docstring.

Plain functions run in a thread, coroutine functions in the loop. A parameter annotated `ToolContext`
gets the context and is not shown to the model. A `str` is the result as it stands, an `Outcome` too,
anything else is written as JSON.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast, overload

import msgspec

from tidings.agent.arguments import is_seconds
from tidings.agent.port import Outcome, ToolSpec
from tidings.agent.tools.docstring import describe
from tidings.agent.tools.signature import Signature, read_signature
from tidings.agent.tools.thread import in_thread
from tidings.agent.tools.tool import ArgumentError, Run, Tool, ToolContext, ToolError
from tidings.core.reminder import Payload
from tidings.errors import CallerError

Function: TypeAlias = Callable[..., object]

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


@overload
def tool(
    fn: Function,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    deadline: float | None = None,
) -> Tool: ...
@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    deadline: float | None = None,
) -> Callable[[Function], Tool]: ...
def tool(
    fn: Function | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    deadline: float | None = None,
) -> Tool | Callable[[Function], Tool]:
    """The tool that calls `fn`; without `fn`, a decorator that makes it.

    Raises:
        CallerError: a name, a type hint or a deadline that cannot be used; says which.
    """
    if fn is None:
        options = {"name": name, "description": description, "read_only": read_only, "deadline": deadline}
        return cast(Callable[[Function], Tool], functools.partial(tool, **options))
    if not callable(fn):
        raise CallerError(f"a tool must be a function, or what td.tool gives; got {fn!r:.80}")
    chosen = _checked_name(fn, name)
    if deadline is not None and not is_seconds(deadline):
        raise CallerError(f"tool {chosen!r}: deadline is {deadline!r}; give seconds above 0")
    described = describe(inspect.getdoc(_documented(fn)))
    try:
        signature = read_signature(fn, described)
    except CallerError as error:
        raise CallerError(f"tool {chosen!r}: {error}") from error
    spec = ToolSpec(chosen, description or described.summary, signature.schema())
    bind = functools.partial(_bind, fn, chosen, signature, _is_async(fn))
    return Tool(spec=spec, bind=bind, read_only=read_only, deadline=deadline)


def as_tool(fn: Tool | Function) -> Tool:
    """`fn` as a tool: a tool as it is, a function with the defaults of `tool`."""
    return fn if isinstance(fn, Tool) else tool(fn)


def _checked_name(fn: Function, name: str | None) -> str:
    chosen = name or str(getattr(_documented(fn), "__name__", ""))
    if not _NAME.fullmatch(chosen):
        fix = "give name= with letters, digits, '_' or '-', at most 64"
        raise CallerError(f"{fn!r} cannot be a tool under the name {chosen!r}; {fix}")
    return chosen


def _documented(fn: object) -> object:
    """Where a callable keeps its name and docstring."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn if inspect.isroutine(fn) else type(fn)


def _bind(fn: Function, name: str, signature: Signature, is_async: bool, arguments: Payload) -> Run:
    values, problems = signature.check(arguments)
    if problems:
        raise ArgumentError(name, problems)

    async def run(context: ToolContext) -> Outcome:
        contexts = dict.fromkeys(signature.contexts, context)
        return _outcome(name, await _call(functools.partial(fn, **values, **contexts), is_async))

    return run


async def _call(bound: Callable[[], object], is_async: bool) -> object:
    """What the function gives; one that wants to end the process only ends its own call."""
    try:
        if is_async:
            return await cast(Awaitable[object], bound())
        result = await in_thread(bound)
        return await result if inspect.isawaitable(result) else result
    except SystemExit as error:
        raise ToolError(f"the tool tried to end the process (exit code {error.code!r})") from error


def _is_async(fn: object) -> bool:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def _outcome(name: str, result: object) -> Outcome:
    match result:
        case Outcome():
            return result
        case str():
            return Outcome(text=result)
        case _:
            return Outcome(text=_as_json(name, result))


def _as_json(name: str, result: object) -> str:
    try:
        return msgspec.json.encode(result).decode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(result).__name__
        raise TypeError(f"tool {name!r} returned a {kind} that has no JSON form: {error}") from error
