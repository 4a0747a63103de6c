"""Neutral messages and their form on five wires."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidings as td
from tests.rendering import legal, vendor
from tidings.agent import conversation as talk
from tidings.agent.port import Answer, Outcome, ToolCall
from tidings.core.messages import Message
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.rendering.route import Wire

WIRES: tuple[Wire, ...] = get_args(Wire)
ROUTES: dict[Wire, str] = {
    "anthropic": "anthropic/claude-opus-5",
    "openai_chat": "openai/gpt-5",
    "openai_responses": "openai-responses/gpt-5",
    "gemini": "gemini/gemini-2.5-pro",
    "plain": "plain/x",
}
every_wire = pytest.mark.parametrize("wire", WIRES)

READ = ToolCall("call_a", "read", {"path": "a.py"})
LIST = ToolCall("call_b", "list", {})
PIXEL = {"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="}

TALK: list[Message] = [
    talk.user("Look at a.py"),
    talk.assistant(Answer(text="Looking.", tool_calls=(READ, LIST), stop="tools"), "plain"),
    talk.tool_result(READ, Outcome(text="x = 1")),
    talk.tool_result(LIST, Outcome(text="no such folder", ok=False)),
    talk.user([{"type": "text", "text": "And this?"}, PIXEL]),
]

GOLDEN: dict[Wire, list[Payload]] = {
    "anthropic": [
        {"role": "user", "content": "Look at a.py"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "call_b", "name": "list", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_a", "content": "x = 1"},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_b",
                    "content": "no such folder",
                    "is_error": True,
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                },
            ],
        },
    ],
    "openai_chat": [
        {"role": "user", "content": "Look at a.py"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"a.py"}'},
                },
                {"id": "call_b", "type": "function", "function": {"name": "list", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "x = 1"},
        {"role": "tool", "tool_call_id": "call_b", "content": "Tool error: no such folder"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ],
        },
    ],
    "openai_responses": [
        {"role": "user", "content": "Look at a.py"},
        {"role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "call_a", "name": "read", "arguments": '{"path":"a.py"}'},
        {"type": "function_call", "call_id": "call_b", "name": "list", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": "x = 1"},
        {"type": "function_call_output", "call_id": "call_b", "output": "Tool error: no such folder"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "And this?"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,iVBORw0KGgo=",
                    "detail": "auto",
                },
            ],
        },
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "Look at a.py"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Looking."},
                {"functionCall": {"id": "call_a", "name": "read", "args": {"path": "a.py"}}},
                {"functionCall": {"id": "call_b", "name": "list", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "call_a", "name": "read", "response": {"output": "x = 1"}}},
                {
                    "functionResponse": {
                        "id": "call_b",
                        "name": "list",
                        "response": {"error": "no such folder"},
                    }
                },
            ],
        },
        {
            "role": "user",
            "parts": [
                {"text": "And this?"},
                {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
            ],
        },
    ],
    "plain": [
        {"role": "user", "content": "Look at a.py"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {"id": "call_a", "name": "read", "arguments": {"path": "a.py"}},
                {"id": "call_b", "name": "list", "arguments": {}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "x = 1"},
        {"role": "tool", "tool_call_id": "call_b", "content": "Tool error: no such folder"},
        {"role": "user", "content": "And this?\n\n[image: image/png]"},
    ],
}


@every_wire
def test_a_conversation_has_its_form_on_every_wire(wire: Wire) -> None:
    assert talk.to_wire(wire, TALK) == GOLDEN[wire]


@every_wire
def test_results_stand_in_the_order_of_their_calls(wire: Wire) -> None:
    swapped = [*TALK[:2], TALK[3], TALK[2], *TALK[4:]]
    assert talk.to_wire(wire, swapped) == GOLDEN[wire]


@every_wire
def test_native_items_go_back_verbatim_on_their_own_wire_only(wire: Wire) -> None:
    items: tuple[Payload, ...] = (
        {"role": "assistant", "content": [{"type": "thinking", "x": 1}]},
        {"odd": 2},
    )
    message = talk.assistant(Answer(text="Hi", native=items), wire)
    assert talk.to_wire(wire, [message]) == list(items)
    for other in WIRES:
        if other != wire:
            assert "odd" not in str(talk.to_wire(other, [message]))
            assert len(talk.to_wire(other, [message])) == 1


@every_wire
def test_an_empty_turn_is_left_out(wire: Wire) -> None:
    empty = talk.assistant(Answer(text=" "), wire)
    hollow = talk.assistant(Answer(native=({"role": "assistant", "content": []},)), wire)
    assert talk.to_wire(wire, [talk.user("A"), empty, hollow]) == talk.to_wire(wire, [talk.user("A")])


@every_wire
def test_a_result_without_output_says_so(wire: Wire) -> None:
    call = talk.assistant(Answer(tool_calls=(READ,)), "plain")
    said = talk.to_wire(wire, [call, talk.tool_result(READ, Outcome(text=""))])
    assert "(no output)" in str(said[-1])


def test_ids_of_other_vendors_become_legal_for_anthropic() -> None:
    odd = ToolCall("functions.read:0", "read", {})
    use, result = talk.to_wire(
        "anthropic",
        [talk.assistant(Answer(tool_calls=(odd,)), "plain"), talk.tool_result(odd, Outcome(text="ok"))],
    )
    assert use["content"] == [{"type": "tool_use", "id": "functions_read_0", "name": "read", "input": {}}]
    assert result["content"] == [
        {"type": "tool_result", "tool_use_id": "functions_read_0", "content": "ok"}
    ]


def test_ids_that_anthropic_gave_itself_stay_as_they_are() -> None:
    odd = ToolCall("functions.read:0", "read", {})
    block = {"type": "tool_use", "id": odd.id, "name": "read", "input": {}}
    native: Payload = {"role": "assistant", "content": [block]}
    said = talk.assistant(Answer(tool_calls=(odd,), native=(native,)), "anthropic")
    _, result = talk.to_wire("anthropic", [said, talk.tool_result(odd, Outcome(text="ok"))])
    assert result["content"] == [{"type": "tool_result", "tool_use_id": odd.id, "content": "ok"}]


def test_an_assistant_message_holds_only_what_there_is() -> None:
    assert talk.assistant(Answer(text="Hi"), "gemini") == {"role": "assistant", "content": "Hi"}
    native: Payload = {"role": "model", "parts": [{"text": "Hi"}]}
    assert talk.assistant(Answer(text="Hi", tool_calls=(READ,), native=(native,)), "gemini") == {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"id": "call_a", "name": "read", "arguments": {"path": "a.py"}}],
        "native": {"wire": "gemini", "items": [native]},
    }


@pytest.mark.parametrize("content", ["", "  \n", []])
def test_an_empty_user_message_is_refused(content: Any) -> None:
    with pytest.raises(CallerError, match="needs text or an image"):
        talk.user(content)


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"role": "system", "content": "x"}, r"messages\[1\]\.role"),
        ({"content": "x"}, r"messages\[1\]\.role"),
        ({"role": "user", "content": 7}, r"messages\[1\]\.content"),
        ({"role": "user", "content": [{"type": "video"}]}, r"messages\[1\]\.content\[0\]\.type"),
        ({"role": "user", "content": [{"type": "image", "data": "x"}]}, r"content\[0\]\.media_type"),
        ({"role": "assistant", "content": []}, None),
        ({"role": "assistant", "content": 7}, r"messages\[1\]\.content"),
        ({"role": "assistant", "content": "", "tool_calls": [{}]}, r"messages\[1\]\.tool_calls\[0\]\.id"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "name": "b", "arguments": "{}"}]},
            r"tool_calls\[0\]\.arguments",
        ),
        ({"role": "assistant", "native": {"wire": "gemini", "items": 7}}, r"messages\[1\]\.native\.items"),
        ({"role": "tool", "name": "x", "content": "y"}, r"messages\[1\]\.tool_call_id"),
        ({"role": "tool", "tool_call_id": "a", "name": "x", "content": 7}, r"messages\[1\]\.content"),
    ],
)
def test_a_message_in_another_form_is_refused_by_its_field(message: Message, where: str | None) -> None:
    if where is None:
        assert talk.to_wire("gemini", [talk.user("A"), message]) == talk.to_wire("gemini", [talk.user("A")])
        return
    with pytest.raises(CallerError, match=where):
        talk.to_wire("gemini", [talk.user("A"), message])


def test_an_unknown_wire_is_refused() -> None:
    with pytest.raises(CallerError, match="`wire` must be one of anthropic"):
        talk.to_wire("telex", [])  # type: ignore[arg-type]


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip)
arguments = st.dictionaries(texts, st.one_of(st.integers(), texts, st.none()), max_size=2)


@st.composite
def rounds(draw: st.DrawFn) -> list[list[Message]]:
    """A conversation in steps, each ending where a request is sent."""
    steps: list[list[Message]] = [[talk.user(draw(texts))]]
    for number in range(draw(st.integers(0, 4))):
        calls = tuple(
            ToolCall(f"call_{number}_{at}", draw(st.sampled_from(["read", "list"])), draw(arguments))
            for at in range(draw(st.integers(0, 3)))
        )
        text = draw(st.one_of(st.just(""), texts))
        answer = Answer(text=text, tool_calls=calls)
        wire = draw(st.sampled_from(WIRES))
        native = tuple(talk.to_wire(wire, [talk.assistant(answer, wire)])) if draw(st.booleans()) else ()
        said = talk.assistant(Answer(text=text, tool_calls=calls, native=native), wire)
        results = [_result(draw, call) for call in draw(st.permutations(calls))]
        steps.append([said, *results] if results else [said, talk.user(draw(texts))])
        if draw(st.booleans()):
            steps.append([talk.user([{"type": "text", "text": draw(texts)}, PIXEL])])
    return steps


def _result(draw: st.DrawFn, call: ToolCall) -> Payload:
    return talk.tool_result(call, Outcome(text=draw(st.text(max_size=5)), ok=draw(st.booleans())))


@every_wire
@given(steps=rounds())
def test_a_longer_conversation_begins_with_every_shorter_one(
    wire: Wire, steps: list[list[Message]]
) -> None:
    whole = talk.to_wire(wire, [message for step in steps for message in step])
    for end in range(len(steps) + 1):
        part = talk.to_wire(wire, [message for step in steps[:end] for message in step])
        assert whole[: len(part)] == part


@every_wire
@given(steps=rounds())
def test_every_request_of_a_conversation_is_legal_for_its_vendor(
    wire: Wire, steps: list[list[Message]]
) -> None:
    for end in range(1, len(steps) + 1):
        messages = talk.to_wire(wire, [message for step in steps[:end] for message in step])
        body = td.render(ROUTES[wire], messages=messages, system="Be brief.").body
        legal.check(wire, body)
        vendor.check(wire, body)
