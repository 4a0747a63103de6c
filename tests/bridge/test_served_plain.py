"""The plain bridge, line by line: sessions, prompts, permissions, reminders, updates."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.bridge.served import DEADLINE, HeldModel, Host, folder, records, settings
from tidings.agent.models.scripted import call
from tidings.bridge.methods import METHODS
from tidings.bridge.rpc import LONGEST_LINE
from tidings.bridge.served.peer import Peer, PeerGoneError
from tidings.bridge.served.plain import serve


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE * 2):
            await scene()

    asyncio.run(bounded())


def test_a_prompt_streams_its_text_and_answers_how_it_ended(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Host(serve, settings(td.ScriptedModel(["All is well."]))) as host:
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            assert opened == {
                "sessionId": opened["sessionId"],
                "cwd": folder(tmp_path),
                "modeId": "ask",
            }
            ended = await host.ask("session/prompt", sessionId=opened["sessionId"], prompt="How is it?")
            assert (ended["stopReason"], ended["text"], host.text()) == (
                "end_turn",
                "All is well.",
                "All is well.",
            )

    play(scene)


def test_a_tool_call_is_announced_asked_about_started_and_closed_in_that_order(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel([call("write_file", path="a.txt", content="new"), "Written."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/prompt", prompt="Write it.")
            place = str(Path(folder(tmp_path)) / "a.txt")
            diff = {"type": "diff", "path": place, "newText": "new"}
            assert host.updates("tool_call", "tool_call_update") == [
                {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "call_1_1",
                    "title": "Write a.txt",
                    "kind": "edit",
                    "rawInput": {"path": "a.txt", "content": "new"},
                    "locations": [{"path": place}],
                    "status": "pending",
                    "content": [diff],
                },
                {"sessionUpdate": "tool_call_update", "toolCallId": "call_1_1", "status": "in_progress"},
                {"sessionUpdate": "tool_call_update", "toolCallId": "call_1_1", "status": "completed"},
            ]
            (asked,) = [line for line in host.lines if line.get("method") == "session/request_permission"]
            assert asked["params"]["toolCall"]["content"] == [diff]
            assert [o["kind"] for o in asked["params"]["options"]] == [
                "allow_once",
                "allow_always",
                "reject_once",
                "reject_always",
            ]

    play(scene)
    assert (Path(folder(tmp_path)) / "a.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("permit", "reason"),
    [
        ("reject_once", "declined by the user"),
        ("reject_always", "declined by the user"),
        (None, "the question was cancelled"),
        ("no-such-option", "which is no option"),
    ],
)
def test_anything_but_an_allowing_answer_declines(permit: str | None, reason: str, tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel([call("write_file", path="a.txt", content="new"), "Not written."])
        async with Host(serve, settings(model)) as host:
            host.permit = permit
            await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/prompt", prompt="Write it.")
            closed = host.updates("tool_call_update")[-1]
            assert closed["status"] == "failed"
            assert reason in closed["content"][0]["content"]["text"]
            assert not (Path(folder(tmp_path)) / "a.txt").exists()

    play(scene)


@pytest.mark.parametrize(
    ("permit", "asked"), [("allow_always", 1), ("reject_always", 1), ("allow_once", 2)]
)
def test_an_answer_for_good_is_remembered_in_the_session(permit: str, asked: int, tmp_path: Path) -> None:
    async def scene() -> None:
        steps = [call("write_file", path=f"{n}.txt", content="x") for n in range(2)]
        async with Host(serve, settings(td.ScriptedModel([*steps, "Done."]))) as host:
            host.permit = permit
            await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/prompt", prompt="Write them.")
            questions = [line for line in host.lines if line.get("method") == "session/request_permission"]
            assert len(questions) == asked

    play(scene)


@pytest.mark.parametrize(("permit", "written"), [("allow_always", True), ("reject_always", False)])
def test_what_was_decided_for_good_holds_when_the_session_is_served_again(
    permit: str, written: bool, tmp_path: Path
) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        write = [call("write_file", path="a.txt", content="x"), "Done."]
        async with Host(serve, settings(td.ScriptedModel(write), log)) as host:
            host.permit = permit
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/prompt", prompt="Write it.")
            await host.ask("session/set_mode", modeId="auto-edit")
            await host.ask("session/set_mode", modeId="ask")
        (Path(folder(tmp_path)) / "a.txt").unlink(missing_ok=True)
        async with Host(serve, settings(td.ScriptedModel(write), log)) as host:
            host.answers_permissions = False
            assert await host.ask("session/load", sessionId=opened["sessionId"]) == opened
            await host.ask("session/prompt", prompt="Write it again.")
            assert (Path(folder(tmp_path)) / "a.txt").exists() is written
            await host.ask("session/set_mode", modeId="read-only")
        async with Host(serve, settings(td.ScriptedModel([]), log)) as host:
            again = await host.ask("session/load", sessionId=opened["sessionId"])
            assert again["modeId"] == "read-only"

    play(scene)


@pytest.mark.parametrize(
    ("mode", "written", "asked"), [("ask", True, 2), ("auto-edit", True, 1), ("read-only", False, 0)]
)
def test_a_mode_decides_what_is_asked(mode: str, written: bool, asked: int, tmp_path: Path) -> None:
    async def scene() -> None:
        steps = [
            call("write_file", path="a.txt", content="x"),
            call("run_command", command="true"),
            "Done.",
        ]
        async with Host(serve, settings(td.ScriptedModel(steps))) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/set_mode", modeId=mode)
            await host.ask("session/prompt", prompt="Write it, run it.")
            assert (Path(folder(tmp_path)) / "a.txt").exists() is written
            questions = [line for line in host.lines if line.get("method") == "session/request_permission"]
            assert len(questions) == asked
            assert host.updates("current_mode_update") == [
                {"sessionUpdate": "current_mode_update", "currentModeId": mode}
            ]

    play(scene)


def test_a_reminder_sent_while_a_prompt_runs_is_in_the_next_request_and_its_life_is_told(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        model = HeldModel([call("list_files"), "Seen."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            prompt = host.begin("session/prompt", prompt="Look.")
            await model.reached()
            told = await host.ask("session/remind", body="the build broke", ttlTurns=1, tags=["ci"])
            model.release()
            await model.reached()
            model.release()
            await host.reply(prompt)
            assert "the build broke" not in json.dumps(model.requests[0])
            assert "the build broke" in json.dumps(model.requests[1])
            emitted, expired = host.updates("reminder_emitted", "reminder_expired")
            assert emitted.pop("_meta")["harn"]["reminder"]["reminderId"] == told["reminderId"]
            assert emitted == {
                "sessionUpdate": "reminder_emitted",
                "reminderId": told["reminderId"],
                "body": "the build broke",
                "tags": ["ci"],
                "source": "bridge",
                "firedAtTurn": 2,
            }
            assert (expired["reminderId"], expired["phase"]) == (told["reminderId"], "ttl_expired")

    play(scene)


def test_a_reminder_sent_while_idle_reaches_the_next_prompt(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Seen."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            host.tell("session/remind", body="main was force-pushed")
            await host.ask("session/prompt", prompt="Go on.")
            assert "main was force-pushed" in json.dumps(model.requests[0])
            assert [u["body"] for u in host.updates("reminder_emitted")] == ["main was force-pushed"]

    play(scene)


def test_the_origin_is_the_host_by_name_and_the_trust_is_the_hosts(tmp_path: Path) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with Host(serve, settings(td.ScriptedModel(["Seen."]), log)) as host:
            told = await host.ask("initialize", clientInfo={"name": "notebook"})
            assert set(METHODS) < set(told["methods"])
            await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/remind", body="b")
            await host.ask("session/prompt", prompt="Go on.")
        (injected,) = records(log, "injected")
        assert (injected["source"], injected["trust"], injected["origin"]) == (
            "bridge",
            "host",
            "bridge:notebook",
        )

    play(scene)


def test_words_injected_while_a_prompt_runs_are_the_users_and_belong_to_it(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["First.", "Second."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            prompt = host.begin("session/prompt", prompt="Start.")
            await model.reached()
            told = await host.ask("session/inject", content="Use tabs.", id="m1")
            again = await host.ask("session/inject", content="Use tabs.", id="m1")
            assert told == again == {"messageId": "m1"}
            model.release()
            await model.reached()
            model.release()
            ended = (await host.reply(prompt))["result"]
            assert ended["text"] == "Second."
            users = [m["content"] for m in model.requests[1]["messages"] if m["role"] == "user"]
            assert users == ["Start.", "Use tabs."]

    play(scene)


def test_injected_blocks_that_the_loop_cannot_take_are_refused_before_they_are_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Fine."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            error = await host.refused("session/inject", content=[{"type": "audio", "data": "AA=="}])
            assert (error["code"], error["data"]) == (-32602, {"field": "content[0]"})
            assert (await host.ask("session/pending_injections"))["pendingCount"] == 0
            await host.ask("session/prompt", prompt="Go on.")

    play(scene)


def test_calls_that_are_sent_at_once_begin_in_their_order(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Seen."])
        async with Host(serve, settings(model)) as host:
            _, told, ended = host.at_once(
                ("session/new", {"cwd": folder(tmp_path)}),
                ("session/remind", {"body": "sent at once"}),
                ("session/prompt", {"prompt": "Go."}),
            )
            assert "result" in await host.reply(told)
            assert (await host.reply(ended))["result"]["text"] == "Seen."
            assert "sent at once" in json.dumps(model.requests[0])

    play(scene)


def test_a_prompt_that_a_hook_refuses_says_why(tmp_path: Path) -> None:
    async def scene() -> None:
        registry = td.Registry()

        @registry.register_session_hook("user_prompt_submit")
        def refuse(ctx: object) -> object:
            return {"block": True, "reason": "not on a Sunday"}

        async with Host(serve, settings(td.ScriptedModel([]), registry=registry)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            ended = await host.ask("session/prompt", prompt="Work.")
            assert (ended["stopReason"], host.text()) == ("refusal", "not on a Sunday")

    play(scene)


def test_a_second_prompt_waits_for_the_first(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["One.", "Two."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            first, second = (host.begin("session/prompt", prompt=f"{n}") for n in (1, 2))
            await model.reached()
            model.release()
            assert (await host.reply(first))["result"]["text"] == "One."
            await model.reached()
            model.release()
            assert (await host.reply(second))["result"]["text"] == "Two."

    play(scene)


def test_cancel_ends_the_running_prompt_and_those_that_wait_and_the_session_goes_on(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["Never said.", "Fresh."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            running, waiting = (host.begin("session/prompt", prompt=f"{n}") for n in (1, 2))
            await model.reached()
            assert await host.ask("session/cancel") == {"cancelled": True}
            for number in (running, waiting):
                assert (await host.reply(number))["result"]["stopReason"] == "cancelled"
            assert await host.ask("session/cancel") == {"cancelled": False}
            model.steps = ("Fresh.",)
            model.requests.clear()
            third = host.begin("session/prompt", prompt="3")
            await model.reached()
            model.release()
            assert (await host.reply(third))["result"]["text"] == "Fresh."

    play(scene)


def test_cancel_while_a_permission_is_asked_closes_the_call_and_runs_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel([call("write_file", path="a.txt", content="x"), "Never."])
        async with Host(serve, settings(model)) as host:
            host.answers_permissions = False
            await host.ask("session/new", cwd=folder(tmp_path))
            prompt = host.begin("session/prompt", prompt="Write.")
            asked = await host.heard(lambda m: m.get("method") == "session/request_permission")
            host.tell("session/cancel")
            assert (await host.reply(prompt))["result"]["stopReason"] == "cancelled"
            host.answer_permission(asked["id"])
            assert host.updates("tool_call_update")[-1]["status"] == "failed"
        assert not (Path(folder(tmp_path)) / "a.txt").exists()

    play(scene)


def test_too_many_prompts_are_refused_and_the_others_run(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["x"] * 20)
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            numbers = [host.begin("session/prompt", prompt=f"{n}") for n in range(17)]
            refused = await host.reply(numbers[-1])
            assert (refused["error"]["code"], refused["error"]["data"]) == (
                -32000,
                {"reason": "too_many_prompts"},
            )
            for _ in numbers[:-1]:
                model.release()
            for number in numbers[:-1]:
                assert (await host.reply(number))["result"]["stopReason"] == "end_turn"

    play(scene)


def test_a_failing_model_is_an_error_of_the_prompt_and_not_the_end_of_the_session(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel([td.ModelError("overloaded"), "Better."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            error = await host.refused("session/prompt", prompt="Go.")
            assert (error["code"], error["data"]) == (-32603, {"reason": "model_failed"})
            assert "overloaded" in error["message"]
            assert (await host.ask("session/prompt", prompt="Again."))["text"] == "Better."

    play(scene)


def test_a_session_is_listed_closed_and_loaded_with_its_history_and_no_reminder_in_it(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        steps = [call("list_files"), "Nothing there."]
        async with Host(serve, settings(td.ScriptedModel(steps), log)) as host:
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            await host.ask("session/remind", body="secret news")
            await host.ask("session/prompt", prompt="What is here?")
            await host.ask("session/close")
            assert (await host.refused("session/prompt", prompt="x"))["code"] == -32602
        async with Host(serve, settings(td.ScriptedModel(["Still nothing."]), log)) as host:
            (listed,) = (await host.ask("session/list"))["sessions"]
            assert (listed["sessionId"], listed["title"]) == (opened["sessionId"], "What is here?")
            assert (await host.ask("session/list", cwd="/elsewhere"))["sessions"] == []
            assert await host.ask("session/load", sessionId=opened["sessionId"]) == opened
            told = [update["sessionUpdate"] for update in host.updates()]
            assert told == ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
            assert "secret news" not in json.dumps(host.lines)
            await host.ask("session/prompt", prompt="And now?")
            assert host.text() == "Nothing there.Still nothing."

    play(scene)


def test_a_host_that_closes_in_mid_prompt_cancels_it_and_what_it_sent_is_in_the_log(tmp_path: Path) -> None:
    async def scene() -> None:
        log, model = td.open_log("memory:"), HeldModel(["Never said."])
        async with Host(serve, settings(model, log)) as host:
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            prompt = host.begin("session/prompt", prompt="Work.")
            await model.reached()
            told = await host.ask("session/remind", body="keep me")
            await host.close()
            assert (await host.reply(prompt))["result"]["stopReason"] == "cancelled"
            host.raw(b"")
        session = td.Session(opened["sessionId"], log=log)
        assert [row["id"] for row in session.pending_injections()["injections"]] == [told["reminderId"]]
        assert [m["content"] for m in session.transcript.messages] == ["Work."]

    play(scene)


BAD_LINES: list[tuple[bytes, int, object]] = [
    (b"{not json", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[]", -32600, None),
    (b"3", -32600, None),
    (b'{"jsonrpc":"2.0"}', -32600, None),
    (b'{"id":7,"method":3}', -32600, 7),
    (b'{"id":7,"method":"session/new","params":[]}', -32602, 7),
    (b'{"id":7,"method":"no/such"}', -32601, 7),
    (b'{"id":7,"method":"session/new","params":{}}', -32602, 7),
    (b'{"id":7,"method":"session/new","params":{"cwd":"relative"}}', -32602, 7),
    (b'{"id":7,"method":"session/new","params":{"cwd":"/no/such/folder"}}', -32602, 7),
    (b'{"id":7,"method":"session/load","params":{"sessionId":"gone"}}', -32002, 7),
    (b'{"id":7,"method":"session/load","params":{}}', -32602, 7),
    (b'{"id":7,"method":"session/list","params":{"cursor":"x"}}', -32602, 7),
    (b'{"id":7,"method":"session/set_mode","params":{"modeId":"yolo"}}', -32602, 7),
    (b'{"id":7,"method":"session/prompt","params":{"sessionId":"gone","prompt":"x"}}', -32002, 7),
    (b'{"id":7,"method":"session/prompt","params":{"prompt":"  "}}', -32602, 7),
    (b'{"id":7,"method":"session/prompt","params":{"prompt":[{"type":"video"}]}}', -32602, 7),
    (b'{"id":7,"method":"session/remind","params":{}}', -32602, 7),
    (b'{"id":7,"method":"session/remind","params":{"body":"b","ttlTurns":0}}', -32602, 7),
    (b'{"id":7,"method":"session/revoke_reminder","params":{"reminderId":"gone"}}', -32602, 7),
    (b'{"id":[1],"method":"no/such"}', -32601, None),
    (b'{"id":7,"method":"no/such","params":{"deep":' + b"[" * 50_000 + b"]" * 50_000 + b"}}", -32700, None),
    (b'"' + b"x" * (LONGEST_LINE + 10) + b'"', -32600, None),
]


@pytest.mark.parametrize(
    ("line", "code", "number"), BAD_LINES, ids=[str(at) for at in range(len(BAD_LINES))]
)
def test_a_bad_line_gets_its_error_and_the_connection_lives(
    line: bytes, code: int, number: object, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with Host(serve, settings(td.ScriptedModel(["Fine."]))) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            host.raw(line + b"\n")
            answer = await host.heard(lambda m: "error" in m)
            assert (answer["id"], answer["error"]["code"]) == (number, code), answer
            assert (await host.ask("session/prompt", prompt="Go on."))["text"] == "Fine."

    play(scene)


QUIET_LINES: list[bytes] = [
    b"",
    b"   ",
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"you said something odd"}}',
    b'{"jsonrpc":"2.0","id":99,"result":{}}',
    b'{"jsonrpc":"2.0","id":"tidings-77","error":{"code":1,"message":"late"}}',
    b'{"jsonrpc":"2.0","method":"no/such/notification"}',
]


@pytest.mark.parametrize("line", QUIET_LINES, ids=[str(at) for at in range(len(QUIET_LINES))])
def test_a_line_that_needs_no_answer_gets_none(line: bytes, tmp_path: Path) -> None:
    async def scene() -> None:
        async with Host(serve, settings(td.ScriptedModel(["Fine."]))) as host:
            host.raw(line + b"\n")
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            assert host.lines == [{"jsonrpc": "2.0", "id": 1, "result": opened}]

    play(scene)


def test_a_second_request_with_an_open_id_is_refused_without_that_id(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["One."])
        async with Host(serve, settings(model)) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            number = host.begin("session/prompt", prompt="1")
            await model.reached()
            host.say({"id": number, "method": "session/remind", "params": {"body": "b"}})
            answer = await host.heard(lambda m: "error" in m)
            assert (answer["id"], answer["error"]["code"], answer["error"]["data"]) == (
                None,
                -32600,
                {"id": number},
            )
            model.release()
            assert (await host.reply(number))["result"]["text"] == "One."

    play(scene)


def test_a_refused_notification_is_written_down_where_it_belongs(tmp_path: Path) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with Host(serve, settings(td.ScriptedModel([]), log)) as host:
            host.tell("session/remind", body="nobody is there")
            opened = await host.ask("session/new", cwd=folder(tmp_path))
            host.tell("session/remind", content="not body")
            host.tell("session/remind", sessionId="gone", body="b")
            host.tell("session/prompt", prompt="")
            host.tell("session/prompt", sessionId="gone", prompt="Hello")
            await host.ask("session/list")
        told = [(w["session_id"], w["code"], w["method"], w["rpc_code"]) for w in records(log, "warning")]
        assert told == [
            (None, "notification_rejected", "session/remind", -32602),
            (opened["sessionId"], "notification_rejected", "session/remind", -32602),
            ("gone", "notification_rejected", "session/remind", -32002),
            (opened["sessionId"], "notification_rejected", "session/prompt", -32602),
            ("gone", "notification_rejected", "session/prompt", -32002),
        ]
        assert records(log, "warning")[1]["diagnostic"] == "HARN-RMD-002"

    play(scene)


def test_more_calls_in_one_piece_than_may_be_worked_on_at_once_are_all_answered(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Host(serve, settings(td.ScriptedModel([]))) as host:
            await host.ask("session/new", cwd=folder(tmp_path))
            numbers = host.at_once(*[("session/list", {})] * 2_000)
            answers = [await host.reply(number) for number in (numbers[0], numbers[-1])]
            assert ["result" in answer for answer in answers] == [True, True]
            assert not [line for line in host.lines if "error" in line]

    play(scene)


def test_a_peer_that_reads_may_be_told_any_amount() -> None:
    async def scene() -> None:
        heard: list[bytes] = []

        async def write(data: bytes) -> None:
            heard.append(data)

        inbox: asyncio.Queue[bytes] = asyncio.Queue()
        async with Peer(inbox.get, write, unread=1_000) as peer:
            for _ in range(100):
                peer.notify("session/update", {"text": "x" * 100})
                await asyncio.sleep(0)
        assert len(b"".join(heard).splitlines()) == 100

    play(scene)


def test_a_peer_that_does_not_read_is_given_up(tmp_path: Path) -> None:
    async def scene() -> None:
        stuck = asyncio.Event()

        async def never(_: bytes) -> None:
            await stuck.wait()

        inbox: asyncio.Queue[bytes] = asyncio.Queue()
        async with Peer(inbox.get, never, unread=1_000) as peer:
            asked: asyncio.Task[Any] = asyncio.ensure_future(peer.ask("m", {}))
            reading = asyncio.ensure_future(peer.receive())
            while not reading.done():
                peer.notify("session/update", {"text": "x" * 100})
                await asyncio.sleep(0)
            assert reading.result() is None
            with pytest.raises(PeerGoneError):
                await asked
            stuck.set()

    play(scene)
