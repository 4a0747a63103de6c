"""Scripts by name: `scripted:done`, `scripted:echo`, `scripted:fail`, or `scripted:` and a JSON file.

A file holds `{"route": …, "repeat": …, "steps": [{"text": …}, {"tool_calls": [{"name", "arguments"}]},
{"error": …, "retryable": …, "status": …}]}`; text and tool calls may stand in one step. `choose.py`
calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tidings.agent.models.scripted import ROUTE, Said, ScriptedModel, Step
from tidings.agent.port import Answer, ModelError, ToolCall
from tidings.core.reminder import Payload
from tidings.errors import RouteError
from tidings.rendering.route import Route


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: Payload = {}
    id: str = ""


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    text: str = ""
    tool_calls: tuple[_Call, ...] = ()
    error: str | None = None
    retryable: bool = False
    status: int | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    steps: tuple[_Step, ...]
    route: str = ROUTE
    repeat: bool = False


def echo(body: Payload) -> str:
    """The text of the last message that the request holds."""
    if "prompt" in body:
        return str(body["prompt"]).rpartition("\n\n")[2]
    messages = body.get("messages") or body.get("input") or body.get("contents")
    return "\n\n".join(_texts(messages[-1])) if isinstance(messages, list) and messages else ""


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = [value[key] for key in ("content", "parts", "text", "output") if key in value]
    return [text for item in value for text in _texts(item)] if isinstance(value, (list, tuple)) else []


def _fail(body: Payload) -> Said:  # noqa: ARG001  a step
    return ModelError("scripted:fail always fails", status=500)


NAMES: dict[str, Step] = {"done": "Done.", "echo": echo, "fail": _fail}
"""Scripts that need no file; each says the same to every request."""


def scripted(name: str, route: Route | str | None = None) -> ScriptedModel:
    """The scripted model called `name` (what stands behind `scripted:`).

    Raises:
        RouteError: an unknown name, or a file that cannot be read as a script.
    """
    if name in NAMES:
        return ScriptedModel([NAMES[name]], route=route or ROUTE, repeat=True)
    if not name.endswith(".json"):
        raise RouteError(
            f"unknown script {name!r}: known are {', '.join(NAMES)}, or a file that ends in .json"
        )
    found = _read(Path(name))
    return ScriptedModel(
        [_step(step) for step in found.steps], route=route or found.route, repeat=found.repeat
    )


def _read(path: Path) -> _File:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError) as error:
        raise RouteError(f"the script {path} cannot be read: {error}") from error


def _step(step: _Step) -> Step:
    if step.error is not None:
        return ModelError(step.error, retryable=step.retryable, status=step.status)
    calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in step.tool_calls)
    return Answer(text=step.text, tool_calls=calls, stop="tools" if calls else "end")
