"""The SDK's own client against our agent, over a socket in this process."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, connect_to_agent
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    Implementation,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)

import tidings as td
from tests.acp.agent.wire import TAKES_UPDATES, play
from tests.bridge.served import DEADLINE, folder, settings
from tidings.acp.agent.serve import serve
from tidings.agent.models.scripted import call
from tidings.bridge.served.run import Settings


class Client:
    """A client of the SDK: keeps the updates that its models accepted, and allows everything once."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[str | None] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call.title)
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(option_id=chosen.option_id, outcome="selected")
        return RequestPermissionResponse(outcome=outcome)

    def kinds(self) -> list[str]:
        return [update.session_update for update in self.updates]


@asynccontextmanager
async def connected(given: Settings, client: Client, heard: list[StreamEvent]) -> AsyncIterator[Any]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    their_reader, their_writer = await asyncio.open_connection(sock=theirs)

    async def read() -> bytes:
        return await reader.read(1 << 16)

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    serving = asyncio.ensure_future(serve(read, write, given))
    connection = connect_to_agent(
        client,  # type: ignore[arg-type]  # no terminals and files: the agent asks for none
        their_writer,
        their_reader,
        use_unstable_protocol=True,
        observers=[heard.append],
    )
    try:
        yield connection
    finally:
        their_writer.close()
        async with asyncio.timeout(DEADLINE):
            await serving
            await connection.close()
        writer.close()


@pytest.mark.parametrize("takes_updates", [False, True])
def test_the_sdks_client_runs_a_whole_session(takes_updates: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        client, heard = Client(), list[StreamEvent]()
        model = td.ScriptedModel([call("write_file", path="a.txt", content="x"), "Written."])
        async with connected(settings(model), client, heard) as agent:
            capabilities = TAKES_UPDATES if takes_updates else {}
            hello = await agent.initialize(
                protocol_version=PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities.model_validate(capabilities),
                client_info=Implementation(name="sdk", version="1"),
            )
            assert hello.agent_capabilities.field_meta["harn"]["reminders"]["inject"] is True
            opened = await agent.new_session(cwd=folder(tmp_path), mcp_servers=[])
            told = await agent.ext_method(
                "session/inject_reminder",
                {"sessionId": opened.session_id, "body": "mind the gap", "ttlTurns": 1},
            )
            assert told["dedupedCount"] == 0
            await agent.set_session_mode(session_id=opened.session_id, mode_id="ask")
            block = TextContentBlock(type="text", text="Write it.")
            ended = await agent.prompt(session_id=opened.session_id, prompt=[block])
            assert ended.stop_reason == "end_turn"
            listed = await agent.list_sessions()
            assert [each.session_id for each in listed.sessions] == [opened.session_id]
            await agent.load_session(session_id=opened.session_id, cwd=folder(tmp_path), mcp_servers=[])
            await agent.close_session(session_id=opened.session_id)
        assert client.asked == ["Write a.txt"]
        assert "mind the gap" in json.dumps(model.requests[0])
        own = {"reminder_emitted", "reminder_expired"}
        raw = [e.message for e in heard if e.direction is StreamDirection.INCOMING]
        kinds = {m["params"]["update"]["sessionUpdate"] for m in raw if m.get("method") == "session/update"}
        assert kinds & own == (own if takes_updates else set())
        if not takes_updates:
            carried = [u.field_meta["harn"]["reminders"] for u in client.updates if u.field_meta]
            assert [one["reminderId"] for news in carried for one in news] == [told["reminderId"]] * 2
            assert len(client.updates) == len([m for m in raw if m.get("method") == "session/update"])

    play(scene)


def test_the_sdks_client_is_told_what_is_wrong_and_never_null(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(settings(td.ScriptedModel([])), Client(), []) as agent:
            await agent.initialize(protocol_version=PROTOCOL_VERSION)
            for method, code in (("unknown/thing", -32601), ("session/remind", -32602)):
                with pytest.raises(RequestError) as refused:
                    await agent.ext_method(method, {})
                assert refused.value.code == code
            with pytest.raises(RequestError) as refused:
                await agent.new_session(cwd="relative", mcp_servers=[])
            assert (refused.value.code, refused.value.data) == (-32602, {"field": "cwd"})

    play(scene)
