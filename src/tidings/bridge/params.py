"""The parameters of a host's call, read: whose session, which reminder, which words. Pure.

Both spellings are read, a reminder may stand flat or under `reminder`, and nothing inside `_meta` overrides
a parameter (decision 11). What is wrong becomes an `RpcError` or a `DiagnosticError` that names it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.producers import shown
from tidings.core.reminder import Payload
from tidings.core.wire import SPELLING, from_wire
from tidings.errors import DiagnosticError, Problem

_SESSION = ("sessionId", "session_id")
_ABOUT = (*_SESSION, "mode", "_meta")


def session_id_of(params: Mapping[str, object]) -> str | None:
    """The session that is meant; None when none is named.

    Raises:
        RpcError: not a string, or two different ones.
    """
    return _text(params, _SESSION)


def reminder_of(params: Mapping[str, object], context: str) -> tuple[Payload, object]:
    """The options of a reminder in snake_case, and the mode that was asked for.

    Raises:
        DiagnosticError: HARN-RMD-001 or 002 for a field given twice, or something beside `reminder`.
    """
    inner = params.get("reminder")
    if inner is None:
        given = {name: value for name, value in params.items() if name not in _SESSION}
    else:
        given = _nested(params, inner, context)
    options = from_wire(given, context)
    return options, options.pop("mode", None)


def _nested(params: Mapping[str, object], inner: object, context: str) -> Payload:
    if not isinstance(inner, Mapping):
        fix = f"`reminder` must be an object; got {shown(inner)}"
        raise DiagnosticError(context, (Problem("HARN-RMD-002", "reminder", shown(inner), fix),))
    beside = sorted(name for name in params if name not in (*_ABOUT, "reminder"))
    if beside:
        problems = [_beside(name, params[name]) for name in beside]
        raise DiagnosticError(context, tuple(problems))
    outer = {name: params[name] for name in ("mode", "_meta") if name in params}
    return {**outer, **inner}


def _beside(name: str, value: object) -> Problem:
    fix = f"`{name}` stands beside `reminder`; put it inside, or send every field flat"
    return Problem("HARN-RMD-001", name, shown(value), fix)


def reminder_id_of(params: Mapping[str, object]) -> str:
    """The reminder that is meant.

    Raises:
        RpcError: none is named.
    """
    found = _text(params, ("reminderId", "reminder_id"))
    if found is None or not found.strip():
        raise RpcError(INVALID_PARAMS, "`reminderId` is missing; give the id that injecting returned")
    return found.strip()


def selector_of(params: Mapping[str, object]) -> Payload:
    """What to clear: `id`, `tag`, `dedupeKey`, in either spelling.

    Raises:
        RpcError: one given twice with different values.
    """
    keys = ("dedupeKey", "dedupe_key")
    chosen = {name: value for name, value in params.items() if name not in (*_SESSION, *keys, "_meta")}
    key = _text(params, keys)
    return chosen if key is None else {**chosen, "dedupe_key": key}


def words_of(params: Mapping[str, object]) -> object:
    """What the user says: text, or a list of content blocks.

    Raises:
        RpcError: nothing, or neither.
    """
    content = params.get("content", params.get("prompt"))
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(content, list) and content and all(isinstance(block, Mapping) for block in content):
        return content
    fix = "must be text or a list of content blocks"
    raise RpcError(INVALID_PARAMS, f"`content` {fix}; got {shown(content)}", {"field": "content"})


def message_id_of(params: Mapping[str, object]) -> str | None:
    """The id that the host chose for a user message, if it did.

    Raises:
        RpcError: not a string, or two different ones.
    """
    return _text(params, ("messageId", "message_id", "id"))


def as_sent(error: DiagnosticError, method: str, params: Mapping[str, object]) -> DiagnosticError:
    """`error` in the sender's words: the method it called, its spelling of the fields."""
    inner = params.get("reminder")
    sent = set(params) | (set(inner) if isinstance(inner, Mapping) else set())
    names = {snake: camel for snake, camel in SPELLING.items() if camel in sent}
    return DiagnosticError(method, tuple(_respelled(problem, names) for problem in error.problems))


def _respelled(problem: Problem, names: Mapping[str, str]) -> Problem:
    name = names.get(problem.field)
    if name is None:
        return problem
    told = problem.message.replace(f"`{problem.field}`", f"`{name}`", 1)
    return replace(problem, field=name, message=told)


def _text(params: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    given = {name: params[name] for name in names if params.get(name) is not None}
    for name, value in given.items():
        if not isinstance(value, str):
            text = f"`{name}` must be a string; got {shown(value)}"
            raise RpcError(INVALID_PARAMS, text, {"field": name})
    if len(set(given.values())) > 1:
        told = " and ".join(f"{name} {shown(value)}" for name, value in given.items())
        raise RpcError(INVALID_PARAMS, f"{told} differ; send one", {"field": names[0]})
    return next((str(value) for value in given.values()), None)
