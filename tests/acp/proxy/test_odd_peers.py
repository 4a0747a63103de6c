"""Peers that are careless or in trouble: half characters, an id used twice, an end within a line."""

from __future__ import annotations

import json

from tests.acp.proxy.script import TAKES, Script, from_editor, line, messages, wrapped

HALF = (
    rb'{"id":9,"method":"session/prompt","params":{"sessionId":"s1",'
    rb'"prompt":[{"type":"text","text":"a \ud83d"}]}}'
)


def collected(script: Script) -> bytearray:
    """What reaches the editor from now on, as bytes."""
    out = bytearray()
    script.relay.from_agent._sink = out.extend
    return out


def test_a_prompt_with_half_a_character_takes_its_reminders_along() -> None:
    script = Script().open("s1")
    script.remind("red")
    script.relay.from_editor.feed(HALF + b"\n")
    (sent,) = script.to_agent()
    assert [block["text"] for block in sent["params"]["prompt"]] == [
        "a \ufffd",
        wrapped(from_editor("red")),
    ]


def test_a_line_with_half_a_character_that_is_not_changed_passes_byte_for_byte() -> None:
    script = Script().open("s1")
    out = bytearray()
    script.relay.from_editor._sink = out.extend
    script.relay.from_editor.feed(HALF + b"\n")
    assert bytes(out) == HALF + b"\n"


def test_an_answer_with_half_a_character_ends_its_prompt() -> None:
    script = Script().open("s1", client=TAKES)
    script.remind("red")
    asked, _ = script.prompt()
    script.relay.from_agent.feed(
        b'{"id":%d,"result":{"stopReason":"end_turn","note":"\\ud83d"}}\n' % int(str(asked))
    )
    kinds = [m["params"]["update"]["sessionUpdate"] for m in script.to_editor() if "params" in m]
    assert kinds == ["reminder_emitted"]


def test_a_prompt_whose_id_is_in_use_is_passed_on_and_takes_nothing_along() -> None:
    script = Script().open("s1", client=TAKES)
    script.remind("red")
    asked, _ = script.prompt()
    script.remind("green")
    second = {"sessionId": "s1", "prompt": [{"type": "text", "text": "again"}]}
    script.editor("session/prompt", second, id=asked)
    assert [message["params"] for message in script.to_agent()] == [second]
    told = [m["params"]["update"]["body"] for m in script.answer(asked) if "params" in m]
    assert told == ["red"]
    assert script.turn() == [wrapped(from_editor("green"))]


def test_an_agent_that_dies_in_the_middle_of_a_line_leaves_an_error_on_a_line_of_its_own() -> None:
    script = Script().open("s1")
    asked, _ = script.prompt()
    out = collected(script)
    script.relay.from_agent.feed(b'{"jsonrpc":"2.0","method":"session/upd')
    script.relay.agent_gone("it died")
    half, error = bytes(out).splitlines()
    assert half == b'{"jsonrpc":"2.0","method":"session/upd'
    assert json.loads(error)["id"] == asked


def test_an_answer_without_a_newline_is_an_answer() -> None:
    script = Script().open("s1", client=TAKES)
    script.remind("red")
    asked, _ = script.prompt()
    out = collected(script)
    script.relay.from_agent.feed(line({"id": asked, "result": {"stopReason": "end_turn"}}).rstrip(b"\n"))
    script.relay.agent_gone("it ended")
    told = messages(bytes(out))
    assert [m.get("id", m.get("method")) for m in told] == ["session/update", asked]
    assert told[1]["result"] == {"stopReason": "end_turn"}
