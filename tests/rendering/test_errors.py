"""What the caller gets wrong is named before a vendor could refuse it."""

from __future__ import annotations

from typing import Any

import pytest

import tidings as td
from tests.core.build import reminder
from tests.rendering import detect
from tidings.core.fire import Unused

HI = [{"role": "user", "content": "hi"}]
MID_SYSTEM = "anthropic/claude-opus-4-8"


def test_seed_placement_is_refused_where_thinking_is_bound_to_the_text_before_it() -> None:
    with pytest.raises(td.PlacementError) as caught:
        td.render("anthropic/claude-fable-5-2", messages=HI, placement="seed")
    assert str(caught.value) == (
        "route anthropic/claude-fable-5-2 binds thinking blocks to the text before them: what is shown "
        'cannot be taken back, so placement "seed" would be refused; leave placement=None'
    )
    assert td.render("anthropic/claude-fable-5-2", messages=HI).placement == "append_only"


def test_issued_entries_are_refused_with_seed_placement_and_choose_append_only_without_one() -> None:
    first = td.render("openai/gpt-5", messages=HI, reminders=[reminder()], placement="append_only")
    with pytest.raises(td.PlacementError, match="belongs to placement"):
        td.render("openai/gpt-5", messages=HI, issued=first.issued, placement="seed")
    assert td.render("openai/gpt-5", messages=HI, issued=first.issued).placement == "append_only"


@pytest.mark.parametrize(
    ("at", "place"), [(2, "message"), (1, "part"), (-1, "message"), (-1, "part"), (99, "message")]
)
def test_issued_entries_beyond_the_messages_are_refused(at: int, place: Any) -> None:
    entry = td.Issued(at=at, place=place, content={"role": "user", "content": "x"})
    with pytest.raises(td.PlacementError, match=f"stands at {at}, but there are only 1 messages"):
        td.render("openai/gpt-5", messages=HI, issued=[entry])


def test_a_message_that_is_no_answer_cannot_follow_a_mid_conversation_system_entry() -> None:
    first = td.render(MID_SYSTEM, messages=HI, reminders=[reminder()], placement="append_only")
    with pytest.raises(td.PlacementError, match=r"messages\[1\] follows a mid-conversation system entry"):
        td.render(MID_SYSTEM, messages=HI * 2, issued=first.issued)


def test_a_second_entry_waits_while_a_mid_conversation_system_entry_has_no_answer() -> None:
    first = td.render(MID_SYSTEM, messages=HI, reminders=[reminder()], placement="append_only")
    again = td.render(
        MID_SYSTEM,
        messages=HI,
        reminders=[reminder(), reminder("r2", trust="external")],
        issued=first.issued,
    )
    assert again.body == first.body
    assert (again.deferred, again.dropped, again.fired) == (("r2",), (), ())
    assert again.held == "the last message is a system message: only an answer may follow"


def test_a_system_entry_may_follow_a_turn_that_ends_in_a_server_tool() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    messages = [*HI, {"role": "assistant", "content": [block]}]
    request = td.render(MID_SYSTEM, messages=messages, reminders=[reminder()], placement="append_only")
    text = "<system-reminder>\nbody of r1\n</system-reminder>"
    assert request.body == {"messages": [*messages, {"role": "system", "content": text}]}


@pytest.mark.parametrize("route", [MID_SYSTEM, "anthropic/claude-sonnet-4-5"])
def test_nobody_elses_words_follow_a_turn_that_ends_in_a_server_tool(route: td.Route | str) -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    messages = [*HI, {"role": "assistant", "content": [block]}]
    outsider = reminder("out", trust="external", origin="ci")
    request = td.render(route, messages=messages, reminders=[outsider], placement="append_only")
    assert (request.body, request.deferred, request.fired) == ({"messages": messages}, ("out",), ())
    assert str(request.held).endswith("only a system message may follow")
    after = [*messages, {"role": "assistant", "content": "Found."}, *HI]
    later = td.render(
        route, messages=after, reminders=[outsider], placement="append_only", issued=request.issued
    )
    assert ([shown.reminder_id for shown in later.fired], later.held) == (["out"], None)


def test_a_partly_answered_batch_of_tool_calls_takes_no_reminder() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in "ab"]
    messages = [*HI, {"role": "assistant", "content": None, "tool_calls": calls}]
    messages += [{"role": "tool", "tool_call_id": "a", "content": "1"}]
    request = td.render("openai/gpt-5", messages=messages, reminders=[reminder()], placement="append_only")
    assert request.body == {"messages": messages}
    assert (request.deferred, request.dropped) == (("r1",), ())


def test_any_kind_of_unanswered_responses_call_takes_no_reminder() -> None:
    items = [
        *HI,
        {"type": "apply_patch_call", "call_id": "a"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "1"},
    ]
    request = td.render(
        "openai-responses/gpt-5", messages=items, reminders=[reminder()], placement="append_only"
    )
    assert (request.deferred, request.held) == (("r1",), "a tool call waits for its output")


