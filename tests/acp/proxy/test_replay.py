"""History that agents send back, cleaned of what we added."""

from __future__ import annotations

import json

import pytest

from tests.acp.proxy.script import Message, Script, from_editor, wrapped

OURS = wrapped(from_editor("The build is red."))


def shown(script: Script) -> list[Message]:
    return [told["params"]["update"] for told in script.to_editor()]


@pytest.mark.parametrize(
    "extra", [{}, {"annotations": {"audience": ["assistant"]}}, {"_meta": {"harn": {"reminderIds": ["r"]}}}]
)
def test_a_chunk_that_is_ours_alone_is_dropped(extra: Message) -> None:
    script = Script().open("s1")
    content = {"type": "text", "text": OURS, **extra}
    script.update("s1", sessionUpdate="user_message_chunk", content=content)
    assert script.to_editor() == []


@pytest.mark.parametrize("around", ["Fix it.\n\n{}", "Fix it.{}", "Fix it.\n{}\n\n"])
def test_our_part_of_a_larger_text_is_cut_out(around: str) -> None:
    script = Script().open("s1")
    script.chunk(around.format(OURS), kind="user_message_chunk")
    (update,) = shown(script)
    assert update["content"]["text"].strip() == "Fix it."


def test_several_wrappers_in_one_text_are_all_cut_out() -> None:
    script = Script().open("s1")
    script.chunk(f"one{OURS} two\n{OURS}", kind="user_message_chunk")
    assert [update["content"]["text"] for update in shown(script)] == ["one two"]


def test_a_whole_replayed_message_keeps_its_other_blocks() -> None:
    script = Script().open("s1")
    mine = {"type": "text", "text": "Fix it."}
    content = [mine, {"type": "text", "text": OURS}, {"type": "image", "data": "AA=="}]
    script.update("s1", sessionUpdate="user_message", messageId="m", content=content)
    (update,) = shown(script)
    assert update["content"] == [mine, {"type": "image", "data": "AA=="}]


def test_brackets_that_an_encoder_escaped_are_read() -> None:
    script = Script().open("s1")
    text = json.dumps(OURS).replace("<", "\\u003c").replace(">", "\\u003e")
    content = f'{{"type":"text","text":{text}}}'
    update = f'{{"sessionUpdate":"user_message_chunk","content":{content}}}'
    params = f'{{"sessionId":"s1","update":{update}}}'
    script.relay.from_agent.feed(f'{{"method":"session/update","params":{params}}}\n'.encode())
    assert script.to_editor() == []


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk", "tool_call_update"])
def test_what_the_agent_says_itself_is_left_alone(kind: str) -> None:
    script = Script().open("s1")
    script.chunk(OURS, kind=kind)
    assert [update["content"]["text"] for update in shown(script)] == [OURS]


def test_titles_are_cleaned() -> None:
    script = Script().open("s1")
    script.update("s1", sessionUpdate="session_info_update", title=f"Fix it. {OURS}"[:90])
    script.update("s1", sessionUpdate="session_info_update", title=OURS)
    asked = script.editor("session/list", {})
    sessions = [{"sessionId": "a", "cwd": "/", "title": f"Fix\n{OURS}"}, {"sessionId": "b", "cwd": "/"}]
    script.agent({"id": asked, "result": {"sessions": sessions, "nextCursor": "n"}})
    first, second, listed = script.to_editor()
    assert first["params"]["update"]["title"] == "Fix it."
    assert second["params"]["update"]["title"] is None
    assert listed["result"] == {
        "sessions": [{"sessionId": "a", "cwd": "/", "title": "Fix"}, {"sessionId": "b", "cwd": "/"}],
        "nextCursor": "n",
    }
