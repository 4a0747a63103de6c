"""The answer of a model, as the loop may keep it: what a model raises or gives becomes one or the other.

Whatever goes wrong in a model, also in one of somebody's own, is a `ModelError`. What it gives is read
as JSON once, so that the transcript, its log and every later request hold the same; a call without an
id or name of its own gets one, so that its result can be told apart. `run.py` and `loop.py` ask here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tidings.agent.port import Answer, Model, ModelError, ToolCall, ToolSpec
from tidings.agent.result import OnText
from tidings.core.reminder import Payload
from tidings.shell.ids import new_id

M = TypeVar("M")
W = TypeVar("W")

UNNAMED = "unnamed"
"""The name of a tool that a call left blank; there is no such tool, and the model is told so."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


async def answered(
    model: Model, body: Payload, tools: Sequence[ToolSpec] = (), on_text: OnText | None = None
) -> Answer:
    """What the model says to `body`.

    Raises:
        ModelError: it failed in whatever way, or gave something that is no answer.
    """
    try:
        given: object = await model.answer(body, tools, on_text)
    except ModelError:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ModelError("the model cancelled its own answer") from None
    except (Exception, SystemExit) as error:
        raise ModelError(f"the model failed: {type(error).__name__}: {error}") from error
    return read_answer(given)


def worded(convert: Callable[[M], W], messages: M) -> W:
    """The conversation in the model's wire form, which `convert` makes.

    Raises:
        ModelError: the model cannot be given it.
    """
    try:
        return convert(messages)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise ModelError(f"the conversation cannot be put into the model's form: {said}") from error


def read_answer(given: object) -> Answer:
    """The answer in `given`, with calls that can be told apart and text that can be written.

    Raises:
        ModelError: it is no answer, or holds something that is no JSON.
    """
    if not isinstance(given, Answer):
        raise ModelError(f"the model gave a {type(given).__name__}, which is not an Answer")
    try:
        answer = _decode(_encode(given))
    except UnicodeEncodeError:
        answer = _written(given)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ModelError(f"the model's answer cannot be read: {error}") from error
    calls = _told_apart(answer.tool_calls)
    return answer if calls == answer.tool_calls else replace(answer, tool_calls=calls, native=())


def _written(given: Answer) -> Answer:
    """The answer with a question mark for each half of a character that no log can hold."""
    try:
        return msgspec.convert(_whole(msgspec.to_builtins(given)), Answer)
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise ModelError(f"the model's answer cannot be read: {error}") from error


def _whole(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value


def _told_apart(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls, each with an id that no other of them has, and a name."""
    if len(calls) == 1 and calls[0].id.strip() and calls[0].name.strip():
        return calls
    taken: set[str] = set()
    apart: list[ToolCall] = []
    for call in calls:
        fits = call.id.strip() and call.id not in taken
        named = call if call.name.strip() else replace(call, name=UNNAMED)
        apart.append(named if fits else replace(named, id=f"call_{new_id()}"))
        taken.add(apart[-1].id)
    return tuple(apart)
