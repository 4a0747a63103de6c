"""Snapshots of the board: a start from one gives what the fold of all records gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hub.desks import DEADLINE, Clock, acknowledge, file_hub, lease, memory_hub, register, remind
from tidings.core.records import Record
from tidings.core.reminder import Payload
from tidings.errors import CallerError, LogCorruptError
from tidings.hub import envelope as letters
from tidings.hub import shapes, snapshot
from tidings.hub.board import Board
from tidings.hub.hosting import hosted
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC, Store
from tidings.hub.withdrawing import Answer
from tidings.log import EventLog, open_log
from tidings.log.memory import MemoryLog

Action = Callable[[Hub, int], Awaitable[object]]


def seen(board: Board) -> dict[str, list[object]]:
    """Everything in a board, in its order."""
    return {name: list(value.items()) for name, value in vars(board).items()}


def folded(log: EventLog) -> Board:
    """The board of all records, none of which was purged."""
    return Board(Record(entry.kind, entry.payload) for entry in log.read(TOPIC))


async def register_one(hub: Hub, number: int) -> object:
    about: Payload = {"tags": ["ci"] if number % 2 else [], "workspace": f"/w/{number % 3}"}
    return await register(hub, f"s{number}", capabilities={"withdraw": number < 3}, **about)


async def send(hub: Hub, number: int) -> object:
    to = ({"all": True}, {"tag": "ci"}, {"session": f"s{number}"}, {"workspace": "/w"})[number % 4]
    return await remind(hub, f"news {number}", to, id=f"r{hub.store.cursor}", tags=["t"])


async def take(hub: Hub, number: int) -> object:
    ids = await lease(hub, f"s{number}", limit=2)
    if ids and number % 2:
        await acknowledge(hub, f"s{number}", ids[0])
    return ids


async def revoke(hub: Hub, number: int) -> object:
    names = list(hub.board.open)[number : number + 1]
    return [await hub.revoke(shapes.Revoke(reminder_id=name, wait_seconds=0)) for name in names]


async def clear(hub: Hub, number: int) -> object:
    return await hub.clear(shapes.Clear(tag="t", session_id=f"s{number}", wait_seconds=0))


async def answer(hub: Hub, number: int) -> object:
    wanted = (await hub.lease(shapes.Lease(session_id=f"s{number}", limit=1))).withdrawals
    about = {"session_id": f"s{number}", "result": "refused"}
    said = [Answer(withdrawal_id=one.withdrawal_id, **about) for one in wanted]  # type: ignore[arg-type]
    return [await hub.withdrawing.answer(each) for each in said]


async def leave(hub: Hub, number: int) -> object:
    return await hub.unregister(shapes.Who(session_id=f"s{number}"))


async def offer(hub: Hub, number: int) -> object:
    about = {"session_id": f"claude:{number}", "turn": number}
    ids = list(hub.board.open)[:number]
    hub.store.commit(
        [
            Record(hosted.OFFERED, {**about, "reminder_ids": ids}),
            Record(hosted.TURN, {**about, "at_ms": 1_000 * number}),
            Record(hosted.DECLINED, {**about, "calls": [f"call {number}"]}),
        ]
    )
    return None


async def wait(hub: Hub, number: int) -> object:
    clock = hub._clock
    assert isinstance(clock, Clock)
    clock.pass_seconds(10 * number)
    return hub.sweep()


async def save(hub: Hub, _: int) -> object:
    return await hub.store.save()


ACTIONS: list[Action] = [
    register_one,
    register_one,
    send,
    send,
    take,
    take,
    revoke,
    clear,
    answer,
    leave,
    offer,
    wait,
    save,
]
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 5)), max_size=30)


async def play(hub: Hub, steps: list[tuple[Action, int]]) -> None:
    for action, number in steps:
        with suppress(CallerError):
            await action(hub, number)


@settings(max_examples=80, deadline=None)
@given(before=STEPS, after=STEPS, size=st.sampled_from([1, 300, 256 * 1024]))
def test_a_board_restored_from_a_snapshot_is_the_fold_of_all_records(
    before: list[tuple[Action, int]], after: list[tuple[Action, int]], size: int
) -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        snapshot.PART_BYTES, usual = size, snapshot.PART_BYTES
        try:
            await play(hub, before)
            await hub.store.save()
        finally:
            snapshot.PART_BYTES = usual
        board, cursor = snapshot.restored(hub.store.log)
        assert (cursor, seen(board)) == (hub.store.cursor, seen(folded(hub.store.log)))
        await play(hub, after)
        opened = Store(hub.store.log)
        assert seen(opened.board) == seen(folded(hub.store.log)) == seen(hub.board)
        assert (opened.cursor, opened.saved) == (hub.store.cursor, hub.store.saved)

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_hub_goes_on_from_its_snapshot_after_everything_before_it_was_purged(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = file_hub(tmp_path / "hub.db", clock)
        await register(hub, "s")
        name = await remind(hub, "one", {"session": "s"})
        await hub.store.save()
        late = await remind(hub, "two", {"session": "s"})
        log = hub.store.log
        assert log.purge(TOPIC, hub.store.saved) is not None
        expected = seen(hub.board)
        log.close()
        again = file_hub(tmp_path / "hub.db", clock)
        assert seen(again.board) == expected
        assert await lease(again, "s") == [name, late]
        assert again.store.log.verify().checkpoints[0].topic == TOPIC
        again.store.log.close()

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_records_written_while_a_snapshot_is_written_are_replayed_after_it() -> None:
    class Slow(MemoryLog):
        """Lets the event loop write while a snapshot is half written."""

        def append(self, topic: str, kind: str, payload: object):  # type: ignore[no-untyped-def, override]
            if topic == snapshot.TOPIC:
                asyncio.run_coroutine_threadsafe(meanwhile(), loop).result(DEADLINE)
            return super().append(topic, kind, payload)  # type: ignore[arg-type]

    async def meanwhile() -> None:
        hub.store.commit([Record(letters.REVOKED, {"reminder_id": names.pop()})])

    async def scene() -> None:
        nonlocal hub, loop
        loop = asyncio.get_running_loop()
        hub = Hub(Store(Slow()), clock=Clock())
        names.extend([await remind(hub, str(number), {"all": True}) for number in range(5)])
        taken_at = hub.store.cursor
        await hub.store.save()
        assert (hub.store.saved, hub.store.cursor, len(hub.board.open)) == (taken_at, taken_at + 1, 4)
        assert seen(Store(hub.store.log).board) == seen(hub.board)

    names: list[str] = []
    hub: Hub
    loop: asyncio.AbstractEventLoop
    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_snapshot_that_was_not_completed_does_not_count() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        await hub.store.save()
        hub.store.log.append(snapshot.TOPIC, snapshot.PART, {"board": {"sessions": [{"session_id": "no"}]}})
        await register(hub, "t")
        assert list(Store(hub.store.log).board.sessions) == ["s", "t"]
        await hub.store.save()
        assert list(Store(hub.store.log).board.sessions) == ["s", "t"]

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_nothing_new_gives_no_new_snapshot() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await hub.store.save()
        await register(hub, "s")
        await hub.store.save()
        await hub.store.save()
        assert hub.store.log.latest(snapshot.TOPIC) == 1

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


@pytest.mark.parametrize("payload", [{"cursor": 1}, {"cursor": 1, "before": 0, "board": {"open": [5]}}])
def test_a_snapshot_that_cannot_be_read_is_told(payload: dict[str, object]) -> None:
    with open_log("memory:") as log:
        log.append(snapshot.TOPIC, snapshot.SNAPSHOT, payload)
        with pytest.raises(LogCorruptError, match="snapshot 1 cannot be read"):
            Store(log)
