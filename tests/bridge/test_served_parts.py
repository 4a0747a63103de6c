"""The parts of a served connection, one by one: words, permissions, turns, pipes, settings, overhearing."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

import tidings as td
from tests.bridge.served import DEADLINE, settings
from tidings.agent.models.scripted import ScriptedModel
from tidings.agent.port import ToolCall
from tidings.agent.run import CONTINUE
from tidings.agent.tools.approval import Request
from tidings.agent.tools.folder import Folder
from tidings.bridge.rpc import RpcError
from tidings.bridge.served import settings as served_settings
from tidings.bridge.served.gate import ServedGate
from tidings.bridge.served.observer import Observer
from tidings.bridge.served.peer import Lines
from tidings.bridge.served.prompt import headline, neutral
from tidings.bridge.served.run import Asked, run_prompt
from tidings.bridge.served.settings import data_folder, ready_model
from tidings.bridge.served.stdio import Stdio
from tidings.bridge.served.tools import LARGEST_OLD, changes
from tidings.bridge.served.turns import Turns
from tidings.bridge.served.updates import call_shown, history
from tidings.core.reminder import Payload


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await scene()

    asyncio.run(bounded())


TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "media_type": "image/png", "data": "AAAA"}
LINK = {"type": "resource_link", "uri": "file:///x", "name": "x"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a", "a"),
        ([TEXT], "a"),
        ([TEXT, {"type": "text", "text": "b"}], "a\n\nb"),
        ([TEXT, LINK, TEXT], "a[x](file:///x)a"),
        ([{"type": "resource_link", "uri": "file:///x"}], "file:///x"),
        ([{"type": "resource", "resource": {"uri": "u", "text": "t"}}], "Attached u:\n\nt"),
        (
            [{"type": "resource", "resource": {"uri": "u", "blob": "AA"}}],
            "Attached u: a binary file that is not shown here.",
        ),
        ([{"type": "text", "text": " "}, IMAGE], [IMAGE]),
        ([TEXT, {"type": "image", "mimeType": "image/png", "data": "AAAA"}], [TEXT, IMAGE]),
    ],
)
def test_what_a_user_sends_becomes_a_neutral_message(content: object, expected: object) -> None:
    assert neutral(content) == expected


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (None, "prompt"),
        ([], "prompt"),
        (" ", "prompt"),
        ([{"type": "text", "text": ""}], "prompt"),
        ([TEXT, 4], "prompt[1]"),
        ([{"type": "audio"}], "prompt[0]"),
        ([{"type": "text"}], "prompt[0]"),
        ([{"type": "image", "data": "AAAA"}], "prompt[0]"),
        ([{"type": "resource"}], "prompt[0]"),
        ([{"type": "resource", "resource": {}}], "prompt[0].resource"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_place(content: object, field: str) -> None:
    with pytest.raises(RpcError) as refused:
        neutral(content)
    assert (refused.value.code, refused.value.data) == (-32602, {"field": field})


def test_a_headline_is_one_short_line() -> None:
    assert headline("Fix\n the  tests") == "Fix the tests"
    assert len(headline([{"type": "text", "text": "x" * 500}, IMAGE])) == 80


def test_history_leaves_out_what_the_loop_said_in_the_users_place() -> None:
    messages: list[Payload] = [
        {"role": "user", "content": [TEXT, IMAGE]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": CONTINUE},
        {"role": "assistant", "content": ""},
    ]
    told = [(u["sessionUpdate"], u["content"]["text"]) for u in history(messages, "/w")]  # type: ignore[index]
    assert told == [
        ("user_message_chunk", "a"),
        ("user_message_chunk", "[image]"),
        ("agent_message_chunk", "Done."),
    ]


def test_a_call_that_was_cut_off_is_told_as_failed_unless_it_still_runs() -> None:
    calls = [{"id": name, "name": "search", "arguments": {"pattern": "x"}} for name in ("a", "b")]
    messages = [
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "found"},
    ]
    told = [(u["sessionUpdate"], u["toolCallId"], u["status"]) for u in history(messages, "/w")]
    assert told == [
        ("tool_call", "a", "pending"),
        ("tool_call", "b", "pending"),
        ("tool_call_update", "a", "completed"),
        ("tool_call_update", "b", "failed"),
    ]
    assert [u["toolCallId"] for u in history(messages, "/w", running=True)] == ["a", "b", "a"]


def test_a_long_title_is_cut_and_braces_in_it_are_left_alone() -> None:
    assert call_shown("c", "run_command", {"command": "echo {path}"}, "/w")["title"] == "Run echo {path}"
    assert len(str(call_shown("c", "run_command", {"command": "x" * 500}, "/w")["title"])) == 120


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"path": "../outside", "content": "x"}),
        ("write_file", {"path": "big.txt", "content": "x"}),
        ("write_file", {"path": "binary", "content": "x"}),
        ("write_file", {"path": 4, "content": "x"}),
        ("edit_file", {"path": "a", "old": 1, "new": "x"}),
        ("read_file", {"path": "a"}),
    ],
)
def test_a_change_that_cannot_be_shown_is_not(name: str, arguments: Payload, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("x" * (LARGEST_OLD + 1))
    (tmp_path / "binary").write_bytes(b"\0")
    assert changes(name, arguments, Folder(tmp_path)) == []


def gate_answering(*options: str) -> tuple[ServedGate, list[str]]:
    asked: list[str] = []
    answers = iter(options)

    async def ask(call: ToolCall, offered: list[Payload]) -> object:
        asked.append(call.name)
        return {"outcome": {"outcome": "selected", "optionId": next(answers)}}

    return ServedGate(ask), asked


def test_always_means_this_very_command_and_any_use_of_another_tool() -> None:
    async def scene() -> None:
        gate, asked = gate_answering("allow_always", "reject_once", "allow_always")

        async def decide(name: str, **arguments: object) -> bool:
            call = ToolCall("c", name, dict(arguments))
            return (await gate.decide(Request(call=call))).allowed

        assert await decide("run_command", command="ls *.py")
        assert await decide("run_command", command="ls *.py")
        assert not await decide("run_command", command="ls a.py")
        assert await decide("write_file", path="a")
        assert await decide("write_file", path="b")
        assert asked == ["run_command", "run_command", "write_file"]

    play(scene)


def test_a_command_with_control_characters_is_never_allowed_by_a_pattern() -> None:
    async def scene() -> None:
        gate, asked = gate_answering("allow_always", "reject_once")
        first = ToolCall("c", "run_command", {"command": "ls *"})
        second = ToolCall("c", "run_command", {"command": "ls x; rm -rf ."})
        assert (await gate.decide(Request(call=first))).allowed
        assert not (await gate.decide(Request(call=second))).allowed
        assert asked == ["run_command", "run_command"]

    play(scene)


def test_a_turn_that_does_not_stop_is_cut_off_and_everybody_is_answered() -> None:
    async def scene() -> None:
        began = asyncio.Event()

        async def stubborn(_: str) -> str:
            began.set()
            await asyncio.Event().wait()
            return "never"

        turns: Turns[str, str] = Turns(stubborn, lambda: None, "skipped")
        waiting = [turns.submit("a"), turns.submit("b")]
        await began.wait()
        assert await turns.end(0.01) is False
        assert [await future for future in waiting] == ["skipped", "skipped"]
        assert not turns.busy

    play(scene)


def test_a_turn_that_raises_tells_its_submitter_and_the_next_one_runs() -> None:
    async def scene() -> None:
        async def run(asked: str) -> str:
            if asked == "bad":
                raise RpcError(1, "bad")
            return asked

        turns: Turns[str, str] = Turns(run, lambda: None, "skipped")
        bad, good = turns.submit("bad"), turns.submit("good")
        with pytest.raises(RpcError):
            await bad
        assert await good == "good"

    play(scene)


def test_lines_are_put_together_from_any_pieces_and_a_long_one_is_cut() -> None:
    async def scene() -> None:
        pieces = iter([b"on", b"e\n\n  \ntw", b"o\n", b"x" * 30, b"x\nlast", b""])

        async def read() -> bytes:
            return next(pieces)

        lines = Lines(read, longest=10)
        found = [await lines.next() for _ in range(5)]
        assert found == [b"one", b"two", b"x" * 11, b"last", None]

    play(scene)


def test_pipes_carry_bytes_both_ways_and_say_when_they_end() -> None:
    async def scene() -> None:
        there, out = os.pipe()
        source, here = os.pipe()
        pipes = Stdio(source, out)
        os.write(here, b"hello")
        assert await pipes.read() == b"hello"
        await pipes.write(b"answer")
        assert os.read(there, 100) == b"answer"
        os.close(here)
        assert await pipes.read() == b""
        os.close(there)
        with pytest.raises(BrokenPipeError):
            await pipes.write(b"nobody")
        os.close(source)
        os.close(out)

    play(scene)


class Watching:
    """Keeps what an observer tells, and in which thread."""

    def __init__(self) -> None:
        self.told: list[tuple[object, object]] = []
        self.threads: set[int] = set()
        self.news = asyncio.Event()

    def reminder(self, update: Payload) -> None:
        self.told.append((update["sessionUpdate"], update["reminderId"]))
        self.threads.add(threading.get_ident())
        self.news.set()

    def message(self, message: Mapping[str, object]) -> None:
        self.told.append(("message", message["role"]))


def test_what_another_thread_writes_is_told_in_the_event_loop() -> None:
    async def scene() -> None:
        log, watching = td.open_log("memory:"), Watching()
        session = td.Session("s", log=log)
        Observer(watching).attach(session, log)
        with session.step():
            session.keep(td.inject_reminder(session.transcript, body="b").transcript)
        (pending,) = session.transcript.pending
        worker = threading.Thread(target=session.clear, args=({"id": pending.id},))
        worker.start()
        await watching.news.wait()
        worker.join(DEADLINE)
        assert watching.told == [("reminder_expired", pending.id)]
        assert watching.threads == {threading.get_ident()}

    play(scene)


def test_an_observer_that_fails_does_not_stop_the_session(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        class Broken(Watching):
            def message(self, message: Mapping[str, object]) -> None:
                raise KeyError("broken")

        log = td.open_log("memory:")
        session = td.Session("s", log=log)
        Observer(Broken()).attach(session, log)
        model = ScriptedModel(["Done."])
        done = await td.agent_loop(
            "go", model=model, session=session, registry=td.Registry(), reminders=False
        )
        assert done.status == "done"
        assert "an observer failed on transcript.message" in caplog.text

    play(scene)


def test_what_could_share_a_later_commit_is_told_at_once() -> None:
    async def scene() -> None:
        log, watching = td.open_log("memory:"), Watching()
        session = td.Session("s", log=log)
        Observer(watching).attach(session, log)
        with session.step(soon=True):
            result = {"role": "tool", "tool_call_id": "c", "name": "look", "content": "nothing new"}
            session.keep(td.append_message(session.transcript, result))
        assert watching.told == [("message", "tool")]

    play(scene)


def test_a_reminder_from_before_is_known_by_its_body() -> None:
    async def scene() -> None:
        log, bodies = td.open_log("memory:"), list[object]()
        td.Session("s", log=log).remind(body="from before", id="r1")

        class Bodies(Watching):
            def reminder(self, update: Payload) -> None:
                bodies.append(update.get("body"))

        session = td.Session("s", log=log)
        Observer(Bodies()).attach(session, log)
        model = ScriptedModel(["Done."])
        await td.agent_loop("go", model=model, session=session, registry=td.Registry(), reminders=False)
        assert bodies == ["from before"]

    play(scene)


def test_words_that_come_while_the_loop_is_ending_belong_to_the_prompt(tmp_path: Path) -> None:
    async def scene() -> None:
        log, registry, said = td.open_log("memory:"), td.Registry(), ["One more thing."]
        session = td.Session("s", log=log, anchor=str(tmp_path))

        @registry.register_session_hook("session_end")
        def late(ctx: object) -> None:
            if said:
                session.inject(said.pop())

        model = ScriptedModel(["First.", "Second."])
        given = settings(model, log, registry=registry)
        ended = await run_prompt(Asked("Go."), session, given, (), td.Gate(), lambda text: None)
        assert (ended.stop_reason, ended.text) == ("end_turn", "Second.")
        assert model.requests[1]["messages"][-1]["content"] == "One more thing."  # type: ignore[index]

    play(scene)


@pytest.mark.parametrize(
    ("name", "environment", "told"),
    [
        (None, {}, "no model: give --model"),
        (None, {"TIDINGS_MODEL": "openai/gpt-5"}, "openai/gpt-5 needs a key: set OPENAI_API_KEY"),
        ("gemini/gemini-2.5-pro", {}, "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openai-compatible/mine", {}, "openai-compatible/mine needs --base-url, the server's address"),
    ],
)
def test_a_model_that_cannot_be_asked_is_said_at_once(
    name: str | None, environment: dict[str, str], told: str
) -> None:
    with pytest.raises(td.CallerError, match=r"need|no model") as refused:
        ready_model(name, None, environment)
    assert told in str(refused.value)


def test_a_missing_sdk_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"anthropic": ("no_such_module.sdk", "anthropic", ())}
    monkeypatch.setattr(served_settings, "NEEDS", needs)
    with pytest.raises(td.CallerError, match=r"pip install 'tidings\[anthropic\]'"):
        ready_model("anthropic/claude-opus-5", None, {})


def test_the_data_folder_follows_the_users_setting() -> None:
    assert data_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/tidings")
    for unusable in ({}, {"XDG_DATA_HOME": "relative"}):
        assert data_folder(unusable) == Path.home() / ".local" / "share" / "tidings"
