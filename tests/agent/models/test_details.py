"""What is special about one vendor's stream or another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.models.vendors import READ, ask, body, error_of, make, run
from tidings.agent import conversation as talk
from tidings.agent.models.anthropic import AnthropicModel, Blocks
from tidings.agent.models.failure import clean
from tidings.agent.models.gemini import Parts
from tidings.agent.models.openai_chat import Deltas, OpenAIChatModel
from tidings.agent.models.openai_responses import Items
from tidings.agent.models.streamed import Gathering
from tidings.agent.port import Answer, ModelError, Outcome, ToolCall, Usage
from tidings.errors import RouteError
from tidings.testing.fake_provider import Call, FakeProvider, Refuse, Say

HELLO = [talk.user("Hello")]


def gathered(gathering: Gathering, *events: dict[str, Any]) -> Answer:
    for event in events:
        gathering.add(event)
    return gathering.answer()


@pytest.mark.parametrize("wire", ["anthropic", "openai_chat", "openai_responses"])
@pytest.mark.parametrize("text", ['{"path": ', "[1, 2]", "nonsense", '"text"'])
def test_broken_arguments_become_a_problem_and_the_next_request_is_legal(wire: str, text: str) -> None:
    with FakeProvider(Say(calls=(Call("read", text, "call_a"),)), Say(text="Sorry")) as provider:
        model = make(wire, provider)
        answer = ask(model, HELLO, [READ])
        (call,) = answer.tool_calls
        failed = talk.tool_result(call, Outcome(text=str(call.problem), ok=False))
        second = ask(model, [*HELLO, talk.assistant(answer, model.wire), failed])
    assert (call.id, call.name, call.arguments, answer.stop) == ("call_a", "read", {}, "tools")
    assert call.problem is not None
    assert "arguments" in call.problem
    assert (second.text, provider.refused) == ("Sorry", [])
    assert ("INVALID_JSON" in str(provider.bodies[1])) == (wire == "anthropic")


@pytest.mark.parametrize(
    ("wire", "stop"),
    [("anthropic", "max_tokens"), ("openai_chat", "length"), ("openai_responses", "max_output_tokens")],
)
@pytest.mark.parametrize("text", ["", '{"path": "a'])
def test_the_call_that_an_answer_was_cut_in_is_a_problem_and_those_before_it_are_not(
    wire: str, stop: str, text: str
) -> None:
    said = Say(calls=(Call("now", "", "call_a"), Call("read", text, "call_b")), stop=stop)
    with FakeProvider(said) as provider:
        answer = ask(make(wire, provider), HELLO, [READ])
    whole, cut = answer.tool_calls
    assert (whole, answer.stop) == (ToolCall("call_a", "now", {}), "length")
    assert (cut.id, cut.arguments, cut.problem is None) == ("call_b", {}, False)


def test_anthropic_counts_cached_and_newly_cached_tokens_as_input() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300}
    answer = gathered(
        Blocks("anthropic"),
        {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )
    assert answer == Answer(usage=Usage(321, 9, 20))


def test_anthropic_blocks_of_server_tools_and_citations_are_kept_as_they_came() -> None:
    use = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]}
    cited = {"type": "web_search_result_location", "url": "u"}
    answer = gathered(
        Blocks("anthropic"),
        {"type": "content_block_start", "index": 0, "content_block": use},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query":"x"}'},
        },
        {"type": "content_block_start", "index": 1, "content_block": found},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "citations_delta", "citation": cited},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Yes"}},
        {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}},
        {"type": "message_stop"},
    )
    said = {"type": "text", "text": "Yes", "citations": [cited]}
    content = [{**use, "input": {"query": "x"}}, found, said]
    assert answer == Answer(text="Yes", native=({"role": "assistant", "content": content},), stop="paused")


def test_anthropic_redacted_thinking_is_kept_as_it_came() -> None:
    hidden = {"type": "redacted_thinking", "data": "abc+/="}
    answer = gathered(
        Blocks("anthropic"),
        {"type": "content_block_start", "index": 0, "content_block": hidden},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "message_stop"},
    )
    assert answer.native == ({"role": "assistant", "content": [hidden, {"type": "text", "text": "Hi"}]},)


def test_anthropic_deltas_that_nobody_knows_are_not_lost_silently() -> None:
    blocks = Blocks("anthropic")
    blocks.add({"type": "content_block_start", "index": 0, "content_block": {"type": "odd"}})
    with pytest.raises(ValueError, match="'odd_delta'"):
        blocks.add({"type": "content_block_delta", "index": 0, "delta": {"type": "odd_delta"}})


def test_anthropic_says_by_the_type_what_an_error_in_the_stream_is() -> None:
    overloaded = Refuse(kind="overloaded_error", message="busy", in_stream=True)
    with FakeProvider(overloaded, Say(text="Hi")) as provider:
        assert ask(make("anthropic", provider), HELLO).text == "Hi"
        provider.add(Refuse(kind="invalid_request_error", message="no", in_stream=True))
        error = error_of(make("anthropic", provider), HELLO)
    assert (error.status, error.retryable) == (400, False)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def test_chat_servers_may_send_whole_calls_without_index_or_id() -> None:
    whole = [{"function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    answer = gathered(Deltas("x"), chunk({"tool_calls": whole}, "stop"))
    first, second = (call.id for call in answer.tool_calls)
    assert first.startswith("call_")
    assert first != second
    assert answer.tool_calls == (ToolCall(first, "a", {}), ToolCall(second, "b", {}))
    assert answer.stop == "tools"


def test_chat_keeps_what_servers_add_to_a_call() -> None:
    signed = {"google": {"thought_signature": "abc"}}
    call = {"index": 0, "id": "c", "function": {"name": "a", "arguments": ""}, "extra_content": signed}
    answer = gathered(Deltas("x"), chunk({"tool_calls": [call]}), chunk({}, "tool_calls"))
    (message,) = answer.native
    assert message["tool_calls"] == [
        {
            "id": "c",
            "type": "function",
            "function": {"name": "a", "arguments": ""},
            "extra_content": signed,
        }
    ]


def test_chat_joins_reasoning_details() -> None:
    answer = gathered(
        Deltas("x"),
        chunk({"reasoning_details": [{"n": 1}]}),
        chunk({"reasoning_details": [{"n": 2}], "content": "Hi"}, "stop"),
    )
    details = [{"n": 1}, {"n": 2}]
    assert answer.native == ({"role": "assistant", "content": "Hi", "reasoning_details": details},)


def test_chat_refusals_are_refusals() -> None:
    answer = gathered(Deltas("x"), chunk({"refusal": "I will "}), chunk({"refusal": "not"}, "stop"))
    refusal = {"role": "assistant", "content": None, "refusal": "I will not"}
    assert answer == Answer(native=(refusal,), stop="refused")


def test_responses_refusals_are_refusals() -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]}
    answer = gathered(
        Items("x"),
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": {"status": "completed"}},
    )
    assert answer == Answer(native=(message,), stop="refused")


@pytest.mark.parametrize(("code", "retryable"), [("server_error", True), ("invalid_prompt", False)])
def test_responses_that_failed_say_whether_to_ask_again(code: str, retryable: bool) -> None:
    failed = {"type": "response.failed", "response": {"error": {"code": code, "message": "no"}}}
    with pytest.raises(ModelError, match="no") as caught:
        Items("x").add(failed)
    assert caught.value.retryable is retryable
    with pytest.raises(ModelError, match="no"):
        Items("x").add({"type": "error", "code": code, "message": "no"})


def test_gemini_calls_without_an_id_get_one_and_are_answered_without() -> None:
    calls = (Call("read", {"path": "a"}), Call("read", {"path": "b"}))
    with FakeProvider(Say(calls=calls, thinking="Hm."), Say(text="Done")) as provider:
        model = make("gemini", provider)
        answer = ask(model, HELLO, [READ])
        results = [talk.tool_result(call, Outcome(text="ok")) for call in answer.tool_calls]
        ask(model, [*HELLO, talk.assistant(answer, "gemini"), *results], [READ])
    assert len({call.id for call in answer.tool_calls}) == 2
    assert all(call.id for call in answer.tool_calls)
    response = {"functionResponse": {"name": "read", "response": {"output": "ok"}}}
    assert provider.refused == []
    sent: Any = provider.bodies[1]["contents"]
    assert sent[-1] == {"role": "user", "parts": [response, response]}


def test_gemini_signed_text_keeps_its_own_part() -> None:
    with FakeProvider(Say(text="One two three", thinking="Hm."), Say(text="Done")) as provider:
        model = make("gemini", provider)
        answer = ask(model, HELLO)
        ask(model, [*HELLO, talk.assistant(answer, "gemini"), talk.user("And?")])
    assert answer.text == "One two three"
    assert provider.refused == []
    (content,) = answer.native
    assert content["parts"] == [
        {"text": "Hm.", "thought": True},
        {"text": "One two "},
        {"text": "three", "thoughtSignature": "-_8gc2lnbmVkIDE="},
    ]


def test_gemini_answers_that_it_could_not_finish_are_asked_again() -> None:
    with FakeProvider(Say(stop="MALFORMED_FUNCTION_CALL"), Say(text="Here")) as provider:
        assert ask(make("gemini", provider), HELLO).text == "Here"
    assert len(provider.requests) == 2


def test_gemini_prompts_that_are_blocked_are_refused() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    assert gathered(Parts("x"), blocked) == Answer(usage=Usage(3), stop="refused")


def test_gemini_thoughts_are_output() -> None:
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 30}
    candidate = {"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}
    answer = gathered(Parts("x"), {"candidates": [candidate], "usageMetadata": counts})
    assert answer.usage == Usage(10, 32)


def test_other_servers_are_not_given_the_openai_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-openai")
    with FakeProvider(Say(text="Hi")) as provider:
        model = OpenAIChatModel("qwen", base_url=provider.openai_url, max_tokens=9)
        answer = ask(model, HELLO)
    assert answer.text == "Hi"
    assert (model.route.name, provider.bodies[0]["max_tokens"]) == ("openai-compatible/qwen", 9)
    assert model._connection["api_key"] == "none"


def test_a_given_client_is_used_and_left_open() -> None:
    from anthropic import AsyncAnthropic

    async def work() -> bool:
        async with AsyncAnthropic(api_key="k", base_url=provider.url) as client:
            model = AnthropicModel("claude-opus-5", client=client)
            await model.answer(body(model, HELLO))
            await model.close()
            return client.is_closed()

    with FakeProvider(Say(text="Hi")) as provider:
        assert run(work) is False


def test_a_route_of_another_wire_is_refused() -> None:
    with pytest.raises(RouteError, match="speaks anthropic"):
        AnthropicModel("x", route="openai/gpt-5")


def test_errors_are_one_short_line_without_secrets() -> None:
    said = clean("a\n  key: my-own-token " + "x" * 900, ["my-own-token", None])
    assert said.startswith("a key: [secret] xxx")
    assert (len(said), said[-1]) == (500, "…")
    assert (
        clean("https://g/v1?key=abc123&alt=sse AIzaSyA1234567890")
        == "https://g/v1?key=[secret]&alt=sse [secret]"
    )


def test_a_client_belongs_to_its_event_loop() -> None:

    async def clients() -> tuple[Any, Any]:
        return model.client(), model.client()

    with FakeProvider() as provider:
        model = make("openai_chat", provider)
        first, again = run(clients)
        other, _ = run(clients)
    assert first is again
    assert first is not other


def test_thinking_that_got_lost_on_the_way_is_refused() -> None:
    with FakeProvider(Say(thinking="Hm.", calls=(Call("read", {}, "call_a"),))) as provider:
        model = make("anthropic", provider)
        answer = ask(model, HELLO, [READ])
        forgotten = talk.assistant(Answer(tool_calls=answer.tool_calls), "anthropic")
        result = talk.tool_result(answer.tool_calls[0], Outcome(text="ok"))
        error = error_of(model, [*HELLO, forgotten, result])
    assert error.status == 400
    assert provider.refused == ["messages.1: the thinking block before call_a is missing"]
