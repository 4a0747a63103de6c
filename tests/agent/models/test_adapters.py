"""Every adapter through its vendor's real SDK, over HTTP, against the fake provider."""

from __future__ import annotations

import pytest

from tests.agent.models.vendors import ENTRIES, KEY, READ, WIRES, ask, error_of, make
from tidings.agent import conversation as talk
from tidings.agent.port import Answer, Outcome, ToolCall, Usage
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.testing.fake_provider import Call, FakeProvider, Refuse, Say

pytestmark = pytest.mark.parametrize("wire", WIRES)

HELLO = [talk.user("Hello")]
READ_A = ToolCall("call_a", "read", {"path": "a.py"})
READ_B = ToolCall("call_b", "read", {"path": "b.py"})
CALLS = (Call("read", {"path": "a.py"}, "call_a"), Call("read", {"path": "b.py"}, "call_b"))


def test_text_is_heard_in_pieces_and_whole_in_the_answer(wire: str) -> None:
    heard: list[str] = []
    with FakeProvider(Say(text="All is well.", usage=Usage(20, 7, 12))) as provider:
        answer = ask(make(wire, provider), HELLO, on_text=heard.append)
    assert heard == ["All ", "is ", "well."]
    assert (answer.text, answer.tool_calls, answer.stop) == ("All is well.", (), "end")
    assert answer.usage == Usage(20, 7, 12)


def test_the_rendered_body_arrives_as_it_is(wire: str) -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        model = make(wire, provider)
        ask(model, HELLO)
    received = provider.bodies[0]
    assert received[ENTRIES[wire]][-1:] == model.wire_messages(HELLO)
    assert "Be brief." in str(received)
    assert "tools" not in received


def test_no_key_is_kept_by_the_fake(wire: str) -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        ask(make(wire, provider), HELLO)
    assert KEY not in str(provider.requests)


def test_parallel_tool_calls_come_with_their_arguments(wire: str) -> None:
    with FakeProvider(Say(text="Let me look.", calls=CALLS)) as provider:
        answer = ask(make(wire, provider), HELLO, [READ])
    assert answer.text == "Let me look."
    assert answer.tool_calls == (READ_A, READ_B)
    assert answer.stop == "tools"


DECLARED: dict[str, Payload] = {
    "anthropic": {"name": "read", "description": "Read a file.", "input_schema": READ.schema},
    "openai_chat": {
        "type": "function",
        "function": {"name": "read", "description": "Read a file.", "parameters": READ.schema},
    },
    "openai_responses": {
        "type": "function",
        "name": "read",
        "description": "Read a file.",
        "parameters": READ.schema,
        "strict": False,
    },
    "gemini": {
        "functionDeclarations": [
            {"name": "read", "description": "Read a file.", "parameters_json_schema": READ.schema}
        ]
    },
}


def test_tools_are_declared_in_the_vendors_form(wire: str) -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        ask(make(wire, provider), HELLO, [READ])
    assert provider.bodies[0]["tools"] == [DECLARED[wire]]


def turns(answer: Answer, wire: str) -> list[Payload]:
    """The conversation after `answer`, whose calls have been run."""
    results = [talk.tool_result(call, Outcome(text=f"ran {call.name}")) for call in answer.tool_calls]
    return [*HELLO, talk.assistant(answer, wire), *results]  # type: ignore[arg-type]


def test_thinking_goes_back_verbatim_with_the_tool_results(wire: str) -> None:
    with FakeProvider(
        Say(text="Hm.", thinking="I should look first.", calls=CALLS), Say(text="Done")
    ) as provider:
        model = make(wire, provider)
        first = ask(model, HELLO, [READ])
        second = ask(model, turns(first, wire), [READ])
    assert provider.refused == []
    assert second.text == "Done"
    sent = provider.bodies[1][ENTRIES[wire]]
    assert sent[: -len(THOUGHT[wire]) or None]  # history before it
    assert [entry for entry in sent if entry in THOUGHT[wire]] == THOUGHT[wire]


THOUGHT: dict[str, list[Payload]] = {
    "anthropic": [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I should look first.", "signature": "signature/1+20=="},
                {"type": "text", "text": "Hm."},
                {"type": "tool_use", "id": "call_a", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "call_b", "name": "read", "input": {"path": "b.py"}},
            ],
        }
    ],
    "openai_chat": [
        {
            "role": "assistant",
            "content": "Hm.",
            "reasoning_content": "I should look first.",
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": "read", "arguments": f'{{"path":"{path}"}}'},
                }
                for call_id, path in (("call_a", "a.py"), ("call_b", "b.py"))
            ],
        }
    ],
    "openai_responses": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "I should look first."}],
            "encrypted_content": "gAAA+/1=",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hm.", "annotations": []}],
        },
        *(
            {
                "type": "function_call",
                "id": item_id,
                "name": "read",
                "call_id": call_id,
                "arguments": f'{{"path":"{path}"}}',
                "status": "completed",
            }
            for item_id, call_id, path in (("fc_1_0", "call_a", "a.py"), ("fc_1_1", "call_b", "b.py"))
        ),
    ],
    "gemini": [
        {
            "role": "model",
            "parts": [
                {"text": "I should look first.", "thought": True},
                {"text": "Hm."},
                {
                    "functionCall": {"id": "call_a", "name": "read", "args": {"path": "a.py"}},
                    "thoughtSignature": "-_8gc2lnbmVkIDE=",
                },
                {"functionCall": {"id": "call_b", "name": "read", "args": {"path": "b.py"}}},
            ],
        }
    ],
}


