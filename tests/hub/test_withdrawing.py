"""Taking back what sessions have: who is asked, what the sender learns, and what cannot be done."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

from tests.hub.desks import DEADLINE, Clock, acknowledge, file_hub, lease, memory_hub, register, remind
from tidings.core.mailbox import RevokeError
from tidings.core.reminder import Payload
from tidings.errors import CallerError, DiagnosticError
from tidings.hub import service, shapes, withdrawing
from tidings.hub.envelope import Delivery
from tidings.hub.failure import HubFullError, NotThereError, UnknownSessionError
from tidings.hub.service import Hub
from tidings.hub.shapes import Reached
from tidings.hub.store import TOPIC
from tidings.hub.takeback import DeliveredError
from tidings.hub.withdrawal import Chosen, Result, WithdrawalRow

ALL: Payload = {"all": True}
ABLE: Payload = {"withdraw": True}


def run(work: Coroutine[object, object, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work

    asyncio.run(bounded())


async def able(hub: Hub, *names: str) -> None:
    for name in names:
        await register(hub, name, capabilities=ABLE)


async def given(hub: Hub, name: str, session: str = "s", **more: object) -> None:
    """A reminder that a session's host has acknowledged."""
    await remind(hub, name, {"session": session}, id=name, **more)
    assert await lease(hub, session) == [name]
    await acknowledge(hub, session, name)


async def questions(hub: Hub, name: str) -> list[WithdrawalRow]:
    return (await hub.lease(shapes.Lease(session_id=name))).withdrawals


async def reply(hub: Hub, name: str, row: WithdrawalRow, result: Result, count: int = 0) -> bool:
    said = withdrawing.Answer(
        session_id=name, withdrawal_id=row.withdrawal_id, result=result, removed_count=count
    )
    return (await hub.withdrawing.answer(said)).answered


async def host(hub: Hub, name: str, result: Result, count: int = 0) -> WithdrawalRow:
    """A host that waits for one question, and answers it."""
    (row,) = (await hub.lease(shapes.Lease(session_id=name, wait_seconds=20))).withdrawals
    assert await reply(hub, name, row, result, count)
    return row


def revoke(reminder_id: str, **more: object) -> shapes.Revoke:
    return shapes.Revoke(reminder_id=reminder_id, **{"wait_seconds": 20, **more})  # type: ignore[arg-type]


def kinds(hub: Hub) -> list[tuple[str, object]]:
    told = hub.store.log.read(TOPIC, kind_prefix="hub.withdrawal.")
    return [(one.kind.rpartition(".")[2], one.payload.get("reason")) for one in told]


def test_a_host_that_waits_is_asked_at_once_and_the_sender_hears_its_answer() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await given(hub, "r1")
        waiting = asyncio.create_task(host(hub, "s", "revoked"))
        await asyncio.sleep(0)
        answer = await hub.revoke(revoke("r1"))
        assert answer == shapes.RevokeAnswer(
            status="revoked", reminder_id="r1", removed_count=1,
            sessions=[Reached(session_id="s", outcome="revoked", removed_count=1)],
        )  # fmt: skip
        row = await waiting
        assert (row.revoke, row.clear) == ("r1", None)
        assert kinds(hub) == [("asked", None), ("answered", None)]

    run(scene())


def test_a_seam_that_was_first_wins_and_the_sender_learns_whose() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await given(hub, "r1")
        waiting = asyncio.create_task(host(hub, "s", "already_delivered"))
        with pytest.raises(DeliveredError) as late:
            await hub.revoke(revoke("r1"))
        await waiting
        assert (late.value.reason, [(one.session_id, one.outcome) for one in late.value.reached]) == (
            "already_delivered", [("s", "already_delivered")],
        )  # fmt: skip

    run(scene())


def test_who_does_not_answer_in_time_is_named_and_its_late_answer_is_kept() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await given(hub, "r1")
        answer = await hub.revoke(revoke("r1", wait_seconds=0))
        assert (answer.status, answer.removed_count, answer.sessions) == (
            "asked", 0, [Reached(session_id="s", outcome="asked", removed_count=0)],
        )  # fmt: skip
        (row,) = await questions(hub, "s")
        assert await reply(hub, "s", row, "revoked")
        assert not await reply(hub, "s", row, "revoked")
        (again,) = await asyncio.gather(hub.revoke(revoke("r1", wait_seconds=0)))
        assert again.status == "asked"

    run(scene())


