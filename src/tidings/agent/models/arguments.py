"""Tool arguments as models write them: JSON text becomes an object, or a problem in words.

Called by the adapters. A model that writes broken JSON is told so by its tool result; it never
breaks the loop.
"""

from __future__ import annotations

import msgspec

from tidings.agent.port import ToolCall
from tidings.core.reminder import Payload

_SHOWN = 200


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


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
