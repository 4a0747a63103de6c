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
    try:
        said = _blocks(message)
    except _Unfit as unfit:
        raise unfit.error() from None
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
        try:
            if role == "tool":
                results.append(_result(message))
                continue
            if results:
                made += _closed(form, results, calls, answered)
                results = []
            if role == "assistant":
                calls = _calls(message)
                answered = _turn(wire, form, message, calls)
                made += answered
            elif role == "user":
                made.append(form.user(_blocks(message)))
            else:
                raise _Unfit("role", role, "user, assistant or tool")
        except _Unfit as unfit:
            raise unfit.error(f"messages[{index}].") from None
    return made + _closed(form, results, calls, answered) if results else made


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
            waiting = [call.id for call in _read_calls(message, index)]
    if waiting:
        raise CallerError(f"the call {waiting[0]!r} at the end has no result; keep both or neither")


def _closed(
    form: Form, results: list[Result], calls: Sequence[Call], answered: Sequence[Payload]
) -> list[Payload]:
    """Tool results in the order of their calls, whoever finished first."""
    if len(results) == 1:
        return form.tools(results, answered)
    order = {call.id: at for at, call in enumerate(calls)}
    ordered = sorted(results, key=lambda result: order.get(result.call_id, len(order)))
    return form.tools(ordered, answered)


class _Unfit(Exception):
    """A part of a message that is not in the neutral form; who reads the message says which one it is."""

    def __init__(self, path: str, value: object, wanted: str) -> None:
        self.path, self.value, self.wanted = path, value, wanted

    def inside(self, path: str) -> _Unfit:
        """The same, in what stands at `path`."""
        return _Unfit(f"{path}.{self.path}", self.value, self.wanted)

    def error(self, before: str = "") -> CallerError:
        """What the caller is told."""
        return CallerError(f"`{before}{self.path}` must be {self.wanted}; got {self.value!r:.80}")


def _turn(wire: Wire, form: Form, message: Message, calls: list[Call]) -> list[Payload]:
    """The native items of this wire, else rebuilt; a turn that says nothing is left out."""
    native = message.get("native")
    if native and isinstance(native, Mapping) and native.get("wire") == wire:
        items = _list(native.get("items"), "native.items")
        return [dict(item) for item in items if not is_empty(item)]
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise _Unfit("content", text, "a string")
    return form.assistant(text, calls) if text.strip() or calls else []


def _read_calls(message: Message, index: int) -> list[Call]:
    try:
        return _calls(message)
    except _Unfit as unfit:
        raise unfit.error(f"messages[{index}].") from None


def _calls(message: Message) -> list[Call]:
    found = message.get("tool_calls")
    return [_call(call, at) for at, call in enumerate(_list(found, "tool_calls"))] if found else []


def _call(call: Message, at: int) -> Call:
    try:
        return Call(_text(call, "id"), _text(call, "name"), _object(call, "arguments"))
    except _Unfit as unfit:
        raise unfit.inside(f"tool_calls[{at}]") from None


def _result(message: Message) -> Result:
    call_id, name, text = _text(message, "tool_call_id"), _text(message, "name"), message.get("content")
    if text is None or (isinstance(text, str) and not text.strip()):
        text = "(no output)"
    elif not isinstance(text, str):
        raise _Unfit("content", text, "a text that is not blank")
    return Result(call_id, name, text, message.get("is_error") is True)


def _blocks(message: Message) -> str | list[Block]:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return [_block(block, at) for at, block in enumerate(_list(content, "content"))]


def _block(block: Message, at: int) -> Block:
    kind = block.get("type")
    try:
        if kind not in _BLOCK_KEYS:
            raise _Unfit("type", kind, "text or image")
        return {"type": kind, **{key: _text(block, key) for key in _BLOCK_KEYS[kind]}}
    except _Unfit as unfit:
        raise unfit.inside(f"content[{at}]") from None


_BLOCK_KEYS: dict[object, tuple[str, ...]] = {"text": ("text",), "image": ("media_type", "data")}


def _text(holder: Message, key: str) -> str:
    value = holder.get(key)
    if isinstance(value, str) and value.strip():
        return value
    raise _Unfit(key, value, "a text that is not blank")


def _object(holder: Message, key: str) -> Payload:
    value = holder.get(key)
    if not isinstance(value, (dict, Mapping)):
        raise _Unfit(key, value, "an object")
    return dict(value)


def _list(value: object, path: str) -> list[Message]:
    if not isinstance(value, (list, tuple)) or False in [
        isinstance(item, (dict, Mapping)) for item in value
    ]:
        raise _Unfit(path, value, "a list of objects")
    return list(value)
