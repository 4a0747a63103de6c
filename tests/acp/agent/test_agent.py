"""The ACP agent as an editor sees it: sessions, prompts, tools, modes, cancelling; every line checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidings as td
from tests.acp.agent.wire import OFFICIAL, Editor, editor, play
from tests.bridge.served import HeldModel, folder, records, settings
from tidings.agent.models.scripted import call
from tidings.agent.port import Answer, Usage


def test_the_official_schema_is_at_hand() -> None:
    if not OFFICIAL.exists():
        pytest.skip(f"NOT CHECKED against the official ACP schema: there is no {OFFICIAL.name}")
    assert "SessionNotification" in json.loads(OFFICIAL.read_text())["$defs"]


@pytest.mark.parametrize("rfc", [True, False])
def test_reminders_are_advertised_under_meta_and_unless_switched_off_as_the_rfc_has_it(rfc: bool) -> None:
    async def scene() -> None:
        async with editor(rfc=rfc) as client:
            answer = await client.hello()
            capabilities = answer["agentCapabilities"]
            assert (answer["protocolVersion"], answer["agentInfo"]["name"]) == (1, "tidings")
            assert capabilities["loadSession"] is True
            assert capabilities["sessionCapabilities"] == {"list": {}, "close": {}, "resume": {}}
            offered = capabilities["_meta"]["harn"]["reminders"]
            assert (offered["inject"], offered["emit"]) == (True, True)
            assert offered["modes"] == ["interrupt_immediate", "finish_step", "audit_only"]
            wanted = {name: offered[name] for name in ("inject", "emit", "propagate", "roleHints")}
            assert capabilities.get("reminders") == (wanted if rfc else None)

    play(scene)


def test_a_newer_protocol_version_is_answered_with_ours() -> None:
    async def scene() -> None:
        async with editor() as client:
            assert (await client.ask("initialize", protocolVersion=2))["protocolVersion"] == 1

    play(scene)


def test_a_prompt_streams_text_and_ends_with_its_usage(tmp_path: Path) -> None:
    async def scene() -> None:
        answer = Answer(text="Hello there.", usage=Usage(20, 5, 10))
        async with editor(answer) as client:
            await client.start(tmp_path)
            assert await client.prompt("Hi") == {
                "stopReason": "end_turn",
                "usage": {
                    "totalTokens": 25,
                    "inputTokens": 20,
                    "outputTokens": 5,
                    "cachedReadTokens": 10,
                },
            }
            assert client.text() == "Hello there."
            assert len(client.updates("agent_message_chunk")) > 1

    play(scene)


@pytest.mark.parametrize(
    ("stop", "reason"), [("end", "end_turn"), ("length", "max_tokens"), ("refused", "refusal")]
)
def test_how_the_model_stopped_is_the_stop_reason(stop: str, reason: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor(Answer(text="So far.", stop=stop)) as client:  # type: ignore[arg-type]
            await client.start(tmp_path)
            assert (await client.prompt("Hi"))["stopReason"] == reason

    play(scene)


def test_too_many_requests_for_one_prompt_end_it(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel([call("list_files")], repeat=True)
        async with Editor(settings(model, max_iterations=3)) as client:
            await client.start(tmp_path)
            assert (await client.prompt("Loop"))["stopReason"] == "max_turn_requests"

    play(scene)


def test_every_built_in_tool_is_shown_with_its_kind_place_and_outcome(tmp_path: Path) -> None:
    async def scene() -> None:
        steps = [
            call("write_file", path="a.txt", content="one\n"),
            call("read_file", path="a.txt", start=1),
            call("edit_file", path="a.txt", old="one", new="two"),
            call("search", pattern="two"),
            call("list_files", path="."),
            call("run_command", command="echo   hi"),
            call("read_file", path="../outside"),
            call("no_such_tool"),
        ]
        async with editor(*steps, "Done.") as client:
            await client.start(tmp_path)
            await client.prompt("Use everything.")
            shown = [(u["kind"], u["title"], u.get("locations")) for u in client.updates("tool_call")]
            place, root = f"{folder(tmp_path)}/a.txt", folder(tmp_path)
            assert shown == [
                ("edit", "Write a.txt", [{"path": place}]),
                ("read", "Read a.txt", [{"path": place, "line": 1}]),
                ("edit", "Edit a.txt", [{"path": place}]),
                ("search", "Search for two", None),
                ("search", "List .", [{"path": root}]),
                ("execute", "Run echo hi", None),
                ("read", "Read ../outside", [{"path": f"{root.removesuffix('/work')}/outside"}]),
                ("other", "no_such_tool", None),
            ]
            closed = [u for u in client.updates("tool_call_update") if u["status"] != "in_progress"]
            assert [u["status"] for u in closed] == ["completed"] * 6 + ["failed"] * 2
            texts = [u["content"][0]["content"]["text"] if "content" in u else None for u in closed]
            assert texts[0] is None
            assert texts[1] is not None
            assert "one" in texts[1]
            assert texts[2] is None
            assert texts[7] is not None
            assert "no tool 'no_such_tool'" in texts[7]

    play(scene)


def test_a_rewritten_file_is_shown_as_a_diff_of_old_and_new(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor(call("write_file", path="a.txt", content="new"), "Done.") as client:
            await client.start(tmp_path)
            place.write_text("old")
            await client.prompt("Rewrite it.")
            (announced,) = client.updates("tool_call")
            diff = {"type": "diff", "path": str(place), "oldText": "old", "newText": "new"}
            assert announced["content"] == [diff]

    place = Path(folder(tmp_path)) / "a.txt"
    play(scene)


def test_an_interrupt_skips_the_batch_and_every_call_of_it_is_closed(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel([[call("list_files"), call("search", pattern="x")], "Stopped."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            prompt = client.prompting("Go.")
            await model.reached()
            await client.ask("session/remind", body="stop, the disk is full", mode="interrupt_immediate")
            model.release()
            await model.reached()
            model.release()
            await client.reply(prompt)
            closed = client.updates("tool_call_update")
            assert [u["status"] for u in closed] == ["failed", "failed"]
            assert all("Not run" in u["content"][0]["content"]["text"] for u in closed)
            assert "the disk is full" in json.dumps(model.requests[1])

    play(scene)


def test_a_mode_may_change_while_a_prompt_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel([call("write_file", path="a.txt", content="x"), "Done."])
        async with Editor(settings(model)) as client:
            session_id = await client.start(tmp_path)
            prompt = client.prompting("Write.")
            await model.reached()
            await client.ask("session/set_mode", sessionId=session_id, modeId="read-only")
            model.release()
            await model.reached()
            model.release()
            await client.reply(prompt)
            assert client.updates("current_mode_update")[0]["currentModeId"] == "read-only"
            closed = client.updates("tool_call_update")[-1]
            assert "read-only mode" in closed["content"][0]["content"]["text"]

    play(scene)


def test_a_session_is_loaded_with_its_history_in_another_connection(tmp_path: Path) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with editor(call("list_files"), "Empty.", log=log) as first:
            session_id = await first.start(tmp_path)
            await first.ask("session/remind", body="a secret reminder")
            await first.prompt("What is here?")
        async with editor("Still.", log=log) as second:
            await second.hello()
            options = {"sessionId": session_id, "cwd": folder(tmp_path), "mcpServers": []}
            loaded = await second.ask("session/load", **options)
            assert loaded["modes"]["currentModeId"] == "ask"
            assert [u["sessionUpdate"] for u in second.updates()] == [
                "user_message_chunk",
                "tool_call",
                "tool_call_update",
                "agent_message_chunk",
            ]
            assert "secret" not in json.dumps(second.lines)
            second.session_id = session_id
            assert (await second.prompt("And?"))["stopReason"] == "end_turn"
        async with editor(log=log) as third:
            await third.hello()
            await third.ask("session/resume", sessionId=session_id, cwd=folder(tmp_path))
            assert third.updates() == []
            listed = await third.ask("session/list", cwd=folder(tmp_path))
            assert [(s["sessionId"], s["title"]) for s in listed["sessions"]] == [
                (session_id, "What is here?")
            ]

    play(scene)


def test_sessions_are_listed_in_pages_newest_first(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor() as client:
            await client.hello()
            made = [
                (await client.ask("session/new", cwd=folder(tmp_path), mcpServers=[]))["sessionId"]
                for _ in range(51)
            ]
            first = await client.ask("session/list")
            second = await client.ask("session/list", cursor=first["nextCursor"])
            listed = [s["sessionId"] for s in (*first["sessions"], *second["sessions"])]
            assert "nextCursor" not in second
            assert len(first["sessions"]) == 50
            assert sorted(listed) == sorted(made)

    play(scene)


def test_a_closed_session_is_unknown_until_it_is_loaded(tmp_path: Path) -> None:
    async def scene() -> None:
        async with editor("Hello.") as client:
            session_id = await client.start(tmp_path)
            await client.ask("session/close", sessionId=session_id)
            for method in ("session/remind", "session/close"):
                error = await client.refused(method, sessionId=session_id, body="b")
                assert (error["code"], error["data"]) == (-32002, {"sessionId": session_id})

    play(scene)


def test_closing_a_session_in_mid_prompt_cancels_it(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["Never."])
        async with Editor(settings(model)) as client:
            session_id = await client.start(tmp_path)
            prompt = client.prompting("Work.")
            await model.reached()
            await client.ask("session/close", sessionId=session_id)
            assert (await client.reply(prompt))["result"]["stopReason"] == "cancelled"

    play(scene)


def test_cancel_answers_the_prompt_as_cancelled_and_the_next_one_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["Never."])
        async with Editor(settings(model)) as client:
            session_id = await client.start(tmp_path)
            prompt = client.prompting("Work.")
            await model.reached()
            client.tell("session/cancel", sessionId=session_id)
            assert (await client.reply(prompt))["result"] == {"stopReason": "cancelled"}
            again = client.prompting("Again.")
            await model.reached()
            model.release()
            assert (await client.reply(again))["result"]["stopReason"] == "end_turn"

    play(scene)


def test_calls_that_are_sent_at_once_begin_in_their_order(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Seen."])
        async with Editor(settings(model)) as client:
            opening = {"cwd": folder(tmp_path), "mcpServers": []}
            opened, told = client.at_once(
                ("session/new", opening), ("session/remind", {"body": "sent at once"})
            )
            assert "result" in await client.reply(told)
            client.session_id = (await client.reply(opened))["result"]["sessionId"]
            await client.prompt("Go.")
            assert "sent at once" in json.dumps(model.requests[0])

    play(scene)


def test_a_cancelled_request_ends_its_prompt(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["Never."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            prompt = client.prompting("Work.")
            await model.reached()
            client.tell("$/cancel_request", requestId=prompt)
            assert (await client.reply(prompt))["result"] == {"stopReason": "cancelled"}

    play(scene)


def test_a_cancelled_request_leaves_the_prompts_beside_it_alone(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["One.", "Three."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            first, second, third = (client.prompting(text) for text in "123")
            await model.reached()
            client.tell("$/cancel_request", requestId=second)
            assert (await client.reply(second))["result"] == {"stopReason": "cancelled"}
            model.release()
            assert (await client.reply(first))["result"]["stopReason"] == "end_turn"
            await model.reached()
            model.release()
            assert (await client.reply(third))["result"]["stopReason"] == "end_turn"
            assert client.text() == "One.Three."

    play(scene)


def test_two_prompts_of_one_session_run_one_after_the_other(tmp_path: Path) -> None:
    async def scene() -> None:
        model = HeldModel(["One.", "Two."])
        async with Editor(settings(model)) as client:
            await client.start(tmp_path)
            first, second = client.prompting("1"), client.prompting("2")
            await model.reached()
            model.release()
            assert (await client.reply(first))["result"]["stopReason"] == "end_turn"
            assert client.text() == "One."
            await model.reached()
            model.release()
            assert (await client.reply(second))["result"]["stopReason"] == "end_turn"
            assert client.text() == "One.Two."

    play(scene)


def test_an_image_a_link_and_an_attached_file_reach_the_model(tmp_path: Path) -> None:
    async def scene() -> None:
        model = td.ScriptedModel(["Seen."])
        async with Editor(settings(model)) as client:
            session_id = await client.start(tmp_path)
            resource = {"uri": "file:///b.py", "text": "print()"}
            blocks = [
                {"type": "text", "text": "See "},
                {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
                {"type": "text", "text": " and"},
                {"type": "resource", "resource": resource},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            ]
            await client.ask("session/prompt", sessionId=session_id, prompt=blocks)
            (message,) = model.requests[0]["messages"][-1:]
            text, image = message["content"]
            assert text["text"] == "See [a.py](file:///a.py) and\n\nAttached file:///b.py:\n\nprint()"
            assert "AAAA" in json.dumps(image)

    play(scene)


def test_mcp_servers_that_cannot_be_connected_are_written_down(tmp_path: Path) -> None:
    async def scene() -> None:
        log = td.open_log("memory:")
        async with editor(log=log) as client:
            await client.hello()
            server = {"name": "files", "command": "files-server", "args": [], "env": []}
            await client.ask("session/new", cwd=folder(tmp_path), mcpServers=[server])
        (noted,) = records(log, "warning")
        assert (noted["code"], noted["message"]) == (
            "mcp_servers_ignored",
            "1 MCP servers were named; tidings[mcp] is needed to connect to them",
        )

    play(scene)


def test_a_client_that_closes_in_mid_prompt_leaves_a_session_that_can_be_loaded(tmp_path: Path) -> None:
    async def scene() -> None:
        log, model = td.open_log("memory:"), HeldModel(["Never."])
        async with Editor(settings(model, log)) as first:
            session_id = await first.start(tmp_path)
            first.prompting("Work.")
            await model.reached()
            told = await first.ask("session/inject_reminder", body="keep me")
        model = HeldModel(["Went on."])
        async with Editor(settings(model, log)) as second:
            await second.hello()
            await second.ask("session/load", sessionId=session_id, cwd=folder(tmp_path), mcpServers=[])
            rows = await second.ask("session/pending_injections", sessionId=session_id)
            assert [row["reminderId"] for row in rows["injections"]] == [told["reminderId"]]
            second.session_id = session_id
            prompt = second.prompting("Go on.")
            await model.reached()
            model.release()
            await second.reply(prompt)
            assert "keep me" in json.dumps(model.requests[0])

    play(scene)
