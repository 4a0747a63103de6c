"""The handshake era over pipes: advertised three ways, kept until a channel is up, sent unasked."""

from __future__ import annotations

import pytest

from tests.mcp.emit.fixture import KINDS, URI, low
from tests.mcp.emit.raw import Frame, Raw
from tests.mcp.emit.test_listen import play
from tidings.mcp import Reminders
from tidings.mcp.names import EXTENSION, METHOD, RESOURCE_UPDATED, SESSION_META, TOOLS_CHANGED

TOLD = {"emit": True, "propagate": ["session", "none"], "roleHints": ["system", "developer"]}


def bodies(frames: list[Frame]) -> list[str]:
    return [frame["params"]["reminder"]["body"] for frame in frames if frame.get("method") == METHOD]


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_to_initialize_advertises_in_all_three_places(kind: str) -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        return await client.handshake()

    capabilities = play(script, KINDS[kind]())["capabilities"]
    assert capabilities["reminders"] == TOLD
    assert capabilities["extensions"] == {EXTENSION: TOLD}
    assert capabilities["_meta"] == {"harn": {"reminders": TOLD}}
    assert capabilities["tools"] == {"listChanged": True}


@pytest.mark.parametrize("kind", KINDS)
def test_discover_advertises_the_extension_and_no_key_of_its_own(kind: str) -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        await client.modern(1, "server/discover")
        return (await client.next())["result"]["capabilities"]

    capabilities = play(script, KINDS[kind](role_hints=("system",), propagate=("none",)))
    told = {"emit": True, "propagate": ["none"], "roleHints": ["system"]}
    assert capabilities["extensions"] == {EXTENSION: told}
    assert "reminders" not in capabilities


def test_what_is_emitted_before_the_handshake_is_done_waits_and_comes_in_order() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        reminders.emit_soon("before anybody came")
        init = {"protocolVersion": "2025-11-25", "capabilities": {}}
        await client.ask(1, "initialize", {**init, "clientInfo": {"name": "raw", "version": "1"}})
        await reminders.emit("between")
        assert reminders.stats.waiting == 2
        await client.ask(2, "tools/list")
        assert bodies(client.seen) == []
        await client.send({"method": "notifications/initialized"})
        await client.until(method=METHOD)
        await client.until(method=METHOD)
        await reminders.emit("after")
        await client.until(method=METHOD)
        return client.seen

    assert bodies(play(script)) == ["before anybody came", "between", "after"]


def test_a_second_initialized_changes_nothing() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.handshake()
        await client.send({"method": "notifications/initialized"})
        await client.ask(2, "ping")
        await reminders.emit("once")
        await client.ask(3, "ping")
        return client.seen

    assert bodies(play(script)) == ["once"]


def test_a_client_that_declared_nothing_is_told_as_well() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.handshake(declare=False)
        await client.ask(2, "ping")
        await reminders.emit("tolerate me")
        await client.until(method=METHOD)
        return client.seen

    assert bodies(play(script)) == ["tolerate me"]


def test_a_changed_resource_is_told_to_those_who_subscribed_and_only_then() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.handshake()
        await client.ask(2, "resources/subscribe", {"uri": URI})
        await reminders.emit("lib.rs changed", resource=URI)
        await reminders.emit("another changed", resource="file:///other")
        await client.ask(3, "resources/unsubscribe", {"uri": URI})
        await reminders.emit("lib.rs changed again", resource=URI)
        await client.ask(4, "ping")
        return [
            (frame["method"], frame["params"].get("uri") or frame["params"]["reminder"]["body"])
            for frame in client.seen
            if "method" in frame
        ]

    assert play(script) == [
        (RESOURCE_UPDATED, URI),
        (METHOD, "lib.rs changed"),
        (METHOD, "another changed"),
        (METHOD, "lib.rs changed again"),
    ]


def test_a_changed_list_is_told() -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        await client.handshake()
        await client.ask(2, "ping")
        reminders.list_changed("tools")
        return await client.until(method=TOOLS_CHANGED)

    assert play(script, low()) == {"method": TOOLS_CHANGED, "params": {}}


def test_the_one_client_of_a_pipe_gets_reminders_for_each_of_its_conversations() -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        await client.handshake()
        await client.ask(2, "ping")
        await reminders.emit("for s1", session="s1")
        return (await client.until(method=METHOD))["params"]["_meta"]

    assert play(script) == {SESSION_META: "s1"}
