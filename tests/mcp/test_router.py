"""Listen streams: acknowledged first, tagged, filtered, bounded, ended as the profile says."""

from __future__ import annotations

import asyncio

import pytest

from tidings.errors import CallerError
from tidings.mcp.events import (
    CHANGES,
    Event,
    Filter,
    list_changed,
    read_filter,
    reminder_event,
    resource_updated,
)
from tidings.mcp.names import DRAFT, EXTENSION, PROMPTS_CHANGED, RELEASED, SUBSCRIPTION_META, TOOLS_CHANGED
from tidings.mcp.router import Frame, Router, Stream, TooManyStreamsError

ALL = Filter(changes=frozenset(CHANGES.values()), uris=frozenset({"*"}), extensions={EXTENSION: {}})
TOOLS = Filter(changes=frozenset({TOOLS_CHANGED}))


def frames(stream: Stream) -> list[Frame]:
    """Everything that waits, then the end."""

    async def read() -> list[Frame]:
        stream.end()
        found: list[Frame] = []
        async with asyncio.timeout(5):
            while (frame := await stream.next()) is not None:
                found.append(frame)
        return found

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("asked", "honoured"),
    [
        ({}, {}),
        ({"toolsListChanged": True, "promptsListChanged": False}, {"toolsListChanged": True}),
        (
            {"resourceSubscriptions": ["file:///b", "file:///a"]},
            {"resourceSubscriptions": ["file:///a", "file:///b"]},
        ),
        ({EXTENSION: {"session": "s1"}}, {EXTENSION: {"session": "s1"}}),
        ({EXTENSION: True}, {EXTENSION: {}}),
        ({"com.example/other": {}, "toolsListChanged": True}, {"toolsListChanged": True}),
    ],
)
def test_the_acknowledgement_names_what_is_honoured(asked: object, honoured: object) -> None:
    stream = Router().open(7, read_filter(asked, ALL))
    assert stream.acknowledgement() == Frame(
        "notifications/subscriptions/acknowledged",
        {"notifications": honoured, "_meta": {SUBSCRIPTION_META: 7}},
    )


def test_a_server_honours_only_what_it_supports() -> None:
    asked = {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourceSubscriptions": ["x"],
        EXTENSION: {},
    }
    assert read_filter(asked, TOOLS) == TOOLS


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([], "`notifications` must be an object"),
        ({"toolsListChanged": "yes"}, "`notifications.toolsListChanged` must be true or false; got 'yes'"),
        ({"resourceSubscriptions": "x"}, "must be a list of strings; got 'x'"),
        ({"resourceSubscriptions": [1]}, "must be a list of strings"),
        ({EXTENSION: 5}, "must be an object such as {session: …}; got 5"),
        ({EXTENSION: {"session": 5}}, "must be an object such as {session: …}"),
    ],
)
def test_a_wrong_filter_names_the_key_and_the_fix(asked: object, names: str) -> None:
    with pytest.raises(CallerError) as caught:
        read_filter(asked, ALL)
    assert names in str(caught.value)


def test_a_stream_gets_what_it_asked_for_and_nothing_else() -> None:
    router = Router()
    tools, files, agent = (
        router.open("t", TOOLS),
        router.open("f", Filter(uris=frozenset({"file:///src", "file:///a.py"}))),
        router.open("r", Filter(extensions={EXTENSION: {"session": "s1"}})),
    )
    told = [
        router.publish(event)
        for event in (
            list_changed(TOOLS_CHANGED),
            list_changed(PROMPTS_CHANGED),
            resource_updated("file:///src/lib.rs"),
            resource_updated("file:///srcs/lib.rs"),
            resource_updated("file:///a.py"),
            reminder_event({"reminder": {"body": "all"}}),
            reminder_event({"reminder": {"body": "mine"}}, session="s1"),
            reminder_event({"reminder": {"body": "theirs"}}, session="s2"),
        )
    ]
    assert told == [1, 0, 1, 0, 1, 1, 1, 0]
    assert [frame.method for frame in frames(tools)] == [TOOLS_CHANGED]
    assert [frame.params["uri"] for frame in frames(files)] == ["file:///src/lib.rs", "file:///a.py"]
    assert frames(agent) == [
        Frame(
            "notifications/reminder",
            {
                "reminder": {"body": body},
                "_meta": {"dev.tidings/session": "s1", SUBSCRIPTION_META: "r"},
            },
        )
        for body in ("all", "mine")
    ]


