"""Every frame that a server of ours writes is one that the SDK's types and the official schemas know."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp_types import methods

from tests.mcp.emit.fixture import URI, high
from tests.mcp.emit.raw import DEADLINE, Frame, Raw, envelope, piped
from tidings.mcp import Reminders
from tidings.mcp.names import ACKNOWLEDGED, EXTENSION, LEGACY, METHOD, MODERN

SCHEMAS = Path(__file__).parents[4] / "shared" / "schemas"


async def legacy(client: Raw, reminders: Reminders) -> None:
    """A conversation of the handshake era with one of everything."""
    await client.handshake(declare=False)
    await client.ask(2, "resources/subscribe", {"uri": URI})
    await reminders.emit("changed", tags=["a"], dedupe_key="k", ttl_turns=1, resource=URI, session="s1")
    await reminders.emit("for the next result")
    reminders.list_changed("tools")
    meta = {"_meta": {"progressToken": 1}}
    await client.ask("c", "tools/call", {"name": "count", "arguments": {}, **meta})
    await client.ask(3, "tools/list")
    await client.send(b'{"id": 5, "method": "ping"}')
    await client.until(id=5)


async def modern(client: Raw, reminders: Reminders) -> None:
    """A conversation of the stateless era with one of everything."""
    everything = {"toolsListChanged": True, "resourceSubscriptions": [URI], EXTENSION: {"session": "s1"}}
    await client.listen(1, everything)
    await client.listen("two", {EXTENSION: {}}, declare=False)
    await reminders.emit("changed", tags=["a"], dedupe_key="k", ttl_turns=1, resource=URI, session="s1")
    await reminders.emit("for the next result")
    reminders.list_changed("tools")
    meta = {"_meta": {**envelope(declare=False), "progressToken": 1}}
    await client.ask("c", "tools/call", {"name": "count", "arguments": {}, **meta})
    await client.modern(3, "tools/list")
    await client.until(id=3)
    await client.modern(4, "server/discover")
    await client.until(id=4)
    await reminders.aclose()
    await client.until(id=1)


CONVERSATIONS = {LEGACY: legacy, MODERN: modern}
ASKED = {
    LEGACY: {"init": "initialize", 2: "resources/subscribe", "c": "tools/call", 3: "tools/list"},
    MODERN: {1: "subscriptions/listen", "c": "tools/call", 3: "tools/list", 4: "server/discover"},
}
RESULTS = {
    "initialize": "InitializeResult",
    "resources/subscribe": "EmptyResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}


@cache
def frames(version: str) -> tuple[str, ...]:
    """The lines of a conversation, without their `jsonrpc`."""

    async def go() -> tuple[str, ...]:
        reminders = high(in_tool_results=True)
        async with asyncio.timeout(DEADLINE), piped(reminders) as client:
            await CONVERSATIONS[version](client, reminders)
            return tuple(json.dumps(frame) for frame in client.seen)

    return asyncio.run(go())


def seen(version: str) -> list[Frame]:
    return [{"jsonrpc": "2.0", **json.loads(line)} for line in frames(version)]


@pytest.mark.parametrize("version", CONVERSATIONS)
def test_the_conversations_hold_one_of_everything(version: str) -> None:
    told = {frame.get("method", "answer" if "result" in frame else "refusal") for frame in seen(version)}
    core = {"notifications/tools/list_changed", "notifications/resources/updated", "notifications/progress"}
    assert told == {*core, METHOD, "answer", "refusal"} | ({ACKNOWLEDGED} if version == MODERN else set())
    assert any("Not part of this tool's result" in line for line in frames(version))


@pytest.mark.parametrize("version", CONVERSATIONS)
def test_the_types_of_the_sdk_read_every_frame(version: str) -> None:
    for frame in seen(version):
        types.jsonrpc_message_adapter.validate_python(frame, by_name=False)
        if "result" in frame:
            methods.validate_server_result(ASKED[version][frame["id"]], version, frame["result"])
        elif frame.get("method") not in (None, METHOD):
            methods.parse_server_notification(frame["method"], version, frame["params"])


@pytest.mark.parametrize("version", CONVERSATIONS)
def test_the_official_schema_knows_every_frame(version: str) -> None:
    path = SCHEMAS / f"mcp-{version}.json"
    if not path.exists():
        pytest.skip(f"the official schema {path.name} is not beside the project (shared/schemas)")
    schema = json.loads(path.read_text())

    def check(value: Any, name: str) -> None:
        Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}).validate(value)

    for frame in seen(version):
        check(frame, "JSONRPCMessage")
        if "result" in frame:
            check(frame["result"], RESULTS[ASKED[version][frame["id"]]])
        elif "error" in frame:
            is_missing = frame["error"]["code"] == -32021
            check(frame, "MissingRequiredClientCapabilityError" if is_missing else "JSONRPCErrorResponse")
        elif frame["method"] != METHOD:
            check(frame, "ServerNotification")
