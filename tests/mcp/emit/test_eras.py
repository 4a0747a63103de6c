"""A reminder reaches the SDK's own client, in both eras, on every transport, from both kinds of server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters

from tests.mcp.emit.fixture import KINDS
from tests.mcp.emit.raw import DEADLINE, ROOT
from tidings.mcp import serving
from tidings.mcp.names import SESSION_META, SUBSCRIPTION_META
from tidings.testing.mcp_assertions import Era, connected

REMINDER = {
    "body": "src/lib.rs changed externally; re-read it before editing.",
    "tags": ["workspace", "file_changed"],
    "dedupe_key": "file_changed:src/lib.rs",
    "ttl_turns": 2,
    "role_hint": "developer",
    "propagate": "none",
    "meta": {"correlationId": "c1"},
}
ON_THE_WIRE = {
    "body": "src/lib.rs changed externally; re-read it before editing.",
    "tags": ["workspace", "file_changed"],
    "dedupeKey": "file_changed:src/lib.rs",
    "ttlTurns": 2,
    "preserveOnCompact": False,
    "propagate": "none",
    "roleHint": "developer",
}


@asynccontextmanager
async def served(where: str, kind: str) -> AsyncIterator[Any]:
    """What the SDK's client connects to."""
    if where == "stdio":
        arguments = ["-m", "tests.mcp.emit.fixture", kind, "stdio"]
        yield StdioServerParameters(command=sys.executable, args=arguments, cwd=str(ROOT))
        return
    reminders = KINDS[kind]()
    if where == "in process":
        yield reminders.server
        return
    async with serving(reminders.server, deadline=2) as url:
        yield url


async def one_reminder(where: str, kind: str, era: Era) -> tuple[dict[str, Any], str]:
    """The params that a client of the server gets, and the id that the server says it emitted."""
    async with (
        asyncio.timeout(DEADLINE),
        served(where, kind) as target,
        connected(target, era=era, session="s1") as heard,
    ):
        result = await heard.client.call_tool("emit", {"reminder": REMINDER})
        await heard.next()
        await heard.expect_nothing_more()
        return heard.params[0], result.content[0].text


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["in process", "http", "stdio"])
def test_a_reminder_arrives_with_exactly_these_params(where: str, kind: str, era: Era) -> None:
    params, name = asyncio.run(one_reminder(where, kind, era))
    meta: dict[str, object] = {"correlationId": "c1"}
    if era == "modern":
        meta |= {SUBSCRIPTION_META: 1, SESSION_META: "s1"}
    assert params == {"reminder": {"id": name, **ON_THE_WIRE}, "_meta": meta}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_transport_of_the_sdk_delivers_too(era: Era) -> None:
    async def go() -> list[str]:
        arguments = ["-m", "tests.mcp.emit.fixture", "high", "sdk-stdio"]
        target = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(ROOT))
        async with asyncio.timeout(DEADLINE), connected(target, era=era) as heard:
            await heard.client.call_tool("emit", {"reminder": {"body": "built"}})
            await heard.expect(body="built")
            return [str(one["body"]) for one in heard.reminders]

    assert asyncio.run(go()) == ["built"]


@pytest.mark.parametrize("kind", KINDS)
def test_both_eras_are_served_by_one_server_at_the_same_time(kind: str) -> None:
    async def go() -> tuple[object, object]:
        reminders = KINDS[kind]()
        async with (
            asyncio.timeout(DEADLINE),
            serving(reminders.server, deadline=2) as url,
            connected(url, era="legacy") as old,
            connected(url, era="modern") as new,
        ):
            await reminders.emit("one for all")
            await old.expect(body="one for all")
            await new.expect(body="one for all")
            return old.reminders, new.reminders

    old, new = asyncio.run(go())
    assert old == new
