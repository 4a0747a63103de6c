"""`tidings watch` as people and hosts start it: real processes."""

from __future__ import annotations

import hmac
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from tidings.cli.watch.serving import reported
from tidings.mcp.names import OWN_WRITES
from tidings.watchers.own import OwnWrites

START = (sys.executable, "-c", "from tidings.cli.start import run; run()", "watch")
DEADLINE = 60
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@contextmanager
def started(*words: str, cwd: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command, killed at the end of the block and at the deadline: no reader waits longer."""
    with subprocess.Popen(
        [*START, *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(DEADLINE, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def line(stream: Any) -> dict[str, Any]:
    """The next line, decoded."""
    text = stream.readline()
    assert text, "the stream ended"
    found: dict[str, Any] = json.loads(text)
    return found


def asked(*words: str, cwd: Path, **environment: str) -> tuple[int, str]:
    """How a command ends that should not start at all, and what it says."""
    done = subprocess.run(
        [*START, *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    return done.returncode, done.stderr.strip()


def test_a_failing_command_is_printed_as_a_json_line(tmp_path: Path) -> None:
    with started(
        "command", "--json", "--name", "check", "--", "sh", "-c", "exit 3", cwd=tmp_path
    ) as process:
        assert line(process.stdout) == {
            "watcher": "check",
            "body": "sh -c 'exit 3' failed with exit code 3.",
            "dedupe_key": "check:status",
            "tags": ["command"],
            "ttl_turns": 1,
            "role_hint": "system",
            "uris": [],
        }


def test_a_server_on_stdio_ends_with_its_client_and_on_sigterm(tmp_path: Path) -> None:
    for end in ("close", "signal"):
        with started("files", "--own-writes", cwd=tmp_path) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(HELLO) + "\n")
            process.stdin.flush()
            capabilities = line(process.stdout)["result"]["capabilities"]
            assert capabilities["reminders"]["emit"] is True
            assert capabilities["resources"]["subscribe"] is True
            assert "tools" in capabilities
            if end == "close":
                process.stdin.close()
            else:
                process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0


def test_over_http_it_says_where_it_listens(tmp_path: Path) -> None:
    with started("files", "--http", "0", cwd=tmp_path) as process:
        said = {row["code"]: row["message"] for row in (line(process.stderr), line(process.stderr))}
        assert said.keys() == {"watching", "ready"}
        assert said["ready"].startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0


def test_a_wrong_signature_is_a_line_on_stderr_and_a_right_one_is_told(tmp_path: Path) -> None:
    secret = "a-long-secret"
    words = ("reviews", "--json", "--port", "0", "--secret-env", "HOOK")
    body = json.dumps({"action": "closed", "pull_request": {"number": 1, "title": "T"}}).encode()

    def post(url: str, key: str) -> int:
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "pull_request",
            "X-Hub-Signature-256": "sha256=" + hmac.new(key.encode(), body, sha256).hexdigest(),
        }
        request = urllib.request.Request(url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                return int(answer.status)
        except HTTPError as error:
            with error:
                return error.code

    with started(*words, cwd=tmp_path, HOOK=secret) as process:
        url = line(process.stderr)["message"]
        assert post(url, "another-secret") == 401
        assert line(process.stderr)["code"] == "webhook_wrong_signature"
        assert post(url, secret) == 202
        assert line(process.stdout)["body"] == 'Pull request #1 "T" was closed without merging.'


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("files", "--root", "gone", "--json"), "`root` 'gone' is not a folder"),
        (("tests", "--json"), "no test runner that is known"),
        (("reviews", "--json"), "give --secret-env for webhooks, --poll-url for an endpoint, or both"),
        (("reviews", "--secret-env", "NO_SUCH_VARIABLE"), "the variable 'NO_SUCH_VARIABLE' is not set"),
        (("reviews", "--secret-env", "HOOK", "--scheme", "x"), "--scheme must be one of"),
        (("reviews", "--poll-url", "https://x", "--items", "runs"), "a JSON pointer begins with /"),
        (("command", "--every", "0", "--json", "--", "true"), "`interval` must be more than 0"),
    ],
)
def test_what_cannot_work_ends_with_2_and_the_fix(
    tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    code, said = asked(*words, cwd=tmp_path, HOOK="a-long-secret")
    assert code == 2
    assert problem in " ".join(said.split())


def test_a_watcher_that_cannot_start_ends_the_server_with_2(tmp_path: Path) -> None:
    with started(
        "reviews", "--port", "0", "--secret-env", "HOOK", "--json", cwd=tmp_path, HOOK="x" * 9
    ) as first:
        port = line(first.stderr)["message"].rpartition(":")[2].partition("/")[0]
        words = ("reviews", "--port", port, "--secret-env", "HOOK", "--json")
        code, said = asked(*words, cwd=tmp_path, HOOK="x" * 9)
    assert (code, f"cannot listen at 127.0.0.1:{port}" in said) == (2, True)


def test_the_tool_for_own_writes_counts_what_it_knows_and_says_what_is_wrong(tmp_path: Path) -> None:
    own = OwnWrites(tmp_path)
    (tmp_path / "a.py").write_text("x")
    writes = [{"path": "a.py"}, {"path": "gone.py"}, {"path": "soon.py", "sha256": "0" * 64}]
    assert reported(own, OWN_WRITES, {"writes": writes}) == ("2 of 3 writes are known", False)
    for wrong in (None, {}, {"writes": [{"file": "a"}]}, {"writes": [{"path": "a", "sha256": "x"}]}):
        text, is_wrong = reported(own, OWN_WRITES, wrong)
        assert is_wrong
        assert text.startswith("`writes` must be a list of objects with a path and perhaps a sha256")
    assert reported(own, "other", {}) == ("there is no tool 'other'", True)
    assert reported(None, OWN_WRITES, {"writes": []}) == ("there is no tool 'report_own_writes'", True)


def test_who_subscribes_to_a_file_is_told_that_it_was_updated_and_gets_the_reminder(tmp_path: Path) -> None:
    file = tmp_path / "lib.rs"
    file.write_text("one")
    uri = file.resolve().as_uri()

    def request(number: int, method: str, params: dict[str, Any]) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"

    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    with started("files", cwd=tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write(request(1, "initialize", hello))
        process.stdin.flush()
        line(process.stdout)
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
        process.stdin.write(request(2, "resources/subscribe", {"uri": uri}))
        process.stdin.flush()
        assert line(process.stdout)["id"] == 2
        assert line(process.stderr) == {"watcher": "files", "code": "watching", "message": ""}
        file.write_text("two")
        told = {}
        while len(told) < 2:
            message = line(process.stdout)
            told[message["method"]] = message["params"]
    assert told["notifications/resources/updated"]["uri"] == uri
    reminder = told["notifications/reminder"]["reminder"]
    assert {key: reminder[key] for key in ("body", "dedupeKey", "ttlTurns", "tags", "roleHint")} == {
        "body": "lib.rs changed on disk; re-read it before editing.",
        "dedupeKey": "file_changed:lib.rs",
        "ttlTurns": 2,
        "tags": ["workspace", "file_changed"],
        "roleHint": "system",
    }