def test_waiting_reminders_coalesce_by_key_and_a_list_change_is_said_once() -> None:
    router = Router()
    stream = router.open(1, ALL)
    for body in ("red", "green"):
        router.publish(reminder_event({"reminder": {"body": body}}, key="build"))
        router.publish(list_changed(TOOLS_CHANGED))
    assert [frame.params.get("reminder", frame.method) for frame in frames(stream)] == [
        {"body": "green"},
        TOOLS_CHANGED,
    ]


def test_a_client_that_never_reads_costs_a_bounded_queue_and_every_loss_is_told() -> None:
    lost: list[object] = []
    router = Router(capacity=3, on_drop=lambda stream, event: lost.append((stream.id, event.params["n"])))
    slow = router.open("slow", ALL)
    for number in range(5):
        router.publish(reminder_event({"n": number}))
    assert lost == [("slow", 0), ("slow", 1)]
    assert slow.dropped == 2
    assert [frame.params["n"] for frame in frames(slow)] == [2, 3, 4]


@pytest.mark.parametrize(
    ("profile", "tag", "farewell"),
    [
        (RELEASED, 1, []),
        (
            DRAFT,
            "1",
            [
                Frame(
                    "notifications/cancelled",
                    {"requestId": 1, "reason": "the server closed the subscription"},
                )
            ],
        ),
    ],
)
def test_the_profile_decides_how_ids_look_and_how_a_stream_ends(
    profile: object, tag: object, farewell: list[Frame]
) -> None:
    stream = Router().open(1, ALL, profile=profile)
    assert stream.acknowledgement().params["_meta"] == {SUBSCRIPTION_META: tag}
    assert stream.farewell() == farewell
    assert stream.result() == {"resultType": "complete", "_meta": {SUBSCRIPTION_META: tag}}


def test_a_cancelled_stream_is_silent_and_late_or_wrong_cancels_are_ignored() -> None:
    router = Router()
    stream = router.open(1, ALL, peer="a")
    assert router.cancelled(1, "b") is False
    assert router.cancelled("1", "a") is False
    assert router.cancelled(1, "a") is True
    assert router.cancelled(1, "a") is False
    assert router.publish(list_changed(TOOLS_CHANGED)) == 0
    assert (len(router), frames(stream)) == (0, [])


def test_two_clients_may_use_the_same_request_id_and_one_client_may_not() -> None:
    router = Router()
    router.open(1, ALL, peer="a")
    router.open(1, ALL, peer="b")
    router.open("1", ALL, peer="a")
    with pytest.raises(CallerError, match="request id 1 is in use"):
        router.open(1, ALL, peer="a")


def test_one_stream_too_many_is_refused() -> None:
    router = Router(most=1)
    router.open(1, ALL)
    with pytest.raises(TooManyStreamsError, match="1 listen streams are open already"):
        router.open(2, ALL)


def test_at_shutdown_every_stream_sends_what_waits_and_ends() -> None:
    router = Router()
    streams = [router.open(number, ALL) for number in range(2)]
    router.publish(Event(method="x", params={}, extension=EXTENSION))
    router.end_all()
    assert [[frame.method for frame in frames(stream)] for stream in streams] == [["x"], ["x"]]
    assert router.publish(list_changed(TOOLS_CHANGED)) == 0


def test_a_waiting_reader_hears_the_next_event() -> None:
    async def listen() -> Frame | None:
        router = Router()
        stream = router.open(1, ALL)
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(stream.next())
            await asyncio.sleep(0)
            router.publish(list_changed(TOOLS_CHANGED))
            return await reader

    assert asyncio.run(listen()) == Frame(TOOLS_CHANGED, {"_meta": {SUBSCRIPTION_META: 1}})