def test_an_answer_without_thinking_goes_back_too(wire: str) -> None:
    with FakeProvider(Say(text="One."), Say(text="Two.")) as provider:
        model = make(wire, provider)
        first = ask(model, HELLO)
        second = ask(model, [*turns(first, wire), talk.user("And?")])
    assert (first.text, second.text, provider.refused) == ("One.", "Two.", [])


def test_a_conversation_moves_to_another_vendor(wire: str) -> None:
    other = WIRES[WIRES.index(wire) - 1]
    with FakeProvider(Say(thinking="Hm.", calls=CALLS), Say(text="Done")) as provider:
        first = ask(make(wire, provider), HELLO, [READ])
        second = ask(make(other, provider), turns(first, wire), [READ])
    assert (second.text, provider.refused) == ("Done", [])


CUT_SHORT = {
    "anthropic": ("max_tokens", "refusal"),
    "openai_chat": ("length", "content_filter"),
    "openai_responses": ("max_output_tokens", "content_filter"),
    "gemini": ("MAX_TOKENS", "SAFETY"),
}


def test_an_answer_that_was_cut_short_or_refused_says_so(wire: str) -> None:
    too_long, refused = CUT_SHORT[wire]
    with FakeProvider(Say(text="Well, ", stop=too_long), Say(text="No", stop=refused)) as provider:
        model = make(wire, provider)
        stops = [ask(model, HELLO).stop, ask(model, HELLO).stop]
    assert stops == ["length", "refused"]


def test_a_call_without_arguments_has_none(wire: str) -> None:
    empty: Payload | str = {} if wire == "gemini" else ""
    with FakeProvider(Say(calls=(Call("now", empty, "call_a"),))) as provider:
        answer = ask(make(wire, provider), HELLO)
    assert answer.tool_calls == (ToolCall("call_a", "now", {}),)


def test_only_thinking_leaves_nothing_to_send_back(wire: str) -> None:
    with FakeProvider(Say(thinking="Hm."), Say(text="Better")) as provider:
        model = make(wire, provider)
        answer = ask(model, HELLO)
        second = ask(model, [*turns(answer, wire), talk.user("Go on")])
    assert (answer.text, answer.native) == ("", ())
    assert (second.text, provider.refused) == ("Better", [])


LIMIT = {
    "anthropic": {"max_tokens": 99, "temperature": 0.5},
    "openai_chat": {"max_completion_tokens": 99, "temperature": 0.5},
    "openai_responses": {"max_output_tokens": 99, "temperature": 0.5},
    "gemini": {"generationConfig": {"maxOutputTokens": 99, "temperature": 0.5}},
}


def test_options_reach_the_vendor(wire: str) -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        ask(make(wire, provider, max_tokens=99, temperature=0.5), HELLO)
    received = provider.bodies[0]
    assert {name: received[name] for name in LIMIT[wire]} == LIMIT[wire]


def test_tools_that_the_vendor_runs_stand_before_ours(wire: str) -> None:
    hosted: Payload = (
        {"googleSearch": {}} if wire == "gemini" else {"type": "web_search", "name": "web_search"}
    )
    with FakeProvider(Say(text="Hi")) as provider:
        ask(make(wire, provider, tools=[hosted]), HELLO, [READ])
    assert provider.bodies[0]["tools"] == [hosted, DECLARED[wire]]


def test_an_unknown_option_is_named_before_anything_is_sent(wire: str) -> None:
    with FakeProvider() as provider, pytest.raises(CallerError, match="temprature"):
        ask(make(wire, provider, temprature=1), HELLO)
    assert provider.requests == []


def test_an_illegal_request_is_refused_by_the_vendor_not_hidden(wire: str) -> None:
    open_call = talk.assistant(Answer(tool_calls=(READ_A,), stop="tools"), "plain")
    with FakeProvider(Say(text="never")) as provider:
        error = error_of(make(wire, provider), [*HELLO, open_call, talk.user("So?")])
    assert (error.status, error.retryable, len(provider.requests)) == (400, False, 1)
    assert len(provider.refused) == 1
    assert provider.refused[0] in str(error)


def test_one_model_works_in_several_event_loops(wire: str) -> None:
    with FakeProvider(Say(text="1"), Refuse(), Say(text="2")) as provider:
        model = make(wire, provider)
        first = ask(model, HELLO)
        error_of(model, HELLO)
        assert (first.text, ask(model, HELLO).text) == ("1", "2")
