"""The example does what it says, with the SDK's client, in both eras."""

from __future__ import annotations

import asyncio
import sys

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.mcp.emit.raw import DEADLINE, ROOT
from tidings.testing.mcp_assertions import Era, connected

EXAMPLE = ROOT / "examples" / "mcp_server.py"


@pytest.mark.parametrize(
    ("era", "command", "ended"),
    [("legacy", ["true"], "true passed"), ("modern", ["false"], "false failed")],
)
def test_the_build_watcher_tells_how_the_build_ended(era: Era, command: list[str], ended: str) -> None:
    async def go() -> None:
        target = StdioServerParameters(command=sys.executable, args=[str(EXAMPLE), *command])
        async with asyncio.timeout(DEADLINE), connected(target, era=era) as heard:
            await heard.client.call_tool("edited", {"path": "src/lib.rs"})
            await heard.expect(
                body=f"{ended} after the edit of src/lib.rs.",
                tags=["build"],
                dedupe_key="build:status",
                ttl_turns=1,
            )

    asyncio.run(go())
