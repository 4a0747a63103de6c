"""The hub abused: floods, odd payloads, too many sessions. It refuses or keeps, and goes on."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from tests.hub.desks import DEADLINE, Clock, file_hub, lease, memory_hub, register, remind
from tests.hub.running import Client
from tests.hub.test_feed import Reader, scope
from tests.hub.test_http import play
from tests.hub.test_told import read, record, run, tell
from tidings.bridge.rpc import RpcError
from tidings.core.reminder import Payload
from tidings.hub import service, shapes
from tidings.hub.client import ask
from tidings.hub.failure import HubError, HubFullError, UnknownSessionError
from tidings.hub.feed import Feed
from tidings.hub.told import told_topic


def test_a_flood_of_overlapping_tells_keeps_every_record_once_and_in_order(tmp_path: Path) -> None:
    async def scene() -> None:
        hub = file_hub(tmp_path / "hub.db", Clock())
        names = [f"s{number}" for number in range(4)]
        for name in names:
            await register(hub, name)
        chance = random.Random(7)
        starts = [start for start in range(1, 400, 20) for _ in range(3)]
        chance.shuffle(starts)

        async def some(name: str) -> None:
            for start in sorted(starts, key=lambda one: one + chance.randrange(30)):
                await tell(hub, range(start, start + 40), name=name)

        await asyncio.gather(*(some(name) for name in names for _ in range(3)))
        for name in names:
            seqs = [one["seq"] for one in await read(hub, name)]
            assert seqs == sorted(set(seqs))  # type: ignore[type-var]
            assert seqs[-1] == 420
        assert await remind(hub, "still here", {"session": "s0"}, id="r1") == "r1"
        assert await lease(hub, "s0") == ["r1"]
        hub.store.log.verify()
        hub.store.log.close()

    run(scene())


def test_as_many_sessions_as_there_may_be_are_served_and_one_more_is_refused() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        for number in range(service.SESSIONS_MOST):
            await register(hub, f"s{number}", tags=["all"] if number % 2 else [])
        with pytest.raises(HubFullError):
            await register(hub, "one more")
        answer = await hub.remind({"id": "r1", "body": "red", "to": {"tag": "all"}})
        assert len(answer.sessions) == service.SESSIONS_MOST // 2
        assert (await lease(hub, "s1"), await lease(hub, "s2")) == (["r1"], [])
        assert len(hub.sessions(shapes.Sessions()).sessions) == service.SESSIONS_MOST
        clock.pass_seconds(service.HEARTBEAT_SECONDS)
        assert hub.sessions(shapes.Sessions()).sessions == []
        assert len(hub.sessions(shapes.Sessions(ended=True)).sessions) == 200
        await register(hub, "one more")

    run(scene())


DEEP = "[" * 3_000 + "]" * 3_000
HOSTILE: dict[str, str] = {
    "a deep one": f'{{"a": {DEEP}}}',
    "a number beyond all": f'{{"a": {"9" * 400}}}',
    "half a character": '{"a": "\\ud800"}',
    "an event in an event": json.dumps({"a": "\n\nid: 9\ndata: {}\n\n", "\r\n": 1}),
    "names of others": '{"__proto__": {"x": 1}, "constructor": 1, "epoch": "x", "seq": 99, "stream": "y"}',
    "a null character": '{"a\\u0000": "\\u0000"}',
    "what turns text around": json.dumps({"\u202e": "\u2066<script>alert(1)</script>"}),
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_payload_is_kept_as_it_is_or_refused_and_the_hub_goes_on(
    tmp_path: Path, payload: str
) -> None:
    line = (
        '{"sessionId": "s", "epoch": "e", "stream": "lifecycle", '
        f'"records": [{{"cursor": 1, "kind": "k", "atMs": 0, "payload": {payload}}}]}}'
    )

    async def scene(client: Client) -> None:
        await client.ask("POST", "/v1/sessions", {"sessionId": "s"})
        answer = await client.ask("POST", "/v1/sessions/records", raw=line.encode())
        rows = (await client.ask("GET", "/v1/sessions/records?sessionId=s")).body["records"]  # type: ignore[index]
        if answer.status == 200:
            assert [(one["seq"], one["stream"], one["payload"]) for one in rows] == [
                (1, "lifecycle", json.loads(payload))
            ]
        else:
            assert (answer.status, rows) == (400, [])
        raw = (
            f'{{"jsonrpc": "2.0", "id": 1, "method": "hub/tell", "params": {line}}}\n'.replace("\n", " ")
            + "\n"
        )
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "hub.socket"))
        writer.write(raw.encode())
        assert json.loads(await reader.readline()).keys() & {"result", "error"}
        writer.close()
        assert (await client.ask("GET", "/v1/status")).status == 200

    play(tmp_path, scene)


def test_an_event_in_a_payload_stays_inside_its_own_event() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        hub_record = record(1, text="x\n\nid: 99\nevent: lagged\ndata: {}\n\n")
        asked = {"session_id": "s", "epoch": "e", "stream": "transcript"}
        told = shapes.TellRecord(cursor=1, kind="k", at_ms=0, payload=hub_record["payload"])  # type: ignore[arg-type]
        await hub.told.tell(shapes.Tell(records=[told], **asked))  # type: ignore[arg-type]
        feed, reader = Feed(hub), Reader()
        task = asyncio.create_task(feed(scope("sessionId=s"), reader.receive, reader.send))
        event = await reader.event()
        assert event.keys() == {"id", "data"}
        assert json.loads(event["data"])["payload"] == hub_record["payload"]
        reader.gone.set()
        await task

    run(scene())


def test_a_line_without_end_and_bodies_beyond_the_bound_are_refused(tmp_path: Path) -> None:
    async def scene(client: Client) -> None:
        socket = str(tmp_path / "hub.socket")
        await ask(socket, "hub/register", {"sessionId": "s"})
        big: Payload = {"sessionId": "s", "epoch": "e", "stream": "transcript"}
        big["records"] = [record(1, text="x" * 1_100_000)]
        with pytest.raises((RpcError, HubError)):
            await ask(socket, "hub/tell", big)
        assert (await client.ask("POST", "/v1/sessions/records", big)).status == 413
        fits = {**big, "records": [record(1, text="x" * 900_000)]}
        assert (await ask(socket, "hub/tell", fits))["told"] == 1

    play(tmp_path, scene)


def test_a_session_that_leaves_while_it_tells_is_unknown_and_its_records_stay(tmp_path: Path) -> None:
    async def scene() -> None:
        hub = file_hub(tmp_path / "hub.db", Clock())
        await register(hub, "s")
        await tell(hub, [1, 2])
        await hub.unregister(shapes.Who(session_id="s"))
        with pytest.raises(UnknownSessionError):
            hub.present("s")
        with pytest.raises(RpcError):
            await tell(hub, [3])
        await register(hub, "s")
        assert await tell(hub, [2, 3]) == 3
        assert hub.store.log.latest(told_topic("s")) == 3
        hub.store.log.close()

    run(scene())


def test_what_is_left_of_a_purged_topic_is_read_and_told_on_from(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = file_hub(tmp_path / "hub.db", clock)
        await register(hub, "s")
        await tell(hub, range(1, 7))
        await tell(hub, [4], epoch="other")
        await hub.told.snapshot(told_topic("s"), clock())
        cut = hub.told.count("s")
        await tell(hub, [7, 8])
        hub.store.log.purge(told_topic("s"), cut - 1)
        assert [one["seq"] for one in await read(hub)] == [7, 8]
        assert [one["seq"] for one in await read(hub, "s", before=cut + 2)] == [7]
        feed, reader = Feed(hub), Reader()
        query = scope(f"sessionId=s&fromCursor={cut - 1}")
        task = asyncio.create_task(feed(query, reader.receive, reader.send))
        assert (await reader.event())["id"] == str(cut + 1)
        reader.gone.set()
        await task
        hub.store.log.close()
        again = file_hub(tmp_path / "hub.db", clock)
        assert [await tell(again, []), await tell(again, [], epoch="other")] == [8, 4]
        assert await tell(again, [7, 8, 9]) == 9
        assert (again.told.count("s"), len(await read(again))) == (cut + 3, 3)
        again.store.log.close()

    run(scene())


def test_many_who_wait_for_one_session_are_all_answered_when_it_leaves() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        waiting = [asyncio.create_task(lease(hub, "s", waitSeconds=50)) for _ in range(200)]
        await asyncio.sleep(0)
        await hub.unregister(shapes.Who(session_id="s"))
        async with asyncio.timeout(DEADLINE):
            assert await asyncio.gather(*waiting) == [[]] * 200

    run(scene())