def test_the_same_question_is_asked_once_however_many_wait_for_it() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await given(hub, "r1", tags=["t"])
        clear = shapes.Clear(tag="t", wait_seconds=20)
        asking = asyncio.gather(hub.clear(clear), hub.clear(clear), hub.revoke(revoke("r1")))
        await asyncio.sleep(0)
        rows = await questions(hub, "s")
        assert [(row.revoke, row.clear) for row in rows] == [(None, Chosen(tag="t")), ("r1", None)]
        await reply(hub, "s", rows[0], "cleared", 1)
        await reply(hub, "s", rows[1], "already_revoked")
        one, other, revoked = await asking
        assert (one.removed_count, other.removed_count, revoked.status) == (1, 1, "already_revoked")
        assert one.sessions == [Reached(session_id="s", outcome="cleared", removed_count=1)]

    run(scene())


def test_a_clear_that_a_host_was_given_already_is_asked_anew_for_what_came_since() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        clear = shapes.Clear(tag="t", session_id="s", wait_seconds=0)
        await hub.clear(clear)
        (first,) = await questions(hub, "s")
        await hub.clear(clear)
        (second,) = await questions(hub, "s")
        assert (first.clear, first.withdrawal_id != second.withdrawal_id) == (second.clear, True)

    run(scene())


def test_a_host_is_given_a_question_again_after_a_while_or_when_it_registers_anew() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await able(hub, "s")
        await given(hub, "r1")
        await hub.revoke(revoke("r1", wait_seconds=0))
        first = await questions(hub, "s")
        assert (len(first), await questions(hub, "s")) == (1, [])
        await able(hub, "s")
        assert await questions(hub, "s") == first
        clock.pass_seconds(withdrawing.AGAIN_MS / 1000)
        assert await questions(hub, "s") == first

    run(scene())


def test_a_question_lapses_with_its_time_with_its_session_and_with_a_host_that_is_not_able() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await able(hub, "s", "t", "u")
        for name in ("s", "t", "u"):
            await given(hub, f"r-{name}", name)
        asking = [asyncio.create_task(hub.revoke(revoke(f"r-{name}"))) for name in ("t", "u")]
        await hub.revoke(revoke("r-s", wait_seconds=0))
        (row,) = await questions(hub, "s")
        await hub.unregister(shapes.Who(session_id="t"))
        await register(hub, "u")
        for task, name in zip(asking, ("t", "u"), strict=True):
            with pytest.raises(DeliveredError) as late:
                await task
            assert [(one.session_id, one.outcome) for one in late.value.reached] == [(name, "lapsed")]
        clock.pass_seconds(withdrawing.LAPSE_MS / 1000)
        hub.sweep()
        assert sorted(kinds(hub)[3:]) == [
            ("lapsed", "not_able"), ("lapsed", "session_left"), ("lapsed", "unanswered"),
        ]  # fmt: skip
        assert await reply(hub, "s", row, "revoked")
        (told,) = hub.store.log.read(TOPIC, kind_prefix="hub.withdrawal.answered")
        assert told.payload["late"] is True

    run(scene())


def test_time_ends_each_question_though_nothing_else_happens() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await register(hub, "s", capabilities={**ABLE, "patienceSeconds": 3600})
        clock.pass_seconds(service.HEARTBEAT_SECONDS)
        hub.sweep()
        for tag in ("one", "two"):
            await hub.clear(shapes.Clear(tag=tag, wait_seconds=0))
            clock.pass_seconds(withdrawing.LAPSE_MS / 2000)
        for count in (1, 2):
            hub.sweep()
            assert kinds(hub)[2:] == [("lapsed", "unanswered")] * count
            clock.pass_seconds(withdrawing.LAPSE_MS / 2000)

    run(scene())


def test_what_is_with_a_host_is_not_given_again_whether_it_came_or_not() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await remind(hub, "r1", {"session": "s"}, id="r1")
        assert await lease(hub, "s") == ["r1"]
        waiting = asyncio.create_task(host(hub, "s", "unknown_reminder_id"))
        answer = await hub.revoke(revoke("r1"))
        await waiting
        assert (answer.status, answer.removed_count) == ("revoked", 1)
        await able(hub, "s")
        assert await lease(hub, "s") == []
        found = hub.board.find("r1")
        assert found is not None
        assert (found.state, found.deliveries) == ("revoked", {"s": Delivery("revoked", given=True)})

    run(scene())


