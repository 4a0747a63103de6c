"""The fake refuses what the vendors refuse, and answers in one piece as well as in a stream."""

from __future__ import annotations

import http.client
import json
from socket import socketpair
from typing import Any

import pytest

from tidings.agent.port import Usage
from tidings.testing.fake_openai_responses import FakeOpenAIResponses
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Received, Refuse, Say

PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:generateContent",
}
KEYS = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}


def post(provider: FakeProvider, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(provider.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def send(wire: str, body: dict[str, Any], *steps: Say | Refuse) -> tuple[int, Any]:
    with FakeProvider(*(steps or (Say(text="Hi"),))) as provider:
        settings = {} if wire == "gemini" else {"model": "m", "max_tokens": 9}
        return post(provider, PATHS[wire], {**settings, **body}, {KEYS.get(wire, "authorization"): "k"})


def user(content: Any = "Hello") -> dict[str, Any]:
    return {"role": "user", "content": content}


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": each, "name": "read", "input": {}} for each in ids]
    return {"role": "assistant", "content": blocks}


def results(*ids: str, before: list[Any] | None = None) -> dict[str, Any]:
    found = [{"type": "tool_result", "tool_use_id": each, "content": "x"} for each in ids]
    return user([*(before or []), *found])


TEXT = {"type": "text", "text": "a"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}
SYSTEM = {"role": "system", "content": "s"}
ANSWER = {"role": "assistant", "content": "ok"}

ANTHROPIC: list[tuple[list[Any], str]] = [
    ([], "at least one message"),
    ([{"role": "developer", "content": "x"}], "unknown role"),
    ([SYSTEM, user()], "first message must have the role user"),
    ([ANSWER], "first message must have the role user"),
    ([user("")], "may not be empty"),
    ([user([])], "may not be empty"),
    ([user(" ")], "may not be blank"),
    ([user([{"type": "text", "text": "\n"}])], "may not be blank"),
    ([user([MARKED] * 5)], "at most 4 blocks"),
    ([user(), use("a")], "tool_use a has no tool_result"),
    ([user(), use("a", "b"), results("a")], "tool_use b has no tool_result"),
    ([user(), use("a"), user("so?"), results("a")], "tool_use a has no tool_result"),
    ([user(), use("a"), SYSTEM, results("a")], "tool_use a has no tool_result"),
    ([user(), use("a"), results("a", before=[TEXT])], "tool results come first"),
    ([user(), ANSWER, results("z")], "no tool_use z"),
    ([user(), ANSWER, SYSTEM], "follows a user turn"),
    ([user(), SYSTEM, user()], "only an assistant message may follow"),
    ([user(), {**SYSTEM, "content": [{"type": "image"}]}], "text only"),
    (
        [user(), {"role": "assistant", "content": [{"type": "thinking", "signature": "?"}, TEXT]}],
        "thinking block was changed",
    ),
    ([{"content": "x"}], "wrong shape"),
]


@pytest.mark.parametrize(("messages", "problem"), ANTHROPIC)
def test_anthropic_refuses(messages: list[Any], problem: str) -> None:
    status, body = send("anthropic", {"messages": messages})
    assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
    assert problem in body["error"]["message"]


@pytest.mark.parametrize(
    "messages",
    [
        [user(), SYSTEM],
        [user(), use("a", "b"), results("b", "a"), SYSTEM, ANSWER, user()],
        [user(), use("a"), {**results("a"), "content": [*results("a")["content"], TEXT]}],
        [user([MARKED] * 4), user("again")],
        [user(), ANSWER],
    ],
)
def test_anthropic_takes(messages: list[Any]) -> None:
    status, body = send("anthropic", {"messages": messages})
    assert (status, body["content"]) == (200, [{"type": "text", "text": "Hi"}])


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "function": {"name": "read", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


CHAT: list[tuple[list[Any], str]] = [
    ([], "at least one message"),
    ([{"role": "model", "content": "x"}], "is none of"),
    ([user(), tool("a")], "no call a waits"),
    ([user(), call("a"), user()], "calls without a tool message: a"),
    ([user(), call("a", "b"), tool("a")], "calls without a tool message: b"),
    ([user(), call("a"), SYSTEM, tool("a")], "calls without a tool message: a"),
    ([user(), {"role": "assistant", "content": None}], "only beside tool calls"),
    (
        [user(), {**call(), "tool_calls": [{"id": "a", "function": {"arguments": {}}}]}, tool("a")],
        "must be a string",
    ),
]


@pytest.mark.parametrize(("messages", "problem"), CHAT)
def test_openai_chat_refuses(messages: list[Any], problem: str) -> None:
    status, body = send("openai_chat", {"messages": messages})
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    assert problem in body["error"]["message"]


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "x"}


FUNCTION = {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"}

RESPONSES: list[tuple[list[Any], str]] = [
    ([], "at least one input item"),
    ([{"role": "tool", "content": "x"}], "is none of"),
    ([{"type": "odd"}], "unknown item type"),
    ([user(""), user()], "may not be empty"),
    ([user(), FUNCTION], "call a has no output"),
    ([user(), output("a")], "no call a before"),
    ([user(), {"type": "reasoning", "id": "rs_9", "summary": []}, ANSWER], "unknown or was changed"),
]


@pytest.mark.parametrize(("items", "problem"), RESPONSES)
def test_openai_responses_refuses(items: list[Any], problem: str) -> None:
    status, body = send("openai_responses", {"input": items})
    assert (status, body["error"]["type"]) == (400, "invalid_request_error")
    assert problem in body["error"]["message"]


def said(*parts: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


CALLED = said({"functionCall": {"id": "a", "name": "read", "args": {}}}, role="model")
RETURNED = {"functionResponse": {"id": "a", "name": "read", "response": {}}}

GEMINI: list[tuple[list[Any], str]] = [
    ([], "contents is not specified"),
    ([said({"text": "x"}, role="system")], "use user or model"),
    ([said()], "parts may not be empty"),
    ([said({"text": "x"}), CALLED], "without a response"),
    ([said({"text": "x"}), CALLED, said({"text": "y"})], "do not match"),
    ([said(RETURNED)], "do not match"),
    ([said({"text": "x"}), CALLED, said(RETURNED, RETURNED)], "do not match"),
    ([{**CALLED, "role": "user"}, said(RETURNED)], "only the model calls"),
]


@pytest.mark.parametrize(("contents", "problem"), GEMINI)
def test_gemini_refuses(contents: list[Any], problem: str) -> None:
    status, body = send("gemini", {"contents": contents})
    assert (status, body["error"]["code"], body["error"]["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert problem in body["error"]["message"]


def test_a_refused_request_uses_up_no_step_and_is_kept() -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        post(provider, PATHS["openai_chat"], {"model": "m", "messages": []}, {"authorization": "k"})
        assert (len(provider.steps), len(provider.refused), len(provider.requests)) == (1, 1, 1)


WHOLE = Say(text="Hi", thinking="Hm.", calls=(Call("read", {"path": "a"}, "c1"),), usage=Usage(9, 3, 2))


def test_every_wire_answers_in_one_piece_too() -> None:
    _, claude = send("anthropic", {"messages": [user()]}, WHOLE)
    assert [block["type"] for block in claude["content"]] == ["thinking", "text", "tool_use"]
    assert (claude["stop_reason"], claude["usage"]["cache_read_input_tokens"]) == ("tool_use", 2)
    _, chat = send("openai_chat", {"messages": [user()]}, WHOLE)
    assert chat["choices"][0]["finish_reason"] == "tool_calls"
    _, response = send("openai_responses", {"input": [user()]}, WHOLE)
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "function_call"]
    _, gemini = send("gemini", {"contents": [said({"text": "x"})]}, WHOLE)
    assert list(gemini["candidates"][0]["content"]["parts"][-1]) == ["functionCall", "thoughtSignature"]


def test_a_call_of_a_tool_with_a_namespace_names_it() -> None:
    calls = (Call("spawn", namespace="agents"), Call("read"))
    _, response = send("openai_responses", {"input": [user()]}, Say(calls=calls))
    assert [item.get("namespace") for item in response["output"]] == ["agents", None]


def test_a_freeform_call_carries_its_text_as_it_is_and_needs_a_result() -> None:
    call = Call("apply_patch", "*** Begin Patch", freeform=True)
    _, response = send("openai_responses", {"input": [user()]}, Say(calls=(call,)))
    made = {"type": "custom_tool_call", "id": "ctc_1_0", "call_id": "call_1_0", "name": "apply_patch"}
    [item] = response["output"]
    assert item == {**made, "input": "*** Begin Patch", "status": "completed"}
    status, told = send("openai_responses", {"input": [user(), item]})
    assert (status, told["error"]["message"]) == (400, "input[1]: the call call_1_0 has no output")
    result = {"type": "custom_tool_call_output", "call_id": "call_1_0", "output": "Done."}
    assert send("openai_responses", {"input": [user(), item, result]})[0] == 200


def test_a_freeform_call_streams_its_text() -> None:
    call = Call("apply_patch", "*** Begin Patch", freeform=True)
    frames = FakeOpenAIResponses().frames(Say(calls=(call,)), {"model": "m"}, 1)
    events = [json.loads(frame.data.split(b"data: ")[1]) for frame in frames]
    assert [(each["type"], each.get("delta") or each.get("input")) for each in events[1:-1]] == [
        ("response.output_item.added", None),
        ("response.custom_tool_call_input.delta", "*** Begin Patch"),
        ("response.custom_tool_call_input.done", "*** Begin Patch"),
        ("response.output_item.done", None),
    ]


@pytest.mark.parametrize("wire", PATHS)
def test_a_request_without_a_key_is_refused(wire: str) -> None:
    with FakeProvider(Say(text="Hi")) as provider:
        status, _ = post(provider, PATHS[wire], {}, {})
    assert (status, len(provider.steps)) == (401, 1)


def test_nothing_else_is_served() -> None:
    with FakeProvider() as provider:
        status, _ = post(provider, "/v1/embeddings", {}, {})
    assert (status, provider.requests) == (404, [])


def test_a_script_that_is_over_is_an_error_of_the_request() -> None:
    with FakeProvider() as provider:
        body = {"model": "m", "messages": [user()]}
        status, answer = post(provider, PATHS["openai_chat"], body, {"authorization": "k"})
    assert (status, answer["error"]["message"]) == (400, "the script has no step left")


def test_what_breaks_inside_the_fake_is_raised_when_it_is_left() -> None:
    odd: Any = Say(text="Hi", usage=None)  # type: ignore[arg-type]
    body = {"model": "m", "messages": [user()]}
    hung_up = pytest.raises((http.client.HTTPException, ConnectionError))
    with pytest.raises(AttributeError), FakeProvider(odd) as provider, hung_up:
        post(provider, PATHS["openai_chat"], body, {"authorization": "k"})


def test_what_is_asked_beside_the_work_is_answered_outside_the_script_and_kept_apart() -> None:
    def title(request: Received) -> Say | None:
        return None if request.body.get("tools") else Say(text="A title")

    key = {"authorization": "k"}
    beside = {"model": "m", "messages": [user(), ANSWER]}
    work = {"model": "m", "messages": [user()], "tools": [{"type": "function"}]}
    with FakeProvider(Say(text="An answer"), aside=title) as provider:
        answers = [post(provider, PATHS["openai_chat"], body, key)[1] for body in (beside, work)]
    assert [each["choices"][0]["message"]["content"] for each in answers] == ["A title", "An answer"]
    assert [each["id"] for each in answers] == ["chatcmpl-1", "chatcmpl-2"]
    assert ([each.body for each in provider.asides], provider.bodies) == ([beside], [work])


def test_a_gate_gives_up_after_its_own_deadline() -> None:
    ours, theirs = socketpair()
    with ours, theirs, pytest.raises(TimeoutError, match=r"within 0\.05 s"):
        Gate(0.05).hold(ours)
