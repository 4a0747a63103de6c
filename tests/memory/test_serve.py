"""`tidings memory serve` as a real process: conversation events and tools over stdio, in both eras."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.memory.opening import DEADLINE
from tidings.memory.store import MemoryStore

pytest.importorskip("mcp", reason="the mcp extra is not installed: pip install 'tidings[mcp]'")

SCRIPT = Path(sys.executable).with_name("tidings")
SAID = "We deploy to production on Tuesdays only."
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Host:
    """The other end of the pipe: one JSON message per line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._last = 0

    def tell(self, method: str, params: Mapping[str, object]) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        answer = self.read()
        while answer.get("id") != self._last:
            answer = self.read()
        return answer

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def greet(self) -> dict[str, Any]:
        client = {"name": "t", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        answer = self.ask("initialize", hello)
        self.tell("notifications/initialized", {})
        found: dict[str, Any] = answer["result"]["capabilities"]
        return found


@contextmanager
def serving(path: Path, *options: str, project: str | None = "harbor") -> Iterator[Host]:
    where = [] if project is None else ["--project", project]
    command = [str(SCRIPT), "memory", "serve", "--file", str(path), *where, *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=path.parent, **pipes) as process:  # type: ignore[call-overload]
        deadline = Timer(DEADLINE, process.kill)
        deadline.start()
        try:
            yield Host(process)
            out, err = process.communicate(timeout=DEADLINE)
            assert (process.returncode, out, err) == (0, "", "")
        finally:
            deadline.cancel()
            process.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path / "memory.db") as store:
        store.remember(text=SAID, project="harbor", created="2026-03-01", source="minutes")
        store.remember(text="The kiosk deploys itself at night.", project="kiosk")
    return tmp_path / "memory.db"