def test_what_came_back_from_a_host_that_may_have_it_is_taken_back_there_too() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        await remind(hub, "r1", {"session": "s"}, id="r1")
        await lease(hub, "s")
        await able(hub, "s")
        asking = asyncio.create_task(hub.revoke(revoke("r1")))
        await asyncio.sleep(0)
        await host(hub, "s", "revoked")
        answer = await asking
        assert (answer.status, answer.removed_count) == ("revoked", 1)

    run(scene())


def test_what_came_back_from_a_host_that_cannot_be_asked_is_taken_back_at_the_hub() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        await remind(hub, "r1", {"session": "s"}, id="r1")
        await lease(hub, "s")
        await register(hub, "s")
        answer = await hub.revoke(revoke("r1"))
        assert (answer.status, answer.removed_count, answer.sessions) == ("revoked", 1, [])

    run(scene())


def test_of_two_sessions_one_takes_back_and_one_was_too_late() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s", "t")
        await register(hub, "cannot")
        await remind(hub, "r1", ALL, id="r1")
        for name in ("s", "t", "cannot"):
            await lease(hub, name)
            await acknowledge(hub, name, "r1")
        await register(hub, "waits", capabilities=ABLE)
        hosts = asyncio.gather(host(hub, "s", "revoked"), host(hub, "t", "already_delivered"))
        answer = await hub.revoke(revoke("r1"))
        await hosts
        assert (answer.status, answer.removed_count) == ("revoked", 2)
        assert [(one.session_id, one.outcome, one.removed_count) for one in answer.sessions] == [
            ("s", "revoked", 1), ("t", "already_delivered", 0), ("cannot", "not_able", 0),
        ]  # fmt: skip

    run(scene())


def test_one_session_can_be_named_and_the_others_keep_what_they_have() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s", "t")
        await remind(hub, "r1", ALL, id="r1", tags=["t"])
        await remind(hub, "r2", ALL, id="r2", tags=["t"])
        answer = await hub.revoke(revoke("r1", session_id="s"))
        assert (answer.status, answer.removed_count, answer.sessions) == ("revoked", 1, [])
        assert (await hub.revoke(revoke("r1", session_id="s"))).status == "already_revoked"
        asking = asyncio.create_task(hub.clear(shapes.Clear(tag="t", session_id="s", wait_seconds=20)))
        await asyncio.sleep(0)
        await host(hub, "s", "cleared", 4)
        cleared = await asking
        assert (cleared.removed_count, [one.session_id for one in cleared.sessions]) == (5, ["s"])
        assert (await lease(hub, "s"), await lease(hub, "t")) == ([], ["r1", "r2"])

    run(scene())


def test_a_named_session_gives_back_what_its_host_has_and_the_others_are_not_asked() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s", "t")
        await remind(hub, "r1", ALL, id="r1")
        assert (await lease(hub, "s"), await lease(hub, "t")) == (["r1"], ["r1"])
        asking = asyncio.create_task(hub.revoke(revoke("r1", session_id="s")))
        await asyncio.sleep(0)
        await host(hub, "s", "unknown_reminder_id")
        answer = await asking
        assert (answer.status, answer.sessions) == (
            "revoked", [Reached(session_id="s", outcome="revoked", removed_count=1)],
        )  # fmt: skip
        await able(hub, "s", "t")
        assert (await lease(hub, "s"), await lease(hub, "t")) == ([], ["r1"])

    run(scene())


def test_what_a_host_may_have_is_taken_back_also_when_its_time_at_the_hub_is_over() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await able(hub, "s")
        await remind(hub, "r1", {"session": "s"}, id="r1", deliverWithin=40)
        await lease(hub, "s")
        await able(hub, "s")
        clock.pass_seconds(40)
        asking = asyncio.create_task(hub.revoke(revoke("r1")))
        await asyncio.sleep(0)
        await host(hub, "s", "revoked")
        assert (await asking).status == "revoked"
        late = asyncio.create_task(host(hub, "s", "unknown_reminder_id"))
        await asyncio.sleep(0)
        with pytest.raises(RevokeError, match="expired"):
            await hub.revoke(revoke("r1"))
        await late

    run(scene())


