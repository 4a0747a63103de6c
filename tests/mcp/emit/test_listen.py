"""`subscriptions/listen` over real pipes, frame by frame."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.mcp.emit.fixture import KINDS, URI, high, low
from tests.mcp.emit.raw import DEADLINE, Frame, Raw, piped
from tidings.mcp import Reminders
from tidings.mcp.names import (
    ACKNOWLEDGED,
    EXTENSION,
    METHOD,
    RESOURCE_UPDATED,
    SESSION_META,
    SUBSCRIPTION_META,
    TOOLS_CHANGED,
)

Play = Callable[[Raw, Reminders], Awaitable[Any]]
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def play(script: Play, reminders: Reminders | None = None) -> Any:
    """Run `script` with a client of a server in this process."""

    async def go() -> Any:
        server = reminders or high()
        async with asyncio.timeout(DEADLINE), piped(server) as client:
            return await script(client, server)

    return asyncio.run(go())


def brief(frame: Frame) -> tuple[object, object, object]:
    """Method, subscription, and what is told."""
    params = frame["params"]
    told = params.get("reminder", {}).get("body") or params.get("uri")
    return frame["method"], params["_meta"][SUBSCRIPTION_META], told


@pytest.mark.parametrize("id", [1, "1", 0, "a b", 2**40])
def test_a_stream_begins_with_its_acknowledgement_and_carries_its_id_verbatim(id: int | str) -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        reminders.emit_soon("before it listened")
        first = await client.listen(id, {EXTENSION: {"session": "s1"}})
        await reminders.emit("after")
        await client.next()
        await client.next()
        return first

    async def whole(client: Raw, reminders: Reminders) -> list[Frame]:
        await script(client, reminders)
        return client.seen

    first, *others = play(whole)
    assert first == {
        "method": ACKNOWLEDGED,
        "params": {"notifications": {EXTENSION: {"session": "s1"}}, "_meta": {SUBSCRIPTION_META: id}},
    }
    assert [brief(frame) for frame in others] == [
        (METHOD, id, "before it listened"),
        (METHOD, id, "after"),
    ]
    assert [frame["params"]["_meta"] for frame in others] == [
        {SESSION_META: "s1", SUBSCRIPTION_META: id},
        {SESSION_META: "s1", SUBSCRIPTION_META: id},
    ]


def test_the_ids_1_and_text_1_are_two_streams() -> None:
    async def script(client: Raw, reminders: Reminders) -> set[object]:
        await client.listen(1, {EXTENSION: {}})
        await client.listen("1", {EXTENSION: {}})
        await reminders.emit("to both")
        return {brief(await client.next())[1:] for _ in range(2)}

    assert play(script) == {(1, "to both"), ("1", "to both")}


def test_nothing_reaches_a_stream_that_did_not_ask_for_it() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.listen(1, {"promptsListChanged": True})
        await client.listen(2, {"resourceSubscriptions": [URI]})
        await reminders.emit("nobody asked", resource="file:///other")
        reminders.list_changed("tools")
        reminders.list_changed("resources")
        reminders.list_changed("prompts")
        reminders.resource_updated(URI)
        await reminders.aclose()
        await client.until(id=2)
        await client.modern(9, "server/discover")
        await client.until(id=9)
        return [frame for frame in client.seen[2:] if "method" in frame]

    assert {brief(frame) for frame in play(script)} == {
        ("notifications/prompts/list_changed", 1, None),
        (RESOURCE_UPDATED, 2, URI),
    }


def test_a_reminder_for_one_conversation_reaches_only_its_stream() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.listen(1, {EXTENSION: {"session": "s1"}})
        await client.listen(2, {EXTENSION: {"session": "s2"}})
        await client.listen(3, {EXTENSION: {}})
        await reminders.emit("for two", session="s2")
        await reminders.emit("for all")
        return sorted([brief(await client.next())[1:] for _ in range(4)])

    assert play(script) == [(1, "for all"), (2, "for all"), (2, "for two"), (3, "for all")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_did_not_declare_the_extension_is_told_what_to_declare(kind: str) -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        return await client.listen(1, {EXTENSION: {}, "toolsListChanged": True}, declare=False)

    error = play(script, KINDS[kind]())["error"]
    assert (error["code"], error["data"]) == (
        -32021,
        {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    )


def test_a_client_without_the_extension_gets_the_core_kinds_and_no_reminder() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.listen(1, {"toolsListChanged": True}, declare=False)
        await reminders.emit("not for it")
        reminders.list_changed("tools")
        return [brief(await client.next())]

    assert play(script) == [(TOOLS_CHANGED, 1, None)]


@pytest.mark.parametrize(
    ("make", "honoured"),
    [
        (high, {**EVERYTHING, "resourceSubscriptions": [URI], EXTENSION: {}}),
        (low, {"toolsListChanged": True, EXTENSION: {}}),
    ],
)
def test_the_acknowledgement_leaves_out_what_the_server_does_not_serve(
    make: Callable[[], Reminders], honoured: Frame
) -> None:
    asked = {**EVERYTHING, "resourceSubscriptions": [URI], EXTENSION: True, "com.example/other": {}}

    async def script(client: Raw, reminders: Reminders) -> Frame:
        frame = await client.listen(1, asked)
        return frame["params"]["notifications"]

    assert play(script, make()) == honoured


def test_what_the_server_publishes_on_the_bus_of_the_sdk_comes_on_the_same_stream() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.listen("s", {"toolsListChanged": True, "resourceSubscriptions": [URI], EXTENSION: {}})
        await client.tool(2, "change", modern=True)
        await reminders.emit("and ours")
        while len([frame for frame in client.seen if "method" in frame]) < 4:
            await client.next()
        return [brief(frame) for frame in client.seen[1:] if "method" in frame]

    assert sorted(map(str, play(script))) == sorted(
        map(
            str,
            [(TOOLS_CHANGED, "s", None), (RESOURCE_UPDATED, "s", URI), (METHOD, "s", "and ours")],
        )
    )


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"toolsListChanged": "yes"}, ""),
        ({EXTENSION: ["s1"]}, f"`notifications['{EXTENSION}']` must be an object"),
        ({EXTENSION: {"session": 7}}, f"`notifications['{EXTENSION}']` must be an object"),
    ],
)
def test_a_filter_of_the_wrong_kind_is_refused(asked: Frame, named: str) -> None:
    async def script(client: Raw, reminders: Reminders) -> Frame:
        return await client.listen(1, asked)

    error = play(script)["error"]
    assert error["code"] == -32602
    assert named in error["message"]


def test_one_stream_too_many_is_refused_and_room_comes_back() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        await client.listen(1, {EXTENSION: {}})
        refused = await client.listen(2, {EXTENSION: {}})
        await client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        while True:
            again = await client.listen(3, {EXTENSION: {}})
            if "method" in again:
                return [refused["error"]["code"], again["params"]["_meta"][SUBSCRIPTION_META]]

    assert play(script, high(most_streams=1)) == [-32603, 3]


def test_after_the_client_cancelled_there_is_silence_for_that_id() -> None:
    async def script(client: Raw, reminders: Reminders) -> tuple[list[object], int]:
        await client.listen(1, {EXTENSION: {}})
        await client.listen(2, {EXTENSION: {}})
        cancel = {"requestId": 1, "reason": "enough"}
        await client.send({"method": "notifications/cancelled", "params": cancel})
        await client.modern(3, "server/discover")
        await client.until(id=3)
        seen = len(client.seen)
        await reminders.emit("after the cancel")
        await reminders.aclose()
        await client.until(id=2)
        return [brief(frame) for frame in client.seen[seen:-1]], reminders.stats.streams

    assert play(script) == ([(METHOD, 2, "after the cancel")], 0)


@pytest.mark.parametrize(
    "params",
    [None, {}, {"requestId": None}, {"requestId": 77}, {"requestId": "late"}, {"requestId": {"id": 1}}],
)
def test_a_cancel_that_is_invalid_unknown_or_late_changes_nothing(params: Frame | None) -> None:
    async def script(client: Raw, reminders: Reminders) -> tuple[object, object]:
        await client.listen(1, {EXTENSION: {}})
        message: Frame = {"method": "notifications/cancelled"}
        await client.send(message if params is None else {**message, "params": params})
        await client.modern("late", "server/discover")
        await client.until(id="late")
        await client.send({"method": "notifications/cancelled", "params": {"requestId": "late"}})
        await reminders.emit("still here")
        return brief(await client.next())

    assert play(script) == (METHOD, 1, "still here")


def test_the_server_ends_a_stream_with_what_waited_and_its_result() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.listen("x", {EXTENSION: {}})
        reminders.emit_soon("the last one")
        assert await reminders.aclose()
        await client.until(id="x")
        return client.seen[1:]

    last, result = play(script)
    assert brief(last) == (METHOD, "x", "the last one")
    assert result["result"].pop("_meta")[SUBSCRIPTION_META] == "x"
    assert result == {"id": "x", "result": {"resultType": "complete"}}


def test_the_draft_profile_writes_ids_as_text_and_ends_with_cancelled_and_no_result() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[Frame]:
        await client.listen(7, {EXTENSION: {}})
        await reminders.emit("drafted")
        await reminders.aclose()
        await client.modern(8, "server/discover")
        await client.until(id=8)
        return client.seen[:-1]

    acknowledged, reminder, cancelled = play(script, high(profile="draft-2026-06"))
    assert acknowledged["params"]["_meta"] == {SUBSCRIPTION_META: "7"}
    assert reminder["params"]["_meta"] == {SUBSCRIPTION_META: "7"}
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", 7)


def test_waiting_reminders_with_one_key_become_the_newest() -> None:
    async def script(client: Raw, reminders: Reminders) -> list[object]:
        for body in ("first", "second", "third"):
            reminders.emit_soon(body, dedupe_key="build")
            reminders.emit_soon(f"{body}, addressed", dedupe_key="build", session="s1")
        await client.listen(1, {EXTENSION: {"session": "s1"}})
        await reminders.aclose()
        await client.until(id=1)
        return [brief(frame)[2] for frame in client.seen[1:-1]]

    assert play(script) == ["third", "third, addressed"]
