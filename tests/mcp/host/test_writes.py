"""What the agent writes is told to the servers whose config says so, and to nobody else."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import tidings as td
from tests.mcp.host.running import ALLOW, DEADLINE, Stage, fake, play, received
from tidings.agent.port import ToolCall
from tidings.agent.tools.dispatch import Dispatcher
from tidings.agent.tools.tool import ToolContext
from tidings.mcp.config import ConfigError, read_config
from tidings.mcp.host import writes

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])


async def write(stage: Stage, root: Path, *names: str) -> list[str]:
    """Write these files as an agent does; gives what its tools answered."""
    tools = stage.servers.heard(td.workspace_tools(root), root)
    calls = [ToolCall(name, "write_file", {"path": name, "content": f"in {name}"}) for name in names]
    receipts = await Dispatcher(tools, approval=ALLOW, deadline=DEADLINE).dispatch(calls)
    return [receipt.outcome.text for receipt in receipts]


def told(log: Path) -> list[Any]:
    calls = [one["params"] for one in received(log) if one.get("method") == "tools/call"]
    return [write for call in calls for write in call["arguments"]["writes"]]


@BOTH
def test_a_server_with_own_writes_is_told_path_and_hash_before_the_call_comes_back(
    tmp_path: Path, era: str
) -> None:
    log, root = tmp_path / "log", tmp_path / "root"
    root.mkdir()

    async def scene(stage: Stage) -> list[Any]:
        await write(stage, root, "a.txt", "sub/b.txt")
        return told(log)

    found = play(scene, fake({"era": era, "own_writes": "take"}, log=log, own_writes=True))
    assert found == [
        {"path": str(root / name), "sha256": sha256(f"in {name}".encode()).hexdigest()}
        for name in ("a.txt", "sub/b.txt")
    ]


@BOTH
def test_a_server_without_it_is_not_told_a_byte_though_it_offers_the_tool(tmp_path: Path, era: str) -> None:
    log, root = tmp_path / "log", tmp_path / "root"
    root.mkdir()

    async def scene(stage: Stage) -> list[str]:
        await write(stage, root, "private-name.txt")
        return [tool.name for tool in await stage.servers.tools()]

    names = play(scene, fake({"era": era, "own_writes": "take"}, log=log))
    assert "fake__report_own_writes" in names
    assert b"private-name" not in log.read_bytes()


def test_the_model_is_not_offered_the_tool_that_the_host_uses() -> None:
    async def scene(stage: Stage) -> list[str]:
        return [tool.name for tool in await stage.servers.tools()]

    names = play(scene, fake({"own_writes": "take"}, own_writes=True))
    assert "fake__echo" in names
    assert "fake__report_own_writes" not in names


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "it does not offer report_own_writes; start it with --own-writes"),
        ({"own_writes": "refuse"}, "it refused them"),
        ({"own_writes": "silent"}, "it did not answer within 0.05 seconds"),
    ],
)
def test_a_server_that_does_not_take_it_costs_one_record_and_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], why: str
) -> None:
    monkeypatch.setattr(writes, "DEADLINE", 0.05 if settings.get("own_writes") == "silent" else DEADLINE)

    async def scene(stage: Stage) -> tuple[list[str], list[dict[str, Any]]]:
        await stage.servers.tools()
        answers = await write(stage, tmp_path, "a.txt") + await write(stage, tmp_path, "b.txt")
        await stage.until(lambda: "mcp_own_writes" in stage.warnings())
        return answers, stage.records("warning")

    answers, [record] = play(scene, fake(settings, own_writes=True))
    assert answers == ["Created a.txt (8 bytes).", "Created b.txt (8 bytes)."]
    assert record["message"] == f"it does not know what the agent writes: {why}"


def test_a_file_that_is_gone_or_too_large_is_told_without_a_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writes, "LARGEST_HASHED", 3)
    log = tmp_path / "log"

    @td.tool
    def touch(context: ToolContext) -> str:
        """Write two files and lose one."""
        (tmp_path / "large").write_text("four")
        for name in ("large", "gone"):
            context.emit("file_edited", {"path": name, "tool_call_id": context.call_id})
        context.emit("file_edited", {"path": 7})
        context.emit("something_else", {"path": "other"})
        return "done"

    async def scene(stage: Stage) -> list[Any]:
        tools = stage.servers.heard([touch], tmp_path)
        async with asyncio.timeout(DEADLINE):
            await Dispatcher(tools, approval=ALLOW, deadline=DEADLINE).dispatch(
                [ToolCall("c", "touch", {})]
            )
        return told(log)

    found = play(scene, fake({"own_writes": "take"}, log=log, own_writes=True))
    assert found == [{"path": str(tmp_path / "large")}, {"path": str(tmp_path / "gone")}]


def test_the_config_says_who_is_told() -> None:
    def server(**ours: object) -> object:
        return {"mcpServers": {"files": {"command": "tidings", "tidings": ours}}}

    assert [read_config(server(**ours), {})[0].own_writes for ours in ({}, {"own_writes": True})] == [
        False,
        True,
    ]
    with pytest.raises(ConfigError, match="own_writes"):
        read_config(server(own_writes="yes"), {})