def test_setting_a_cache_mark_in_a_body_does_not_change_what_was_issued() -> None:
    route = "anthropic/claude-sonnet-4-5"
    first = td.render(route, messages=HI, reminders=[reminder()], placement="append_only")
    body: Any = first.body
    body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    second = td.render(route, messages=HI, issued=first.issued)
    text = "<system-reminder>\nbody of r1\n</system-reminder>"
    assert second.body == {"messages": [*HI, {"role": "user", "content": [{"type": "text", "text": text}]}]}


def test_marks_elsewhere_count_against_the_limit() -> None:
    cached = [reminder("r1", role_hint="ephemeral_cache")]
    marks = [
        str(td.render("anthropic/claude-opus-5", messages=HI, reminders=cached, breakpoints=n).body).count(
            "cache_control"
        )
        for n in (3, 4, 5)
    ]
    assert marks == [1, 0, 0]


def test_the_users_words_keep_their_line_ends() -> None:
    messages = [{"role": "user", "content": "code:\n\n"}]
    request = td.render(
        "openai/gpt-4o", messages=messages, reminders=[reminder(trust="external", body="x")]
    )
    entries: Any = request.body["messages"]
    assert entries[0]["content"].endswith("</system-reminder>\n\ncode:\n\n")


@pytest.mark.parametrize(
    "route", ["anthropic/claude-sonnet-4-5", "openai/gpt-4o", "openai-responses/gpt-4.1"]
)
def test_an_empty_user_message_gets_no_empty_text_beside_the_reminder(route: str) -> None:
    given = [reminder(trust="external", origin="ci", body="x")]
    empty = td.render(route, messages=[{"role": "user", "content": ""}], reminders=given)
    texts = [text for text in detect.strings(empty.body) if not text.startswith("<system-reminder>")]
    assert "" not in texts
    assert not any(text.endswith("\n") for text in detect.strings(empty.body))


def test_plain_text_loses_nothing_of_the_history() -> None:
    messages = [
        {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"data": "AA"}}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": "done"},
    ]
    assert td.render("plain/x", messages=messages).body == {
        "prompt": 'User: hi\n{"inlineData":{"data":"AA"}}\n\n'
        'Function_call: {"call_id":"c1","name":"f","arguments":"{}"}\n\nAssistant: done'
    }


def test_messages_may_be_one_string() -> None:
    assert td.render("plain/x", messages="hi").body == {"prompt": "User: hi"}
    assert td.render("gemini/x", messages="hi").body == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}]
    }
    assert td.render("openai/gpt-5", messages="hi").body == {"messages": HI}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"messages": {"role": "user"}},
            "`messages` must be a list in the form of openai_chat; got {'role'",
        ),
        ({"messages": None}, "`messages` must be a list"),
        ({"messages": ["hi"]}, "`messages[0]` must be an object; got 'hi'"),
        ({"system": 5}, "`system` must be a string or a list; got 5"),
        ({"system": {"text": "x"}}, "`system` must be a string or a list"),
        ({"system_suffix": [1]}, "`system_suffix[0]` must be a string or a block; got 1"),
        ({"system_prompt_parts": [None]}, "`system_prompt_parts[0]` must be a string or a block"),
        ({"reminders": "remember"}, "`reminders` is a list, such as transcript.pending; got 'remember'"),
        ({"reminders": {"id": "r1"}}, "`reminders` is a list, such as transcript.pending"),
        ({"reminders": None}, "`reminders` is a list, such as transcript.pending; got None"),
        ({"placement": "top"}, "`placement` must be seed, append_only or None; got 'top'"),
        ({"issued": [{"at": 0}]}, "`issued` holds what a Request gave as `.issued`; got {'at': 0}"),
    ],
)
def test_a_wrong_argument_is_named_with_its_value(given: dict[str, Any], message: str) -> None:
    with pytest.raises(td.CallerError) as caught:
        td.render("openai/gpt-5", **given)
    assert str(caught.value).startswith(message)


def test_what_is_no_reminder_drops_out_by_name_and_the_rest_is_rendered() -> None:
    good = reminder("r-good").to_dict()
    event = {"id": "event-1", "kind": "system_reminder", "reminder": {"id": "r-bad"}}
    odd = [5, {}, event, reminder("r-blank", body=" "), reminder("r-hint", role_hint="loud")]
    request = td.render("plain/x", reminders=[*odd, good, {"kind": "system_reminder", "reminder": good}])
    names = ("invalid-reminder", "invalid-reminder", "r-bad", "r-blank", "r-hint")
    assert request.dropped == tuple(Unused(name, "invalid") for name in names)
    assert [shown.reminder_id for shown in request.fired] == ["r-good", "r-good"]
