"""`tidings bridge` as a real process: prompts, reminders, a kill, and no SDK of ACP anywhere in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acp.agent.process import DEADLINE, Process
from tests.bridge.served import folder


def script(tmp_path: Path, *steps: object) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"steps": steps}))
    return f"scripted:{path}"


def test_a_session_survives_a_kill_with_its_reminders(tmp_path: Path) -> None:
    options = ("bridge", "--model", "scripted:echo", "--log", f"sqlite:///{tmp_path / 'log.db'}")
    with Process(*options) as process:
        session_id = process.ask("session/new", cwd=folder(tmp_path))["sessionId"]
        process.ask("session/prompt", prompt="Remember the milk.")
        for number in range(10):
            process.ask("session/remind", body=f"news {number}", id=f"r{number}")
        process.child.kill()
    with Process(*options) as process:
        assert process.ask("session/load", sessionId=session_id)["cwd"] == folder(tmp_path)
        rows = process.ask("session/pending_injections")["injections"]
        assert [row["id"] for row in rows] == [f"r{number}" for number in range(10)]
        told = [line["params"]["update"]["content"]["text"] for line in process.lines if "method" in line]
        assert told == ["Remember the milk.", "Remember the milk."]
        process.ask("session/prompt", prompt="Go on.")
        updates = [line["params"]["update"] for line in process.lines if "method" in line]
        emitted = [u["reminderId"] for u in updates if u.get("source") == "bridge"]
        assert emitted == [f"r{number}" for number in range(10)]
        assert process.hang_up() == 0
    assert process.errors == []


def test_a_session_is_served_by_one_process_at_a_time(tmp_path: Path) -> None:
    options = ("bridge", "--model", "scripted:echo", "--log", f"sqlite:///{tmp_path / 'log.db'}")
    with Process(*options) as first, Process(*options) as second:
        session_id = first.ask("session/new", cwd=folder(tmp_path))["sessionId"]
        refused = second.reply(second.begin("session/load", sessionId=session_id))["error"]
        assert refused == {
            "code": -32000,
            "message": f"session '{session_id}' is in use by another process; close it there first",
            "data": {"reason": "session_in_use", "sessionId": session_id},
        }
        first.ask("session/close")
        second.ask("session/load", sessionId=session_id)
        assert "error" in first.reply(first.begin("session/load", sessionId=session_id))
        second.child.kill()
        second.child.wait(DEADLINE)
        first.ask("session/load", sessionId=session_id)
        assert first.hang_up() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("command", ["bridge", "acp"])
def test_a_signal_ends_the_running_command_and_the_prompt_is_answered(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    run = {"name": "run_command", "arguments": {"command": f"exec 3<>{alive}; echo up >&3; sleep 1000"}}
    model = script(tmp_path, {"tool_calls": [run]}, {"text": "Never."})
    with Process(command, "--model", model, "--log", "memory:") as process:
        if command == "acp":
            process.ask("initialize", protocolVersion=1)
        session_id = process.ask("session/new", cwd=folder(tmp_path), mcpServers=[])["sessionId"]
        prompt = [{"type": "text", "text": "Wait."}]
        running = process.begin("session/prompt", sessionId=session_id, prompt=prompt)
        asked = process.heard(lambda m: m.get("method") == "session/request_permission")
        outcome = {"outcome": "selected", "optionId": "allow_once"}
        process.say({"id": asked["id"], "result": {"outcome": outcome}})
        with alive.open("rb") as held:
            assert held.readline() == b"up\n"
            process.child.send_signal(number)
            assert process.reply(running)["result"]["stopReason"] == "cancelled"
            assert process.child.wait(DEADLINE) == 128 + number
            assert held.read() == b"", "whoever ran the command still holds the pipe"
    assert process.errors == []


def test_a_tool_is_asked_for_and_runs(tmp_path: Path) -> None:
    write = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}]}
    model = script(tmp_path, write, {"text": "Written."})
    with Process("bridge", "--model", model, "--log", "memory:") as process:
        process.ask("session/new", cwd=folder(tmp_path))
        running = process.begin("session/prompt", prompt="Write.")
        asked = process.heard(lambda m: m.get("method") == "session/request_permission")
        outcome = {"outcome": "selected", "optionId": "allow_once"}
        process.say({"id": asked["id"], "result": {"outcome": outcome}})
        assert process.reply(running)["result"]["text"] == "Written."
        assert process.hang_up() == 0
    assert (Path(folder(tmp_path)) / "a.txt").read_text() == "x"


def test_a_script_from_a_file_is_served_though_it_is_no_pipe(tmp_path: Path) -> None:
    lines = tmp_path / "calls.jsonl"
    call = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": folder(tmp_path)}}
    lines.write_text(json.dumps(call) + "\n")
    options = ("--model", "scripted:done", "--log", "memory:")
    with lines.open() as source:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bridge.serve_plain", *options],
            stdin=source,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=True,
        )
    answer, loaded = done.stdout.splitlines()
    assert json.loads(answer)["result"]["cwd"] == folder(tmp_path)
    assert loaded == "the ACP SDK is loaded: False"
