"""Tool arguments as models write them: JSON text becomes an object, or a problem in words.

Called by the adapters. A model that writes broken JSON is told so by its tool result; it never
breaks the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidings.agent.port import Stop, ToolCall
from tidings.core.reminder import Payload

_SHOWN = 200
_NEVER_CAME = "the answer was cut off by the output limit, and no arguments had come"


def read_call(call_id: str, name: str, text: str) -> ToolCall:
    """The call with its arguments read from `text`; blank text means that there are none."""
    if not text.strip():
        return ToolCall(call_id, name, {})
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return ToolCall(call_id, name, {}, f"the arguments are no valid JSON ({error}): {_shown(text)}")
    return checked_call(call_id, name, arguments)


def checked_call(call_id: str, name: str, arguments: object) -> ToolCall:
    """The call, if `arguments` is an object; else a call with a problem."""
    if isinstance(arguments, dict):
        found: Payload = arguments
        return ToolCall(call_id, name, found)
    problem = f"the arguments must be a JSON object; got {_shown(repr(arguments))}"
    return ToolCall(call_id, name, {}, problem)


def unless_cut(calls: Sequence[ToolCall], stop: Stop) -> tuple[ToolCall, ...]:
    """The calls; the last of an answer that was cut has a problem where its arguments never came."""
    if stop != "length" or not calls or calls[-1].arguments or calls[-1].problem:
        return tuple(calls)
    return (*calls[:-1], msgspec.structs.replace(calls[-1], problem=_NEVER_CAME))


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
