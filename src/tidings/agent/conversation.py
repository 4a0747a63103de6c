"""The loop's neutral messages, and their form on each wire. Pure.

user `{"role", "content": text or blocks}`, assistant `{"role", "content", "tool_calls", "native"}`,
tool `{"role", "tool_call_id", "name", "content", "is_error"}`. `native` holds the assistant's turn as
its wire gave it and goes back verbatim on that wire: thinking blocks, reasoning items and signatures
survive; on any other wire the turn is rebuilt from the neutral parts. A longer conversation begins
with the wire form of a shorter one that ended at a request. The loop builds, models convert.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidings.agent.models.forms import FORMS, Block, Call, Form, Result, is_empty
from tidings.agent.port import Answer, Outcome, ToolCall
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.rendering.route import WIRES, Wire


def user(content: object) -> Payload:
    """A user message of text, or of text and image blocks.

    Raises:
        CallerError: there is nothing in it, or a block that cannot be read.
    """
    message: Payload = {"role": "user", "content": list(content) if isinstance(content, tuple) else content}
    said = _blocks(message, "content")
    if not (said.strip() if isinstance(said, str) else said):
        raise CallerError("a user message needs text or an image; got an empty one")
    return message


def words(content: str | Sequence[Block]) -> str:
    """The text of a user's message, without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content if "text" in block)


def assistant(answer: Answer, wire: Wire) -> Payload:
    """The model's turn, neutral and as `wire` gave it."""
    message: Payload = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.tool_calls
        ]
    if answer.native:
        message["native"] = {"wire": wire, "items": list(answer.native)}
    return message


def tool_result(call: ToolCall, outcome: Outcome) -> Payload:
    """What the tool gave for `call`."""
    return {
        "role": "tool",
        "tool_call_id": call.id,
        "name": call.name,
        "content": outcome.text,
        "is_error": not outcome.ok,
    }


def to_wire(wire: Wire, messages: Sequence[Message]) -> list[Payload]:
    """`messages` in the form of `wire`.

    Raises:
        CallerError: a message that is not in the neutral form, by its position.
    """
    if wire not in FORMS:
        raise CallerError(f"`wire` must be one of {', '.join(WIRES)}; got {wire!r:.80}")
    form = FORMS[wire]
    made: list[Payload] = []
    answered: Sequence[Payload] = ()
    calls: Sequence[Call] = ()
    results: list[Result] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            results.append(_result(message, f"messages[{index}]"))
            continue
        made += _closed(form, results, calls, answered)
        results = []
        if role == "assistant":
            calls = _calls(message, f"messages[{index}].tool_calls")
            answered = _turn(wire, form, message, calls, f"messages[{index}]")
            made += answered
        elif role == "user":
            made.append(form.user(_blocks(message, f"messages[{index}].content")))
        else:
            raise _bad(f"messages[{index}].role", role, "user, assistant or tool")
    return made + _closed(form, results, calls, answered)


def check_pairs(messages: Sequence[Message]) -> None:
    """See that every call has its result, right behind it, and every result its call.

    Raises:
        CallerError: one has not, by its position.
    """
    waiting: list[object] = []
    for index, message in enumerate(messages):
        if message.get("role") == "tool" and message.get("tool_call_id") in waiting:
            waiting.remove(message.get("tool_call_id"))
        elif waiting or message.get("role") == "tool":
            raise CallerError(
                f"`messages[{index}]` parts a tool call from its result; keep both, or neither"
            )
        else:
            waiting = [call.id for call in _calls(message, f"messages[{index}].tool_calls")]
    if waiting:
        raise CallerError(f"the call {waiting[0]!r} at the end has no result; keep both or neither")


def _closed(
    form: Form, results: list[Result], calls: Sequence[Call], answered: Sequence[Payload]
) -> list[Payload]:
    """Tool results in the order of their calls, whoever finished first."""
    if len(results) < 2:
        return form.tools(results, answered) if results else []
    order = {call.id: at for at, call in enumerate(calls)}
    ordered = sorted(results, key=lambda result: order.get(result.call_id, len(order)))
    return form.tools(ordered, answered)


def _turn(wire: Wire, form: Form, message: Message, calls: list[Call], where: str) -> list[Payload]:
    """The native items of this wire, else rebuilt; a turn that says nothing is left out."""
    native = message.get("native")
    if isinstance(native, Mapping) and native.get("wire") == wire:
        items = _list(native.get("items"), f"{where}.native.items")
        return [dict(item) for item in items if not is_empty(item)]
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise _bad(f"{where}.content", text, "a string")
    return form.assistant(text, calls) if text.strip() or calls else []


def _calls(message: Message, where: str) -> list[Call]:
    found = _list(message.get("tool_calls") or [], where)
    return [
        Call(
            _text(call, "id", f"{where}[{at}]"),
            _text(call, "name", f"{where}[{at}]"),
            _object(call, "arguments", f"{where}[{at}]"),
        )
        for at, call in enumerate(found)
    ]


def _result(message: Message, where: str) -> Result:
    return Result(
        _text(message, "tool_call_id", where),
        _text(message, "name", where),
        _text(message, "content", where, blank="(no output)"),
        message.get("is_error") is True,
    )


def _blocks(message: Message, where: str) -> str | list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return [_block(block, f"{where}[{at}]") for at, block in enumerate(_list(content, where))]


def _block(block: Message, where: str) -> Block:
    kind = block.get("type")
    if kind not in _BLOCK_KEYS:
        raise _bad(f"{where}.type", kind, "text or image")
    return {"type": kind, **{key: _text(block, key, where) for key in _BLOCK_KEYS[kind]}}


_BLOCK_KEYS: dict[object, tuple[str, ...]] = {"text": ("text",), "image": ("media_type", "data")}


def _text(holder: Message, key: str, where: str, blank: str | None = None) -> str:
    value = holder.get(key)
    if isinstance(value, str) and value.strip():
        return value
    if blank is not None and (value is None or isinstance(value, str)):
        return blank
    raise _bad(f"{where}.{key}", value, "a text that is not blank")


def _object(holder: Message, key: str, where: str) -> Payload:
    value = holder.get(key)
    if not isinstance(value, (dict, Mapping)):
        raise _bad(f"{where}.{key}", value, "an object")
    return dict(value)


def _list(value: object, where: str) -> list[Message]:
    if not isinstance(value, (list, tuple)) or False in [
        isinstance(item, (dict, Mapping)) for item in value
    ]:
        raise _bad(where, value, "a list of objects")
    return list(value)


def _bad(where: str, value: object, wanted: str) -> CallerError:
    return CallerError(f"`{where}` must be {wanted}; got {value!r:.80}")
