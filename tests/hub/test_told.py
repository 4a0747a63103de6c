"""What sessions tell the hub: kept once, counted anew for another log, read in pages and live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from pathlib import Path

import pytest

from tests.hub.desks import DEADLINE, Clock, file_hub, memory_hub, register
from tests.hub.running import Client
from tests.hub.test_feed import Reader, scope
from tests.hub.test_http import play
from tidings.core.reminder import Payload
from tidings.hub import board, shapes, told
from tidings.hub.client import ask
from tidings.hub.feed import Feed
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.service import HEARTBEAT_SECONDS, Hub


def run(work: Coroutine[object, object, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work

    asyncio.run(bounded())


def record(cursor: int, **payload: object) -> Payload:
    return {"cursor": cursor, "kind": "k", "atMs": cursor * 10, "payload": {"n": cursor, **payload}}


def row(cursor: int, seq: int, stream: str = "transcript", **more: object) -> Payload:
    stored: Payload = {"n": seq}
    return {
        "cursor": cursor, "seq": seq, "stream": stream, "kind": "k", "atMs": seq * 10, "payload": stored,
        **more,
    }  # fmt: skip


async def tell(
    hub: Hub, cursors: Sequence[int], *, name: str = "s", epoch: str = "e", stream: str = "transcript"
) -> object:
    params: Payload = {"sessionId": name, "epoch": epoch, "stream": stream}
    params["records"] = [record(cursor) for cursor in cursors]
    return (await operate(hub, BY_METHOD["hub/tell"], params))["told"]


async def read(hub: Hub, name: str = "s", **more: object) -> list[Payload]:
    answer = await operate(hub, BY_METHOD["hub/told"], {"sessionId": name, **more})
    return answer["records"]  # type: ignore[return-value]


def test_what_was_told_before_is_skipped_and_each_stream_counts_for_itself() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        assert await tell(hub, []) == 0
        assert await tell(hub, [1, 2, 5]) == 5
        assert await tell(hub, [2, 5, 6]) == 6
        assert await tell(hub, [4, 4, 3], stream="lifecycle") == 4
        assert await tell(hub, [6], stream="requests") == 6
        assert await tell(hub, []) == 6
        assert await read(hub) == [
            row(1, 1, epoch="e"), row(2, 2), row(3, 5), row(4, 6),
            row(5, 4, "lifecycle"), row(6, 6, "requests"),
        ]  # fmt: skip

    run(scene())


def test_another_log_behind_the_session_starts_anew_and_the_first_is_not_forgotten() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        assert await tell(hub, [1, 2], epoch="a") == 2
        assert await tell(hub, [], epoch="b") == 0
        assert await tell(hub, [1], epoch="b") == 1
        assert await tell(hub, [1, 2, 3], epoch="a") == 3
        assert await read(hub) == [
            row(1, 1, epoch="a"), row(2, 2), row(3, 1, epoch="b"), row(4, 3, epoch="a"),
        ]  # fmt: skip

    run(scene())


def test_of_very_many_logs_behind_one_session_the_last_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(told, "EPOCHS", 2)

    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        for epoch in "abc":
            await tell(hub, [7], epoch=epoch)
        assert [await tell(hub, [], epoch=epoch) for epoch in "abc"] == [0, 7, 7]

    run(scene())


def test_a_hub_that_starts_again_knows_how_far_it_was_told(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = file_hub(tmp_path / "hub.db", clock)
        await register(hub, "s")
        await tell(hub, [1, 2], epoch="a")
        await tell(hub, [9], epoch="b", stream="requests")
        hub.store.log.close()
        again = file_hub(tmp_path / "hub.db", clock)
        known = [
            await tell(again, [], epoch=epoch, stream=stream)
            for epoch, stream in (("a", "transcript"), ("a", "requests"), ("b", "requests"))
        ]
        assert known == [2, 0, 9]
        assert await tell(again, [2, 3], epoch="a") == 3
        assert [one["cursor"] for one in await read(again)] == [1, 2, 3, 4]
        again.store.log.close()

    run(scene())


def test_pages_go_forward_from_a_cursor_and_back_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "_PAGE", 3)

    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        await tell(hub, range(1, 21))

        async def page(**asked: object) -> list[object]:
            return [one["cursor"] for one in await read(hub, "s", **asked)]

        assert await page(after=17) == [18, 19, 20]
        assert await page(after=2, limit=2) == [3, 4]
        assert await page(before=21, limit=5) == [16, 17, 18, 19, 20]
        assert await page(before=1_000, limit=2) == [19, 20]
        assert await page(before=4, limit=5) == [1, 2, 3]
        assert await page(before=1) == []
        assert await page(before=9, after=6) == [7, 8]
        answer = hub.told.read(shapes.Told(session_id="s", after=20))
        assert answer == shapes.ToldAnswer(records=[], latest=20)

    run(scene())


def test_long_records_make_a_short_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "ANSWER_BYTES", 100)

    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        await tell(hub, range(1, 10))
        assert [len(await read(hub, after=0)), len(await read(hub, before=10))] == [1, 1]
        assert [one["cursor"] for one in await read(hub, before=10)] == [9]

    run(scene())


def test_a_session_that_left_is_listed_as_ended_with_what_it_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "ENDED", 2)

    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        for name in ("old", "one", "two"):
            await register(hub, name, capabilities={"delivery": "request"})
            await tell(hub, [1, 2], name=name)
        for name in ("old", "one"):
            await hub.unregister(shapes.Who(session_id=name))
        clock.pass_seconds(HEARTBEAT_SECONDS)
        await register(hub, "live", capabilities={"delivery": "magic"})
        clock.pass_seconds(1)

        def listed(ended: bool) -> list[tuple[object, ...]]:
            rows = hub.sessions(shapes.Sessions(ended=ended)).sessions
            return [
                (one.session_id, one.state, one.started_ms, one.ended_ms, one.records, one.delivery)
                for one in rows
            ]

        live = ("live", "live", 1_060_000, None, 0, "unknown")
        assert listed(False) == [live]
        assert listed(True) == [
            live,
            ("two", "ended", 1_000_000, 1_060_000, 2, "request"),
            ("one", "ended", 1_000_000, 1_000_000, 2, "request"),
        ]
        await register(hub, "one")
        assert [(one[0], one[2]) for one in listed(False)] == [("live", 1_060_000), ("one", 1_000_000)]
        assert [one["seq"] for one in await read(hub, "old")] == [1, 2]

    run(scene())


def test_over_http_and_socket_records_are_told_and_read(tmp_path: Path) -> None:
    path = "/v1/sessions/records"

    async def scene(client: Client) -> None:
        socket = str(tmp_path / "hub.socket")
        sent = {"sessionId": "s/ü %", "epoch": "e", "stream": "transcript", "records": [record(1)]}
        assert (await client.ask("POST", path, sent)).status == 404
        assert (await client.ask("GET", f"{path}?sessionId=s")).status == 404
        await client.ask("POST", "/v1/sessions", {"sessionId": "s/ü %"})
        assert (await client.ask("POST", path, sent)).body == {"sessionId": "s/ü %", "told": 1}
        more = {**sent, "stream": "requests", "records": [record(4)]}
        assert await ask(socket, "hub/tell", more) == {"sessionId": "s/ü %", "told": 4}
        answer = await client.ask("GET", f"{path}?sessionId=s%2F%C3%BC%20%25&after=1&limit=1")
        assert answer.body == {"records": [row(2, 4, "requests")], "latest": 2}
        (listed,) = (await client.ask("GET", "/v1/sessions?ended=true")).body["sessions"]  # type: ignore[index]
        assert (listed["records"], listed["state"], listed["endedMs"]) == (2, "live", None)

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream": "other"},
        {"epoch": ""},
        {"records": [record(0)]},
        {"records": [{**record(1), "kind": "two words"}]},
        {"records": [{**record(1), "kind": ""}]},
        {"records": [{**record(1), "payload": []}]},
        {"records": [{**record(1), "extra": 1}]},
        {"records": [record(number) for number in range(1, 502)]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_cannot_be_told_is_refused_and_nothing_of_it_kept(tmp_path: Path, wrong: Payload) -> None:
    async def scene(client: Client) -> None:
        await client.ask("POST", "/v1/sessions", {"sessionId": "s"})
        sent = {"sessionId": "s", "epoch": "e", "stream": "transcript", "records": [record(1)], **wrong}
        answer = await client.ask("POST", "/v1/sessions/records", sent)
        assert (answer.status, answer.body["error"]["code"]) == (400, -32602)  # type: ignore[index]
        told = await client.ask("GET", "/v1/sessions/records?sessionId=s")
        assert told.body == {"records": [], "latest": 0}

    play(tmp_path, scene)


def test_the_feed_of_a_session_gives_history_then_news_also_when_it_ended_and_came_back() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        await register(hub, "t")
        await tell(hub, [1, 2])
        feed, reader = Feed(hub), Reader()
        task = asyncio.create_task(feed(scope("sessionId=s&fromCursor=1"), reader.receive, reader.send))
        first = await reader.event()
        assert (first["id"], json.loads(first["data"])) == ("2", row(2, 2))
        await tell(hub, [1], name="t")
        await hub.unregister(shapes.Who(session_id="s"))
        await register(hub, "s")
        await tell(hub, [3], stream="lifecycle")
        event = await reader.event()
        assert json.loads(event["data"]) == row(3, 3, "lifecycle")
        reader.gone.set()
        await task
        assert (hub.subscribers, reader.status) == (0, 200)
        nobody = Reader()
        await feed(scope("sessionId=nobody"), nobody.receive, nobody.send)
        assert nobody.status == 404

    run(scene())
