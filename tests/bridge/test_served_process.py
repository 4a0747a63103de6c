"""`tidings bridge` as a real process: prompts, reminders, a kill, and no SDK of ACP anywhere in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
