"""The conversation that a run keeps in wire form: what grew is what converting all of it gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidings as td
from tidings.agent import conversation as talk
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.port import Answer, Outcome, ToolCall
from tidings.agent.wire_messages import WireMessages
from tidings.core.messages import Message, MessageList
from tidings.errors import CallerError
from tidings.rendering.conversation import Conversation


def turn(number: int) -> list[Message]:
    call = ToolCall(f"call_{number}", "look", {"at": number})
    return [
        talk.assistant(Answer(text=f"I look at {number}.", tool_calls=(call,), stop="tools"), "plain"),
        talk.tool_result(call, Outcome(text=f"{number}: nothing new")),
    ]


def shorter(messages: MessageList) -> MessageList:
    return MessageList.of([talk.user("Summary."), *messages.after(len(messages) // 2)])


def rewritten(messages: MessageList) -> MessageList:
    """As long as before, with the same last message: only the beginning is another."""
    return MessageList.of([talk.user("Another beginning."), *messages.after(1)])


def longer(messages: MessageList) -> MessageList:
    for message in turn(len(messages)):
        messages = messages.append(message)
    return messages


CHANGES = st.lists(st.sampled_from([longer, longer, longer, shorter, rewritten]), max_size=80)


@given(changes=CHANGES)
def test_what_grew_request_by_request_equals_what_is_converted_from_scratch(changes: list) -> None:
    model = ScriptedModel(["done"])
    kept = WireMessages(model)
    messages = MessageList.of([talk.user("Work.")])
    for change in changes:
        messages = change(messages)
        assert list(kept.extended(messages).messages) == model.wire_messages(list(messages))


@pytest.mark.parametrize("wire", ["anthropic", "openai_chat", "openai_responses", "gemini", "plain"])
@pytest.mark.parametrize("hint", ["system", "developer", "user_block"])
def test_a_request_keeps_its_messages_when_the_conversation_grows(wire: str, hint: str) -> None:
    route = td.Route(name="own/x", wire=wire)
    grown = Conversation(route.wire)
    grown.extend(talk.to_wire(route.wire, [talk.user("Work.")]))
    pending = td.inject_reminder(td.Transcript(), body="b", ttl_turns=1, role_hint=hint).transcript.pending
    first = td.render(route, messages=grown, reminders=pending)
    before = repr(first.body)
    grown.extend(talk.to_wire(route.wire, turn(1)))
    second = td.render(route, messages=grown, reminders=pending)
    assert repr(first.body) == before
    assert second.body == td.render(route, messages=list(grown.messages), reminders=pending).body


def test_a_conversation_refuses_what_is_no_message_names_its_place_and_keeps_nothing_of_it() -> None:
    grown = Conversation("openai_chat")
    grown.extend([{"role": "user", "content": "Work."}])
    with pytest.raises(CallerError, match=r"`messages\[2\]` must be an object; got 'two'"):
        grown.extend([{"role": "user", "content": "one"}, "two"])
    with pytest.raises(CallerError, match=r"`messages` must be a list in the form of openai_chat"):
        grown.extend("two")
    assert grown.messages == [{"role": "user", "content": "Work."}]
