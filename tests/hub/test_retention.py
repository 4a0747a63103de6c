"""Retention: what leaves the hub's log and when, and what is never lost by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest

import tidings as td
from tests.hub.desks import DEADLINE, Clock, acknowledge, lease, register, remind
from tests.hub.running import place_in, running
from tests.hub.test_feed import Reader, scope
from tests.hub.test_snapshot import seen
from tidings.core.records import transcript_topic
from tidings.core.reminder import Payload
from tidings.errors import LogCorruptError
from tidings.hub import Attached, retention, shapes, snapshot
from tidings.hub.client import ask
from tidings.hub.feed import Feed
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.policy import Policy
from tidings.hub.retention import Due, Purged
from tidings.hub.service import Hub
from tidings.hub.store import SETTLED_TOPIC, TOPIC, Store
from tidings.hub.told import SNAPSHOT, told_topic
from tidings.log import EventLog, open_log
from tidings.log.chain import SPAN
from tidings.log.folded import furthest
from tidings.log.record import CHECKPOINTS
from tidings.log.sqlite import SqliteLog

DAY = 86_400
FOREVER = Policy(max_age=None, max_size=None, max_session_records=None)
S = told_topic("s")


def run(work: Coroutine[object, object, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work

    asyncio.run(bounded())


def hub_with(clock: Clock, policy: Policy = FOREVER, log: EventLog | None = None) -> Hub:
    log = log or open_log("memory:", clock=clock)
    return Hub(Store(log), clock=clock, policy=policy, heartbeat_seconds=1000 * DAY)


async def tell(hub: Hub, cursors: Sequence[int], name: str = "s", epoch: str = "e") -> object:
    records = [
        {"cursor": n, "kind": "k", "atMs": n, "payload": {"n": n, "text": "x" * 300}} for n in cursors
    ]
    params: Payload = {"sessionId": name, "epoch": epoch, "stream": "transcript", "records": records}
    return (await operate(hub, BY_METHOD["hub/tell"], params))["told"]


async def tell_each(hub: Hub, cursors: Sequence[int], name: str = "s") -> None:
    """Tell records in commits of their own."""
    for cursor in cursors:
        await tell(hub, [cursor], name)


def kept(hub: Hub, topic: str = S) -> list[object]:
    """The numbers of the told records that are left."""
    records = hub.store.log.read(topic, hub.store.log.purged_through(topic))
    return [record.payload["seq"] for record in records if record.kind != SNAPSHOT]


async def until(happened: Callable[[], bool]) -> None:
    """Let the loop turn until something has happened; the scene has a deadline."""
    while not happened():  # noqa: ASYNC110 nobody could set an event
        await asyncio.sleep(0)


def test_what_is_older_than_its_age_goes_and_is_recorded() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock, Policy(max_age=30 * DAY * 1000))
        await register(hub, "s")
        await tell_each(hub, range(1, 6))
        clock.pass_seconds(32 * DAY)
        await tell_each(hub, range(6, 9))
        begun = hub.store.cursor
        done = await hub.retention.enforce()
        assert done == [Purged(TOPIC, 1, 1, "age"), Purged(S, 5, 5, "age")]
        assert kept(hub) == [6, 7, 8]
        told = [(one.kind, one.payload) for one in hub.store.log.read(TOPIC, begun)]
        assert told == [
            ("hub.purged", {"topic": TOPIC, "count": 1, "purged_through": 1, "reason": "age"}),
            ("hub.purged", {"topic": S, "count": 5, "purged_through": 5, "reason": "age"}),
        ]
        assert await hub.retention.enforce() == []

    run(scene())


def test_a_few_that_are_just_too_old_wait_until_it_is_worth_a_purge() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock, Policy(max_age=100 * DAY * 1000))
        await register(hub, "s")
        await tell_each(hub, [1, 2])
        clock.pass_seconds(101 * DAY)
        await tell_each(hub, [3])
        assert await hub.retention.enforce() == []
        clock.pass_seconds(5 * DAY)
        assert [one.topic for one in await hub.retention.enforce()] == [TOPIC, S]
        assert kept(hub) == [3]

    run(scene())


def test_a_session_keeps_its_last_records_when_it_told_too_many() -> None:
    async def scene() -> None:
        hub = hub_with(Clock(), Policy(max_session_records=100))
        await register(hub, "s")
        await register(hub, "t")
        await tell_each(hub, range(1, 700))
        await tell_each(hub, range(1, 50), "t")
        assert await hub.retention.enforce() == [Purged(S, 599, 599, "session_records")]
        assert (kept(hub), len(kept(hub, told_topic("t")))) == (list(range(600, 700)), 49)
        assert await hub.retention.enforce() == []

    run(scene())


def test_a_log_that_is_too_big_loses_what_is_oldest_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(log: SqliteLog, clock: Clock) -> None:
        hub = hub_with(clock, Policy(max_size=1 << 20), log)
        for name in ("old", "new"):
            await register(hub, name)
            for start in range(1, 4_000, 500):
                await tell(hub, range(start, start + 500), name)
            clock.pass_seconds(DAY)
        assert log.size() > 1 << 20
        done = await hub.retention.enforce()
        assert log.size() <= 0.9 * (1 << 20) + 64 * 1024
        assert {one.reason for one in done} == {"size"}
        assert [one.topic for one in done[:5]] == [TOPIC, *[told_topic("old")] * 4]
        assert kept(hub, told_topic("old")) == []
        assert kept(hub, told_topic("new"))[-1:] == [4_000]
        assert await hub.retention.enforce() == []
        log.verify()

    monkeypatch.setattr(retention, "SHRUNK", 1_000)
    clock = Clock()
    with SqliteLog(tmp_path / "hub.db", clock=clock) as log:
        run(scene(log, clock))


def test_a_log_that_cannot_be_small_enough_is_left_alone_after_one_attempt() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock, Policy(max_size=1))
        await register(hub, "s")
        await tell_each(hub, [1, 2, 3])
        done = [[one.topic for one in await hub.retention.enforce()] for _ in range(3)]
        assert done == [[S], [TOPIC], []]

    run(scene())


def test_how_far_a_session_is_known_outlives_the_purge_of_what_it_told() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock)
        await register(hub, "s")
        await tell(hub, [1, 2], epoch="first")
        await tell_each(hub, range(1, 6))
        for through in (3, 7):
            await hub.retention.purge(Due(S, through, "age"))
        assert await tell(hub, [4, 5]) == 5
        again = hub_with(clock, log=hub.store.log)
        assert await tell(again, []) == 5
        assert await tell(again, [], epoch="first") == 2
        assert await tell(again, [5, 6]) == 6
        assert kept(again) == [6]

    run(scene())


def test_a_session_whose_own_log_was_purged_is_not_told_again(tmp_path: Path) -> None:
    async def scene() -> None:
        socket = place_in(tmp_path).socket
        topic = transcript_topic("s")
        with open_log("memory:") as log:
            session = td.Session("s", log=log)
            async with running(tmp_path):
                for number in range(3):
                    async with Attached(session, socket=socket):
                        session.remind(body=f"news {number}")
                        session.checkpoint()
                    log.purge(topic, furthest(log, topic))
                found = await ask(socket, "hub/told", {"sessionId": "s"})
        rows: list[Payload] = found["records"]  # type: ignore[assignment]
        seqs = [row["seq"] for row in rows if row["stream"] == "transcript"]
        assert seqs == list(range(1, 7))

    run(scene())


def test_a_session_that_is_gone_is_forgotten_when_all_it_told_is() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock)
        await register(hub, "s")
        await tell_each(hub, range(1, 6))
        await hub.unregister(shapes.Who(session_id="s"))
        await hub.retention.purge(Due(S, 3, "age"))
        assert (kept(hub), S in hub.store.log.topics()) == ([4, 5], True)
        await hub.retention.purge(Due(S, 5, "age"))
        assert S not in hub.store.log.topics()

    run(scene())


def test_what_is_on_its_way_is_delivered_after_its_records_were_purged(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        log = SqliteLog(tmp_path / "hub.db", durability="fsync", clock=clock)
        hub = hub_with(clock, Policy(max_age=1000), log)
        await register(hub, "s")
        open_one = await remind(hub, "waits", {"session": "s"}, deliverWithin=DAY)
        taken = await remind(hub, "leased", {"session": "s"}, deliverWithin=DAY)
        await lease(hub, "s", limit=1)
        clock.pass_seconds(10)
        (done,) = await hub.retention.enforce()
        assert (done.topic, done.count) == (TOPIC, hub.store.saved)
        expected = seen(hub.board)
        log.close()
        log = SqliteLog(tmp_path / "hub.db", durability="fsync", clock=clock)
        again = hub_with(clock, log=log)
        assert seen(again.board) == expected
        assert await lease(again, "s") == [taken]
        assert await acknowledge(again, "s", open_one, taken) == 2
        log.verify()
        log.close()

    run(scene())


def test_snapshots_are_written_in_time_and_only_the_last_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        hub = hub_with(Clock())
        for number in range(3):
            await register(hub, f"s{number}")
            await hub.retention.tend()
        assert hub.store.saved == 0
        for number in range(40):
            await register(hub, f"s{number}")
            await hub.retention.tend()
            assert hub.store.cursor - hub.store.saved < 10
        assert (
            len(list(hub.store.log.read(snapshot.TOPIC, hub.store.log.purged_through(snapshot.TOPIC)))) == 1
        )
        assert seen(Store(hub.store.log).board) == seen(hub.board)

    monkeypatch.setattr(retention, "SAVE_EVERY", 10)
    run(scene())


def test_what_nobody_reads_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        hub = hub_with(Clock())
        await register(hub, "s")
        log = hub.store.log
        for _ in range(1_200):
            await remind(hub, "x", {"tag": "nobody"}, deliverWithin=1)
            hub.store._settled = 0
            await hub.store.settle()
            await hub.retention.tend()
        left = log.latest(SETTLED_TOPIC) - log.purged_through(SETTLED_TOPIC)
        checkpoints = log.latest(CHECKPOINTS) - log.purged_through(CHECKPOINTS)
        assert (log.latest(SETTLED_TOPIC) > 1_000, left <= 11, checkpoints <= 30) == (True, True, True)
        log.verify()

    monkeypatch.setattr(retention, "SETTLED_MOST", 10)
    monkeypatch.setattr(retention.tidy_checkpoints, "__defaults__", (10,))
    run(scene())


def test_a_damaged_topic_does_not_keep_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(log: SqliteLog, clock: Clock) -> None:
        hub = hub_with(clock, Policy(max_age=1000), log)
        for name in ("s", "t"):
            await register(hub, name)
            await tell_each(hub, [1, 2, 3], name)
        log._writer.connection.execute(
            "UPDATE records SET kind = 'x' WHERE id = 2 + ? * (SELECT id FROM chains WHERE name = ?)",
            (SPAN, S),
        )
        clock.pass_seconds(10)
        done = await hub.retention.enforce()
        assert [one.topic for one in done] == [TOPIC, told_topic("t")]
        assert "topic 'told.s' could not be purged: " in caplog.text
        with pytest.raises(LogCorruptError):
            log.verify()

    clock = Clock()
    with SqliteLog(tmp_path / "hub.db", clock=clock) as log:
        run(scene(log, clock))


def test_a_live_reader_begins_with_what_is_kept_and_one_from_before_is_told() -> None:
    async def scene() -> None:
        hub = hub_with(Clock())
        for name in ("a", "b", "c"):
            await register(hub, name)
        await hub.retention.purge(Due(TOPIC, 2, "age"))
        feed, fresh, old = Feed(hub), Reader(), Reader()
        tasks = [
            asyncio.create_task(feed(scope(), fresh.receive, fresh.send)),
            asyncio.create_task(feed(scope("fromCursor=1"), old.receive, old.send)),
        ]
        assert (await fresh.event())["id"] == "3"
        assert await old.event() == {"event": "lagged", "data": '{"resumeFrom":2,"missed":1}'}
        feed.close()
        await asyncio.gather(*tasks)

    run(scene())


def test_it_runs_until_it_is_cancelled_and_outlives_a_log_that_fails(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = hub_with(clock, Policy(max_age=1000))
        await register(hub, "s")
        clock.pass_seconds(10)
        task = asyncio.create_task(hub.retention.run())
        await until(lambda: hub.store.log.purged_through(TOPIC) > 0)
        hub.store.log.close()
        await until(lambda: "could not be tended: memory log is closed" in caplog.text)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()

    monkeypatch.setattr(retention, "TICK_SECONDS", 0.0)
    run(scene())