def test_a_reminder_that_only_the_session_knows_is_revoked_by_naming_it() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s")
        waiting = asyncio.create_task(host(hub, "s", "revoked"))
        await asyncio.sleep(0)
        answer = await hub.revoke(revoke("own", session_id="s"))
        await waiting
        assert (answer.status, answer.removed_count) == ("revoked", 1)
        unknown = asyncio.create_task(host(hub, "s", "unknown_reminder_id"))
        await asyncio.sleep(0)
        with pytest.raises(RevokeError, match="unknown_reminder_id"):
            await hub.revoke(revoke("never", session_id="s"))
        await unknown

    run(scene())


def test_a_clear_asks_every_session_that_is_able_or_those_that_have_the_one_with_an_id() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await able(hub, "s", "t")
        await register(hub, "cannot")
        await given(hub, "r1", tags=["x"])
        hosts = asyncio.gather(host(hub, "s", "cleared", 2), host(hub, "t", "cleared", 0))
        await asyncio.sleep(0)
        answer = await hub.clear(shapes.Clear(tag="x", wait_seconds=20))
        assert (answer.removed_count, [one.session_id for one in answer.sessions]) == (2, ["s", "t"])
        await hosts
        exact = await hub.clear(shapes.Clear(id="r1", wait_seconds=0))
        assert [(one.session_id, one.outcome) for one in exact.sessions] == [("s", "asked")]

    run(scene())


def test_what_is_wrong_is_said_and_asks_nobody() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "cannot")
        await register(hub, "gone", capabilities=ABLE)
        await hub.unregister(shapes.Who(session_id="gone"))
        with pytest.raises(DiagnosticError, match="HARN-RMD-001"):
            await hub.clear(shapes.Clear(session_id="cannot"))
        for who in (shapes.Clear(tag="t", session_id="x"), shapes.Clear(id="t", session_id="x")):
            with pytest.raises(UnknownSessionError):
                await hub.clear(who)
        for name in ("x", "gone"):
            with pytest.raises(UnknownSessionError):
                await hub.revoke(revoke("r1", session_id=name))
        with pytest.raises(CallerError, match=r"'cannot' takes nothing back: .*capability `withdraw`"):
            await hub.revoke(revoke("r1", session_id="cannot"))
        unable = await hub.clear(shapes.Clear(tag="t", session_id="cannot"))
        assert [(one.outcome, one.removed_count) for one in unable.sessions] == [("not_able", 0)]
        with pytest.raises(NotThereError, match="session 's' was not asked 'w'; answer what a lease"):
            await hub.withdrawing.answer(
                withdrawing.Answer(session_id="s", withdrawal_id="w", result="revoked")
            )
        assert kinds(hub) == []

    run(scene())


def test_a_session_that_answers_nothing_is_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withdrawing, "OPEN_MOST", 2)

    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await able(hub, "s", "t")
        for tag in ("one", "two"):
            await hub.clear(shapes.Clear(tag=tag, session_id="s", wait_seconds=0))
        with pytest.raises(HubFullError, match="session 's' has not answered 2 questions"):
            await hub.clear(shapes.Clear(tag="three", session_id="s", wait_seconds=0))
        both = await hub.clear(shapes.Clear(tag="three", wait_seconds=0))
        assert [(one.session_id, one.outcome) for one in both.sessions] == [("s", "busy"), ("t", "asked")]
        await hub.clear(shapes.Clear(tag="two", session_id="s", wait_seconds=0))
        clock.pass_seconds(service.HEARTBEAT_SECONDS - 1)
        for name in ("s", "t"):
            hub.heartbeat(shapes.Who(session_id=name))
        clock.pass_seconds(withdrawing.LAPSE_MS / 1000 - service.HEARTBEAT_SECONDS + 1)
        answer = await hub.clear(shapes.Clear(tag="three", session_id="s", wait_seconds=0))
        assert [one.outcome for one in answer.sessions] == ["asked"]

    run(scene())


def test_a_hub_that_starts_again_still_asks_and_takes_the_answer(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = file_hub(tmp_path / "hub.db", clock)
        await able(hub, "s")
        await given(hub, "r1")
        await hub.revoke(revoke("r1", wait_seconds=0))
        first = await questions(hub, "s")
        before = (hub.board.asked, hub.board.withdrawn)
        hub.store.log.close()

        again = file_hub(tmp_path / "hub.db", clock)
        assert (again.board.asked, again.board.withdrawn) == before
        rows = await questions(again, "s")
        assert rows == first
        asking = asyncio.create_task(again.revoke(revoke("r1")))
        await asyncio.sleep(0)
        assert await reply(again, "s", rows[0], "revoked")
        assert (await asking).status == "revoked"
        again.store.log.close()

    run(scene())
