"""The Inspector's command line client calls a tool of a server of ours that emits reminders.

It prints the result of one call and no notification: what it can show of a reminder is the block that
`in_tool_results` adds.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.interop.agents import Room, node
from tests.interop.client import run_command
from tests.interop.conftest import need
from tests.interop.install import ROOT, installed
from tests.interop.mcp_peers import target

PACKAGE = "@modelcontextprotocol/inspector"
WHAT = "the build failed"
PEERS = [f"{transport} {era}" for transport in ("stdio", "http") for era in ("legacy", "auto", "modern")]


@pytest.fixture(autouse=True)
def package() -> None:
    need(PACKAGE)


async def called(room: Room, peer: str, *options: str) -> list[dict[str, Any]]:
    """The content of the tool's result; anything on stderr fails the test."""
    transport, era = peer.split()
    launcher = installed()[PACKAGE].path / "clients" / "launcher" / "build" / "index.js"
    reach = ("-e", f"PYTHONPATH={ROOT}") if transport == "stdio" else ()
    asked = (*reach, "--protocol-era", era, "--method", "tools/call", "--tool-name", "report", "--tool-arg")
    async with target(room, transport, *options) as where:
        command = [str(node()), str(launcher), "--cli", *where, *asked, f"what={WHAT}", "--format", "json"]
        printed = await run_command(command, room, quiet=True)
    content: list[dict[str, Any]] = msgspec.json.decode(printed)["result"]["content"]
    return content


@pytest.mark.parametrize("peer", PEERS)
def test_shows_the_reminder_as_a_block_of_the_tools_result(peer: str, room: Room) -> None:
    answer, block = asyncio.run(called(room, peer, "shown"))
    assert block["_meta"] == {"dev.tidings/reminders": {"reminders": [answer["text"]]}}
    assert block["text"].splitlines()[1:] == [f"> {WHAT}"]


@pytest.mark.parametrize("peer", PEERS)
def test_takes_a_reminder_that_it_does_not_know_in_silence(peer: str, room: Room) -> None:
    content = asyncio.run(called(room, peer))
    assert [block["type"] for block in content] == ["text"]
