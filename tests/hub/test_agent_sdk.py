"""The callbacks of the Claude Agent SDK, with events as the real ones are, against a hub that runs."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.hub.desks import DEADLINE
from tests.hub.running import place_in, running_in
from tidings.core.reminder import Payload
from tidings.errors import CallerError
from tidings.hosts.voice import OPENING
from tidings.hosts.writes import written
from tidings.hub import agent_sdk
from tidings.hub.client import ask

PAYLOADS = Path(__file__).parent.parent / "hosts" / "payloads" / "claude-code"
NEWS = "The build is red."


@dataclass
class HookMatcher:
    """As the SDK has it."""

    matcher: str | None = None
    hooks: list[Any] = field(default_factory=list)
    timeout: float | None = None


@dataclass
class ClaudeAgentOptions:
    """As the SDK has it, without most of it."""

    model: str = "m"
    hooks: dict[str, list[HookMatcher]] | None = None


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is too large to be installed for this."""
    module = ModuleType("claude_agent_sdk")
    vars(module)["HookMatcher"] = HookMatcher
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", module)


def recorded(name: str) -> Payload:
    told: Payload = json.loads((PAYLOADS / f"{name}.json").read_text())
    return told


async def remind(socket: str, **more: object) -> None:
    await ask(socket, "hub/remind", {"body": NEWS, "to": {"workspace": "/workspace"}, **more})


def test_news_that_come_during_a_run_are_in_the_answer_after_its_tools_and_once(tmp_path: Path) -> None:
    place = place_in(tmp_path)

    async def script() -> list[Payload]:
        answer = agent_sdk.callback(place.socket)
        async with asyncio.timeout(DEADLINE), running_in(place):
            answers = [await answer(recorded("UserPromptSubmit"), None, {"signal": None})]
            await remind(place.socket)
            for name in ("PreToolUse", "PostToolBatch", "Stop"):
                answers.append(await answer(recorded(name), "toolu_1_0", {"signal": None}))
        return answers

    text = f"{OPENING}\n\nReminder:\n{NEWS}"
    told = {"hookEventName": "PostToolBatch", "additionalContext": text}
    assert asyncio.run(script()) == [{}, {}, {"hookSpecificOutput": told}, {}]


def test_an_interrupt_declines_the_call(tmp_path: Path) -> None:
    place = place_in(tmp_path)

    async def script() -> Payload:
        answer = agent_sdk.callback(place.socket)
        async with asyncio.timeout(DEADLINE), running_in(place):
            await answer(recorded("UserPromptSubmit"), None, {"signal": None})
            await remind(place.socket, mode="interrupt_immediate")
            return await answer(recorded("PreToolUse"), "toolu_1_0", {"signal": None})

    output = asyncio.run(script())["hookSpecificOutput"]
    assert isinstance(output, dict)
    assert output["permissionDecision"] == "deny"


@pytest.mark.parametrize("name", sorted(path.stem for path in PAYLOADS.glob("*.json")))
def test_without_a_hub_every_event_is_answered_with_nothing(tmp_path: Path, name: str) -> None:
    answer = agent_sdk.callback(str(tmp_path / "no.socket"))

    async def script() -> Payload:
        async with asyncio.timeout(DEADLINE):
            return await answer(recorded(name), None, {"signal": None})

    assert asyncio.run(script()) == {}


def test_a_hub_that_refuses_or_forgets_the_answer_changes_nothing(tmp_path: Path) -> None:
    async def script(line: bytes) -> Payload:
        path = str(tmp_path / f"{len(line)}.socket")

        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(line)
            writer.close()

        async with asyncio.timeout(DEADLINE), await asyncio.start_unix_server(reply, path):
            return await agent_sdk.callback(path)(recorded("Stop"), None, {"signal": None})

    refusal = b'{"jsonrpc":"2.0","id":"tidings","error":{"code":-32601,"message":"no such method"}}\n'
    empty = b'{"jsonrpc":"2.0","id":"tidings","result":{}}\n'
    odd = b'{"jsonrpc":"2.0","id":"tidings","result":{"answer":"yes"}}\n'
    for line in (refusal, empty, odd, b"no answer\n", b""):
        assert asyncio.run(script(line)) == {}


def test_the_hub_is_not_told_what_tools_and_people_said() -> None:
    batch = recorded("PostToolBatch")
    assert agent_sdk.outline(batch) == {
        "session_id": batch["session_id"],
        "hook_event_name": "PostToolBatch",
        "cwd": "/workspace",
        "transcript_path": batch["transcript_path"],
        "tool_calls": [
            {"tool_use_id": "toolu_1_0", "tool_name": "Bash", "tool_input": {}},
            {"tool_use_id": "toolu_1_1", "tool_name": "Bash", "tool_input": {}},
        ],
    }
    assert "prompt" not in agent_sdk.outline(recorded("UserPromptSubmit"))
    assert {"tool_input", "tool_response"} & agent_sdk.outline(recorded("PostToolUse")).keys() == set()


def test_the_hub_is_told_where_a_tool_wrote_so_that_its_own_edit_is_no_news() -> None:
    change = {"file_path": "/workspace/a.py", "old_string": "secret", "new_string": "also secret"}
    call = {"tool_name": "Edit", "tool_input": change, "tool_use_id": "toolu_1", "tool_response": "done"}
    told = agent_sdk.outline({**recorded("PostToolBatch"), "tool_calls": [call]})
    assert told["tool_calls"] == [
        {"tool_use_id": "toolu_1", "tool_name": "Edit", "tool_input": {"file_path": "/workspace/a.py"}}
    ]
    assert written("claude-code", told) == ("/workspace/a.py",)
    single = agent_sdk.outline({**recorded("PostToolUse"), **call})
    assert (single["tool_input"], single["tool_response"]) == ({"file_path": "/workspace/a.py"}, "")
    assert written("claude-code", single) == ("/workspace/a.py",)


def test_our_callbacks_stand_beside_those_that_are_there(sdk: None) -> None:
    theirs = HookMatcher(matcher="Bash", hooks=["theirs"])
    options = ClaudeAgentOptions(hooks={"PreToolUse": [theirs], "Notification": [theirs]})
    connected = agent_sdk.connect(options)
    assert (options.hooks, connected.model) == ({"PreToolUse": [theirs], "Notification": [theirs]}, "m")
    assert connected.hooks is not None
    assert connected.hooks["PreToolUse"][0] is theirs
    assert connected.hooks["Notification"] == [theirs]
    ours = {name: matchers[-1] for name, matchers in connected.hooks.items() if name != "Notification"}
    assert set(ours) == set(agent_sdk.HEARD)
    assert {(each.timeout, len(each.hooks)) for each in ours.values()} == {(agent_sdk.CALLBACK_SECONDS, 1)}
    assert {name: each.matcher for name, each in ours.items() if each.matcher is not None} == {
        "PostToolUse": "Edit|MultiEdit|Write|NotebookEdit"
    }


def test_options_without_hooks_get_ours(sdk: None) -> None:
    connected = agent_sdk.connect(ClaudeAgentOptions())
    assert connected.hooks is not None
    assert tuple(connected.hooks) == agent_sdk.HEARD


def test_without_the_sdk_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    with pytest.raises(CallerError, match=r"pip install 'tidings\[claude\]'"):
        agent_sdk.connect(ClaudeAgentOptions())