def shown(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    memories = answer["result"].get("structuredContext", {}).get("memories", [])
    assert all(0 <= one["relevance"] <= 1 for one in memories)
    return [(one["content"], one["source"], one["date"]) for one in memories]


@pytest.mark.parametrize("meta", [None, MODERN], ids=["legacy", "modern"])
def test_a_message_gets_what_fits_and_small_talk_gets_nothing(
    path: Path, meta: Mapping[str, object] | None
) -> None:
    more = {} if meta is None else {"_meta": meta}
    with serving(path) as host:
        if meta is None:
            offered = host.greet()["extensions"]["dev.tidings/conversation-events"]
            assert (offered["onUserMessage"], offered["onAssistantResponse"]) == (True, False)
        asked = {"messageId": "m1", "content": "When may we deploy to production?", "conversationId": "c"}
        first = host.ask("conversation/userMessage", {**asked, **more})
        again = host.ask("conversation/userMessage", {**asked, "messageId": "m2", **more})
        small = host.ask("conversation/userMessage", {"messageId": "m3", "content": "thanks!", **more})
    assert shown(first) == [(SAID, "minutes", "2026-03-01")]
    assert shown(again) == []
    assert shown(small) == []
    with MemoryStore(path, embedder=None) as store:
        assert [memory.surfaced for memory in store.list(project="harbor")] == [1]


def test_a_message_is_answered_in_the_project_it_names_unless_the_server_has_its_own(path: Path) -> None:
    def asked(host: Host, **scope: object) -> list[str]:
        content = {"messageId": "m", "content": "When do we deploy to production, and the kiosk?"}
        return [one[0] for one in shown(host.ask("conversation/userMessage", {**content, **scope}))]

    kiosk = {"scope": {"project": "kiosk"}}
    with serving(path, project=None) as host:
        host.greet()
        followed = [asked(host), asked(host, scope={"project": "harbor"}), asked(host, **kiosk)]
        odd = [asked(host, scope={"project": name}) for name in ("", "  ", "x" * 300, 7)]
    with serving(path) as host:
        host.greet()
        fixed = asked(host, **kiosk)
    with serving(path, "--everywhere", project=None) as host:
        host.greet()
        nowhere = asked(host, **kiosk)
    assert followed == [[], [SAID], ["The kiosk deploys itself at night."]]
    assert (odd, fixed, nowhere) == ([[]] * 4, [SAID], [])


def test_what_the_model_has_before_it_is_not_said_again(path: Path) -> None:
    with serving(path) as host:
        host.greet()
        message = {"messageId": "m1", "content": "When may we deploy to production?"}
        first = host.ask("conversation/userMessage", message)
        [memory] = first["result"]["structuredContext"]["memories"]
        again = host.ask("conversation/userMessage", {**message, "alreadyInContext": [memory["id"]]})
        other = host.ask("conversation/userMessage", {**message, "alreadyInContext": ["another"]})
    assert (shown(again), len(shown(other))) == ([], 1)


def test_the_room_that_the_client_has_is_kept_to(path: Path) -> None:
    other = "Maria approves what goes to production."
    with MemoryStore(path) as store:
        store.remember(text=other, project="harbor", created="2026-02-01", source="minutes")
    message = {"messageId": "m1", "content": "When may we deploy to production, and who approves it?"}

    def asked(host: Host, **budget: int) -> list[str]:
        return sorted(
            one[0] for one in shown(host.ask("conversation/userMessage", {**message, "budget": budget}))
        )

    with serving(path) as host:
        host.greet()
        both, one = asked(host), asked(host, maxItems=1)
        room = asked(host, maxBytes=len(SAID) + len(other) - 1)
        none = asked(host, maxBytes=10)
    assert both == sorted((SAID, other))
    assert (len(one), len(room), none) == (1, 1, [])


def test_the_tools_work_and_their_errors_are_results(path: Path) -> None:
    with serving(path) as host:
        host.greet()
        tools = host.ask("tools/list", {})["result"]["tools"]
        told = {"name": "remember", "arguments": {"text": "Cranes are yellow."}}
        made = host.ask("tools/call", told)["result"]["structuredContent"]
        found = host.ask("tools/call", {"name": "recall", "arguments": {"query": "cranes"}})
        gone = host.ask("tools/call", {"name": "forget", "arguments": {"id": [made["id"]]}})
        wrong = host.ask("tools/call", {"name": "recall", "arguments": {}})["result"]
    assert [tool["name"] for tool in tools] == ["remember", "recall", "forget", "list"]
    recalled = found["result"]["structuredContent"]["memories"]
    assert [one["content"] for one in recalled] == ["Cranes are yellow."]
    assert gone["result"]["structuredContent"] == {"forgotten": [made["id"]], "verified": True}
    assert (wrong["isError"], "`query` must be" in wrong["content"][0]["text"]) == (True, True)


def test_the_literal_form_is_answered_by_a_notification(path: Path) -> None:
    with serving(path) as host:
        host.greet()
        message = {"messageId": "m1", "content": "When may we deploy to production?"}
        host.tell("conversation/userMessage", message)
        answer = host.read()
    assert (answer["method"], answer["params"]["messageId"]) == ("conversation/context", "m1")
    assert [one["content"] for one in answer["params"]["structuredContext"]["memories"]] == [SAID]


def turns(host: Host) -> list[str]:
    listed = host.ask("tools/call", {"name": "list", "arguments": {}})["result"]["structuredContent"]
    return [memory["text"] for memory in listed["memories"] if memory.get("kind") == "turn"]


def test_what_is_kept_belongs_to_the_project_of_its_conversation(path: Path) -> None:
    message = {"messageId": "m1", "content": "The gate sensors in hall B are replaced every autumn."}
    where = {"conversationId": "c1", "scope": {"project": "kiosk"}}
    answer = "I ordered twelve sensors for hall B."
    response = {"messageId": "m1", "conversationId": "c1", "content": answer}
    with serving(path, "--keep-user", "--keep-assistant", project=None) as host:
        host.greet()
        host.ask("conversation/userMessage", {**message, **where})
        host.tell("conversation/assistantResponse", response)
        kept: list[tuple[str, str]] = []
        with MemoryStore(path, embedder=None) as store:
            while len(kept) < 2:
                kept = [(memory.project, memory.role) for memory in store.list() if memory.kind == "turn"]
                assert host.ask("tools/list", {})
    assert sorted(kept) == [("kiosk", "assistant"), ("kiosk", "user")]


def test_it_keeps_what_it_sees_only_when_told_to(path: Path) -> None:
    message = {"messageId": "m1", "content": "The gate sensors in hall B are replaced every autumn."}
    response = {"messageId": "m1", "content": "I ordered twelve sensors for hall B today."}
    for options, expected in (((), 0), (("--keep-user", "--keep-assistant"), 2)):
        with serving(path, *options) as host:
            offered = host.greet()["extensions"]["dev.tidings/conversation-events"]
            assert offered["onAssistantResponse"] == bool(options)
            host.ask("conversation/userMessage", message)
            if options:
                host.tell("conversation/assistantResponse", response)
            while len(turns(host)) < expected:
                continue
        with MemoryStore(path, embedder=None) as store:
            assert len([memory for memory in store.list() if memory.kind == "turn"]) == expected
