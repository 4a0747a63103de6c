"""`tidings acp` as a real process: a vendor's SDK on the fake provider, kills, restarts, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acp.agent.process import DEADLINE, SCRIPT, Process
from tests.acp.agent.wire import TAKES_UPDATES, check
from tests.bridge.served import folder
from tidings.log import open_log
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Say

MODEL = "anthropic/claude-sonnet-4-5"


def agent(provider: FakeProvider, log: Path, *more: str) -> Process:
    key = {"ANTHROPIC_API_KEY": "not-a-key", "TIDINGS_MODEL": MODEL}
    return Process("acp", "--log", f"sqlite:///{log}", "--base-url", provider.url, *more, **key)


def prompt(process: Process, session_id: str, text: str) -> int:
    return process.begin("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])


def test_a_reminder_reaches_the_next_request_to_the_vendor_while_a_prompt_runs(tmp_path: Path) -> None:
    hold, system = Gate(), tmp_path / "agent.md"
    system.write_text("You are terse. Work in {root}.")
    steps = [Say(calls=(Call("list_files"),), before=hold), Say(text="I saw it.")]
    options = ("--system", str(system), "--no-rfc-capability")
    with FakeProvider(*steps) as provider, agent(provider, tmp_path / "log.db", *options) as process:
        hello = process.ask("initialize", protocolVersion=1, clientCapabilities=TAKES_UPDATES)
        opened = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])
        running = prompt(process, opened["sessionId"], "Look around.")
        assert hold.reached.wait(DEADLINE)
        told = process.ask("session/inject_reminder", body="the build broke", ttlTurns=1)
        hold.open()
        ended = process.reply(running)["result"]
        assert process.hang_up() == 0
        assert provider.refused == []
        shown = ["the build broke" in json.dumps(body) for body in provider.bodies]
        assert f"You are terse. Work in {folder(tmp_path)}." in json.dumps(provider.bodies[0]["system"])
    assert "reminders" not in hello["agentCapabilities"]
    assert (ended["stopReason"], shown) == ("end_turn", [False, True])
    check(process.lines, process.methods, takes_updates=True)
    updates = [line["params"]["update"] for line in process.lines if "method" in line]
    lived = [u["sessionUpdate"] for u in updates if u.get("reminderId") == told["reminderId"]]
    assert lived == ["reminder_emitted", "reminder_expired"]
    assert process.errors == []


def test_nothing_accepted_is_lost_when_the_agent_is_killed(tmp_path: Path) -> None:
    log, hold = tmp_path / "log.db", Gate()
    with FakeProvider(Say(text="Never said.", before=hold), Say(text="I am back.")) as provider:
        with agent(provider, log) as process:
            process.ask("initialize", protocolVersion=1)
            session_id = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])["sessionId"]
            prompt(process, session_id, "Work.")
            assert hold.reached.wait(DEADLINE)
            accepted = [
                process.ask("session/remind", body=f"news {n}", id=f"r{n}")["reminderId"] for n in range(20)
            ]
            process.ask("session/inject", content="And mind the tests.", id="m1")
            process.child.kill()
        with agent(provider, log) as process:
            process.ask("initialize", protocolVersion=1)
            process.ask("session/load", sessionId=session_id, cwd=folder(tmp_path), mcpServers=[])
            rows = process.ask("session/pending_injections", sessionId=session_id)["injections"]
            assert [row["id"] for row in rows] == [*accepted, "m1"]
            again = process.ask("session/remind", body="news 3", id="r3")
            assert again == {"reminderId": "r3", "dedupedCount": 0}
            ended = process.reply(prompt(process, session_id, "Go on."))["result"]
            assert process.hang_up() == 0
        assert provider.refused == []
        last = json.dumps(provider.bodies[-1])
    assert ended["stopReason"] == "end_turn"
    assert all(f"news {n}" in last for n in range(20))
    assert "And mind the tests." in last
    check(process.lines, process.methods, takes_updates=False)
    with open_log(f"sqlite:///{log}") as opened:
        opened.verify()


def test_a_client_that_hangs_up_in_mid_prompt_ends_the_process_and_the_request(tmp_path: Path) -> None:
    hold = Gate()
    with FakeProvider(Say(text="Never said.", before=hold)) as provider:
        with agent(provider, tmp_path / "log.db") as process:
            process.ask("initialize", protocolVersion=1)
            session_id = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])["sessionId"]
            running = prompt(process, session_id, "Work.")
            assert hold.reached.wait(DEADLINE)
            assert process.hang_up() == 0
        assert provider.requests[0].left.wait(DEADLINE)
    assert process.reply(running)["result"] == {"stopReason": "cancelled"}


def test_what_a_tool_prints_never_reaches_the_protocol(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    run = {"name": "run_command", "arguments": {"command": "echo out; echo err >&2; cat"}}
    script.write_text(json.dumps({"steps": [{"tool_calls": [run]}, {"text": "Ran."}]}))
    with Process("acp", "--model", f"scripted:{script}", "--log", "memory:") as process:
        process.ask("initialize", protocolVersion=1)
        session_id = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])["sessionId"]
        running = prompt(process, session_id, "Run it.")
        asked = process.heard(lambda m: m.get("method") == "session/request_permission")
        outcome = {"outcome": "selected", "optionId": "allow_once"}
        process.say({"id": asked["id"], "result": {"outcome": outcome}})
        assert process.reply(running)["result"]["stopReason"] == "end_turn"
        assert process.hang_up() == 0
    check(process.lines, process.methods, takes_updates=False)
    updates = [line["params"]["update"] for line in process.lines if line.get("method") == "session/update"]
    (closed,) = [u for u in updates if u.get("status") == "completed"]
    assert closed["content"][0]["content"]["text"] == "[exit code 0]\nout\nerr\n"


def test_without_an_option_the_log_is_in_the_users_data_folder(tmp_path: Path) -> None:
    with Process("acp", "--model", "scripted:done", XDG_DATA_HOME=str(tmp_path)) as process:
        process.ask("initialize", protocolVersion=1)
        process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])
        assert process.hang_up() == 0
    with open_log(tmp_path / "tidings" / "sessions.db") as opened:
        assert "bridge.sessions" in opened.topics()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no model: give --model anthropic/claude-opus-5, or set TIDINGS_MODEL"),
        (["--model", "anthropic/claude-opus-5"], "needs a key: set ANTHROPIC_API_KEY"),
        (["--model", "anthropik/claude"], "unknown model 'anthropik/claude'"),
        (["--model", "openai-compatible/x"], "needs --base-url"),
        (["--model", "scripted:done", "--system", "no-such-file"], "--system no-such-file cannot be read"),
        (["--model", "scripted:done", "--log", "nowhere:"], "log address is 'nowhere:'"),
    ],
)
def test_what_is_missing_is_one_line_on_stderr_and_exit_code_2(
    arguments: list[str], told: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [str(SCRIPT), "acp", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert told in done.stderr


def test_help_says_that_an_editor_starts_it() -> None:
    done = subprocess.run(
        [str(SCRIPT), "acp", "--help"], capture_output=True, text=True, timeout=DEADLINE, check=True
    )
    assert "An editor starts this" in done.stdout
    assert "--no-rfc-capability" in done.stdout


SERVER = Path(__file__).parents[2] / "mcp" / "host" / "fake_server.py"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_servers_that_the_editor_names_offer_their_tools_and_are_heard(
    era: str, tmp_path: Path
) -> None:
    named = {
        "name": "build",
        "command": sys.executable,
        "args": [str(SERVER), json.dumps({"era": era})],
        "env": [],
    }
    steps = [Say(calls=(Call("build__flood", {"count": 1}),)), Say(text="I heard."), Say(text="Bye.")]
    with FakeProvider(*steps) as provider, agent(provider, tmp_path / "log.db") as process:
        hello = process.ask("initialize", protocolVersion=1)
        opened = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[named])
        running = prompt(process, opened["sessionId"], "Build it.")
        asked = process.heard(lambda line: line.get("method") == "session/request_permission")
        chosen = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
        process.say({"id": asked["id"], "result": chosen})
        process.reply(running)
        assert process.hang_up() == 0
        bodies = provider.bodies
    assert hello["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": False}
    assert "build__flood" in [tool["name"] for tool in bodies[0]["tools"]]
    assert "Information from build" in json.dumps(bodies[-1])


def test_a_server_that_cannot_be_used_refuses_the_session_and_says_why(tmp_path: Path) -> None:
    with FakeProvider() as provider, agent(provider, tmp_path / "log.db") as process:
        process.ask("initialize", protocolVersion=1)
        named = {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": []}
        refused = process.reply(process.begin("session/new", cwd=folder(tmp_path), mcpServers=[named]))
        assert refused["error"]["message"] == "mcpServers.old: `type` must be stdio or http; got 'sse'"
        assert process.hang_up() == 0
