"""The scripted model, scripts by name and by file, and models by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tidings import testing
from tidings.agent import conversation as talk
from tidings.agent.models.anthropic import AnthropicModel
from tidings.agent.models.choose import model
from tidings.agent.models.gemini import GeminiModel
from tidings.agent.models.openai_chat import OpenAIChatModel
from tidings.agent.models.openai_responses import OpenAIResponsesModel
from tidings.agent.models.scripted import ScriptedModel, Step, call
from tidings.agent.port import Answer, Model, ModelError, ToolCall, ToolSpec, Usage
from tidings.errors import CallerError, RouteError

BODY = {"messages": [{"role": "user", "content": "Hello"}]}


def ask(model: Model, body: Any = BODY, heard: list[str] | None = None) -> Answer:
    async def work() -> Answer:
        async with asyncio.timeout(10):
            return await model.answer(body, on_text=None if heard is None else heard.append)

    return asyncio.run(work())


def test_each_request_takes_the_next_step() -> None:
    scripted = ScriptedModel(
        [call("read", path="a"), [call("x"), call("y")], Answer(text="Hm", stop="length"), "Done."]
    )
    assert [ask(scripted) for _ in range(3)] == [
        Answer(tool_calls=(ToolCall("call_1_1", "read", {"path": "a"}),), stop="tools"),
        Answer(tool_calls=(ToolCall("call_2_1", "x", {}), ToolCall("call_2_2", "y", {})), stop="tools"),
        Answer(text="Hm", stop="length"),
    ]
    assert (ask(scripted).text, len(scripted.requests)) == ("Done.", 4)


def test_everything_that_a_script_is_made_of_can_be_had_from_the_testing_package() -> None:
    model = testing.ScriptedModel(
        [testing.call("read", path="a"), testing.Answer(usage=testing.Usage(1, 2))]
    )
    answers = [ask(model), ask(model)]
    assert answers[0].tool_calls == (ToolCall("call_1_1", "read", {"path": "a"}),)
    assert answers[1] == Answer(usage=Usage(1, 2))
    assert sorted(testing.__all__) == ["Answer", "ScriptedModel", "Usage", "call"]
    assert testing.ScriptedModel is td.ScriptedModel


def test_a_script_that_is_over_says_so() -> None:
    scripted = ScriptedModel(["Done."])
    ask(scripted)
    with pytest.raises(ModelError, match="1 steps, this is request 2"):
        ask(scripted)


def test_a_repeating_script_says_its_last_step_again() -> None:
    scripted = ScriptedModel(["One", "Two"], repeat=True)
    assert [ask(scripted).text for _ in range(4)] == ["One", "Two", "Two", "Two"]


def test_a_step_may_be_an_error_or_a_function_of_the_body() -> None:
    failure = ModelError("busy", retryable=True, status=529)
    scripted = ScriptedModel([failure, lambda body: f"{len(body['messages'])} message"])  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        ask(scripted)
    assert caught.value is failure
    assert ask(scripted).text == "1 message"


@pytest.mark.parametrize("text", ["One two  three.\n", "", " ", "one"])
def test_text_is_heard_in_pieces_that_make_up_the_whole(text: str) -> None:
    heard: list[str] = []
    answer = ask(ScriptedModel([Answer(text=text)]), heard=heard)
    assert "".join(heard) == answer.text == text
    assert len(heard) == max(1, len(text.split())) * bool(text)


def test_requests_are_kept_as_they_were() -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}]}
    scripted = ScriptedModel(["One"])
    ask(scripted, body)
    body["messages"].clear()
    assert scripted.requests == [BODY]


def test_tools_are_kept_for_each_request() -> None:
    scripted = ScriptedModel(["One"])
    spec = ToolSpec("read", "Read.", {})
    asyncio.run(scripted.answer(BODY, [spec]))
    assert scripted.tools == [(spec,)]


@pytest.mark.parametrize("route", ["anthropic/claude-opus-5", "gemini/gemini-2.5-pro", "plain/x"])
def test_the_route_is_of_choice(route: str) -> None:
    scripted = ScriptedModel(["One"], route=route)
    assert scripted.route == td.route(route)
    wire = scripted.wire_messages([talk.user("Hello")])
    assert wire == talk.to_wire(scripted.route.wire, [talk.user("Hello")])


@pytest.mark.parametrize("steps", ["text", 7, None])
def test_steps_must_be_a_list(steps: Any) -> None:
    with pytest.raises(CallerError, match="`steps` must be a list"):
        ScriptedModel(steps)


@pytest.mark.parametrize("step", [7, (), ["text"]])
def test_a_step_of_another_kind_is_refused(step: Step) -> None:
    with pytest.raises(CallerError, match="a step is text"):
        ask(ScriptedModel([step]))


def test_scripts_have_names() -> None:
    assert [ask(model("scripted:done")).text, ask(model("scripted:echo")).text] == ["Done.", "Hello"]
    with pytest.raises(ModelError, match="always fails"):
        ask(model("scripted:fail"))


@pytest.mark.parametrize("route", ["anthropic/x", "openai/x", "openai-responses/x", "gemini/x", "plain/x"])
def test_echo_repeats_the_last_message_of_every_wire(route: str) -> None:
    echo = model("scripted:echo", route=route)
    messages = echo.wire_messages([talk.user("First"), talk.user("Second")])
    body = td.render(route, messages=messages, system="Be brief.").body
    assert ask(echo, body).text.removeprefix("User: ") == "Second"


def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(
        '{"route": "anthropic/claude-opus-5", "steps": ['
        '{"text": "Let me see.", "tool_calls": [{"name": "read", "arguments": {"path": "a"}}]},'
        '{"error": "busy", "retryable": true, "status": 529}, {"text": "Done."}]}'
    )
    scripted = model(f"scripted:{path}")
    assert scripted.route == td.route("anthropic/claude-opus-5")
    call = ToolCall("call_1_1", "read", {"path": "a"})
    assert ask(scripted) == Answer(text="Let me see.", tool_calls=(call,), stop="tools")
    with pytest.raises(ModelError, match="busy") as caught:
        ask(scripted)
    assert (caught.value.retryable, caught.value.status) == (True, 529)
    assert ask(scripted).text == "Done."


@pytest.mark.parametrize("content", [None, "{", '{"steps": [{"txt": "x"}]}', '{"steps": 7}', "{}"])
def test_a_file_that_is_no_script_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "script.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(RouteError, match=r"script\.json cannot be read"):
        model(f"scripted:{path}")


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("anthropic/claude-opus-5", AnthropicModel, {}),
        ("openai/gpt-5", OpenAIChatModel, {}),
        ("openai-responses/gpt-5", OpenAIResponsesModel, {}),
        ("openai-compatible/qwen/qwen3", OpenAIChatModel, {"base_url": "http://localhost:1/v1"}),
        ("gemini/gemini-2.5-pro", GeminiModel, {}),
    ],
)
def test_a_name_chooses_adapter_and_route(name: str, kind: type, options: dict[str, Any]) -> None:
    chosen = model(name, **options)
    assert isinstance(chosen, kind)
    assert chosen.route == td.route(name)
    assert chosen.name == name.partition("/")[2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("antropic/claude-opus-5", "anthropic/claude-opus-5"),
        ("openai-response/gpt-5", "openai-responses/gpt-5"),
        ("opnai/o9", "openai/"),
        ("anthropic/", "anthropic/"),
        ("zzz", "names look like"),
        ("scripted:nothing", "known are done, echo, fail"),
        (7, "such as 'anthropic/claude-opus-5'"),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(name: Any, hint: str) -> None:
    with pytest.raises(RouteError, match=hint):
        model(name)


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(CallerError, match="base_url"):
        model("openai-compatible/qwen")
    with pytest.raises(CallerError, match="temperature"):
        model("scripted:done", temperature=1)
