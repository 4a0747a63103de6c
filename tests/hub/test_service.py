"""The hub without a wire: whom a reminder reaches, when, how often, and what a restart changes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest

from tests.hub.desks import DEADLINE, Clock, acknowledge, file_hub, lease, memory_hub, register, remind
from tidings.bridge.rpc import RpcError
from tidings.core.mailbox import RevokeError
from tidings.core.reminder import Payload
from tidings.core.trust import LIMITS
from tidings.errors import CallerError, DiagnosticError, DuplicateReminderError
from tidings.hub import service, shapes
from tidings.hub.envelope import Unaddressed
from tidings.hub.failure import HubFullError, UnknownSessionError
from tidings.hub.service import Hub
from tidings.hub.store import TOPIC

ALL: Payload = {"all": True}


def run(work: Coroutine[object, object, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work

    asyncio.run(bounded())


def test_a_reminder_reaches_who_is_there_and_who_comes_within_its_time() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await register(hub, "first", tags=["ci"])
        answer = await hub.remind({"body": "red", "to": {"tag": "ci"}, "deliverWithin": 60})
        assert (answer.state, answer.sessions, answer.deliver_until_ms) == (
            "waiting",
            ["first"],
            clock() + 60_000,
        )
        clock.pass_seconds(50)
        hub.heartbeat(shapes.Who(session_id="first"))
        assert (await register(hub, "second", tags=["ci"])).waiting == 1
        assert await lease(hub, "second") == [answer.reminder_id]
        clock.pass_seconds(10)
        await register(hub, "third", tags=["ci"])
        assert await lease(hub, "third") == []
        assert await lease(hub, "first") == []

    run(scene())


def test_a_session_may_start_a_moment_after_the_reminder_for_it() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        name = await remind(hub, "hello", {"session": "s"})
        assert (await register(hub, "s")).waiting == 1
        assert await lease(hub, "s") == [name]

    run(scene())


def test_the_default_time_is_ten_minutes() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await remind(hub, "hello", {"session": "s"})
        clock.pass_seconds(599.999)
        assert hub.status().reminders["waiting"] == 1
        clock.pass_seconds(0.001)
        assert hub.status().reminders == {
            "waiting": 0, "leased": 0, "acknowledged": 0, "expired": 1, "revoked": 0,
        }  # fmt: skip

    run(scene())


def test_what_a_host_does_not_acknowledge_is_given_again_and_what_it_does_never() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await register(hub, "s")
        name = await remind(hub, "hello", {"session": "s"})
        assert await lease(hub, "s") == [name]
        assert await lease(hub, "s") == []
        clock.pass_seconds(service.LEASE_SECONDS)
        assert await lease(hub, "s") == [name]
        assert await acknowledge(hub, "s", name) == 1
        assert await acknowledge(hub, "s", name) == 0
        clock.pass_seconds(service.LEASE_SECONDS)
        assert await lease(hub, "s") == []

    run(scene())


def test_a_host_that_waits_is_woken_by_a_reminder() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s", workspace="/")
        waiting = asyncio.create_task(lease(hub, "s", waitSeconds=20))
        await asyncio.sleep(0)
        name = await remind(hub, "hello", {"workspace": "/"})
        assert await waiting == [name]

    run(scene())


def test_a_session_whose_host_waits_is_not_silent() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = memory_hub(clock)
        await register(hub, "s")
        waiting = asyncio.create_task(lease(hub, "s", waitSeconds=20))
        await asyncio.sleep(0)
        clock.pass_seconds(service.HEARTBEAT_SECONDS)
        name = await remind(hub, "hello", ALL)
        assert await waiting == [name]

    run(scene())


def test_a_host_of_before_gets_nothing_more_when_its_session_registers_again() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        former = asyncio.create_task(lease(hub, "s", waitSeconds=20))
        await asyncio.sleep(0)
        await register(hub, "s")
        name = await remind(hub, "hello", {"session": "s"})
        assert await former == []
        assert await lease(hub, "s", waitSeconds=20) == [name]

    run(scene())


def test_a_text_beyond_what_a_host_may_send_is_cut_with_a_record() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await remind(hub, "x" * 40_000, ALL, id="r1")
        (row,) = hub.pending(shapes.Pending()).reminders
        assert len(str(row.reminder["body"]).encode()) <= LIMITS["host"]
        (told,) = hub.store.log.read(TOPIC, kind_prefix="transcript.reminder.restricted")
        assert (told.payload["reminder_id"], told.payload["field"]) == ("r1", "body")
        await remind(hub, "x" * 40_000, ALL, id="r1")

    run(scene())


def test_a_list_is_bounded_and_counts_what_it_leaves_out() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        for name in ("r1", "r2", "r3"):
            await remind(hub, name, {"session": "s"}, id=name)
        for asked in (shapes.Pending(limit=2), shapes.Pending(limit=2, session_id="s")):
            answer = hub.pending(asked)
            assert (answer.pending_count, [row.reminder_id for row in answer.reminders]) == (
                3,
                ["r1", "r2"],
            )
        assert hub.pending(shapes.Pending(session_id="other")).pending_count == 0

    run(scene())


def test_a_silent_session_is_forgotten_and_what_it_held_waits_for_its_return() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = Hub(memory_hub(clock).store, clock=clock, lease_seconds=300)
        await register(hub, "s")
        name = await remind(hub, "hello", ALL)
        assert await lease(hub, "s") == [name]
        clock.pass_seconds(service.HEARTBEAT_SECONDS)
        assert hub.sessions(shapes.Sessions()).sessions == []
        with pytest.raises(UnknownSessionError):
            hub.heartbeat(shapes.Who(session_id="s"))
        assert (await register(hub, "s")).waiting == 1
        assert await lease(hub, "s") == [name]

    run(scene())


def test_who_registers_again_gets_at_once_what_it_may_have_missed() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        first = await remind(hub, "one", {"session": "s"})
        second = await remind(hub, "two", {"session": "s"})
        assert await lease(hub, "s") == [first, second]
        await acknowledge(hub, "s", first)
        assert (await register(hub, "s")).waiting == 1
        assert await lease(hub, "s") == [second]

    run(scene())


def test_a_heartbeat_keeps_a_session_and_unregistering_gives_back_what_it_held() -> None:
    async def scene() -> None:
        clock = Clock()
        hub = Hub(memory_hub(clock).store, clock=clock, lease_seconds=300)
        await register(hub, "s", agent="helper", workspace="/", tags=["a", "a"], capabilities={"x": 1})
        await remind(hub, "hello", ALL)
        await lease(hub, "s")
        clock.pass_seconds(40)
        assert hub.heartbeat(shapes.Who(session_id="s")).waiting == 0
        clock.pass_seconds(40)
        (row,) = hub.sessions(shapes.Sessions()).sessions
        assert row == shapes.SessionRow(
            session_id="s", agent="helper", workspace="/", tags=["a"], capabilities={"x": 1}, waiting=0,
            silent_seconds=40.0, state="live", started_ms=1_000_000, ended_ms=None, records=0,
            delivery="unknown",
        )  # fmt: skip
        assert (await hub.unregister(shapes.Who(session_id="s"))).waiting == 1
        assert hub.sessions(shapes.Sessions()).sessions == []

    run(scene())


def test_the_same_id_again_is_acknowledged_without_effect_and_with_other_content_refused() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        assert await remind(hub, "hello", ALL, id="mine") == "mine"
        assert await remind(hub, "hello", ALL, id="mine") == "mine"
        assert hub.pending(shapes.Pending()).pending_count == 1
        for body, to in (("other", ALL), ("hello", {"session": "s"})):
            with pytest.raises(DuplicateReminderError):
                await remind(hub, body, to, id="mine")

    run(scene())


def test_revoke_and_clear_take_back_what_no_host_has() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        first = await remind(hub, "one", {"session": "s"}, tags=["t"])
        second = await remind(hub, "two", {"session": "s"}, tags=["t"], dedupeKey="k")
        third = await remind(hub, "three", {"session": "s"})
        assert await lease(hub, "s", limit=1) == [first]
        with pytest.raises(RevokeError, match="already_delivered"):
            await hub.revoke(shapes.Revoke(reminder_id=first))
        with pytest.raises(RevokeError, match="unknown_reminder_id"):
            await hub.revoke(shapes.Revoke(reminder_id="x"))
        assert (await hub.clear(shapes.Clear(tag="t"))).removed_count == 1
        assert (await hub.revoke(shapes.Revoke(reminder_id=second))).status == "already_revoked"
        assert (await hub.revoke(shapes.Revoke(reminder_id=third))).status == "revoked"
        assert await lease(hub, "s") == []
        with pytest.raises(DiagnosticError, match="HARN-RMD-001"):
            await hub.clear(shapes.Clear())

    run(scene())


def test_bad_requests_name_the_field_and_write_nothing() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        with pytest.raises(DiagnosticError) as wrong:
            await hub.remind({"content": "x", "to": ALL, "mode": "never"})
        assert [problem.code for problem in wrong.value.problems] == ["HARN-RMD-002"] * 3
        with pytest.raises(RpcError, match="missing required field `to`"):
            await hub.remind({"body": "x"})
        with pytest.raises(RpcError, match="`deliverWithin`: Expected `float` > 0"):
            await hub.remind({"body": "x", "to": ALL, "deliverWithin": 0})
        with pytest.raises(CallerError, match="give an absolute path"):
            await hub.remind({"body": "x", "to": {"workspace": "here"}})
        with pytest.raises(CallerError, match="`workspace` is 'here'; give an absolute path"):
            await register(hub, "s", workspace="here")
        with pytest.raises(CallerError, match="`capabilities` has 20008 bytes"):
            await register(hub, "s", capabilities={"x": "y" * 20_000})
        with pytest.raises(Unaddressed, match="reminder 'x' is not known"):
            await acknowledge(hub, "s", "x")
        with pytest.raises(UnknownSessionError):
            await lease(hub, "s")
        assert hub.store.cursor == 0

    run(scene())


def test_what_is_too_much_is_refused_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "OPEN_MOST", 1)
    monkeypatch.setattr(service, "SESSIONS_MOST", 1)

    async def scene() -> None:
        hub = memory_hub(Clock())
        await remind(hub, "one", ALL, id="one")
        with pytest.raises(HubFullError):
            await remind(hub, "two", ALL)
        await remind(hub, "one", ALL, id="one")
        await register(hub, "s")
        await register(hub, "s", agent="again")
        with pytest.raises(HubFullError):
            await register(hub, "t")
        assert await lease(hub, "s") == ["one"]

    run(scene())


def test_a_hub_that_starts_again_is_where_it_was(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        hub = file_hub(tmp_path / "hub.db", clock)
        await register(hub, "s", workspace=str(tmp_path))
        done = await remind(hub, "done", {"session": "s"})
        held = await remind(hub, "held", {"workspace": str(tmp_path)})
        await lease(hub, "s")
        await acknowledge(hub, "s", done)
        waits = await remind(hub, "waits", ALL)
        before = (hub.board.sessions, hub.board.open, hub.board.finished)
        hub.store.log.close()

        again = file_hub(tmp_path / "hub.db", clock)
        assert (again.board.sessions, again.board.open, again.board.finished) == before
        assert await lease(again, "s") == [waits]
        clock.pass_seconds(service.LEASE_SECONDS)
        assert await lease(again, "s") == [held, waits]
        again.store.log.close()

    run(scene())


def test_a_link_and_its_target_are_one_workspace(tmp_path: Path) -> None:
    async def scene() -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        hub = memory_hub(Clock())
        await register(hub, "s", workspace=str(tmp_path / "link"))
        name = await remind(hub, "hello", {"workspace": str(tmp_path / "real")})
        assert await lease(hub, "s") == [name]

    run(scene())


def test_what_a_part_of_the_hub_sends_is_external_by_its_origin_and_held_to_its_grants() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        await register(hub, "s")
        sent: Payload = {
            "id": "r1", "body": "red", "to": ALL, "propagate": "all", "preserveOnCompact": True,
            "mode": "interrupt_immediate",
        }  # fmt: skip
        await hub.remind(sent, origin="tidings/files", grants=frozenset(("preserve_on_compact",)))
        with pytest.raises(DuplicateReminderError):
            await hub.remind(sent)
        (row,) = (await hub.lease(shapes.Lease(session_id="s"))).reminders
        assert (row.origin, row.grants, row.mode) == (
            "tidings/files", ["preserve_on_compact"], "finish_step",
        )  # fmt: skip
        kept = (row.reminder["propagate"], row.reminder["preserve_on_compact"])
        assert kept == ("session", True)
        cut = hub.store.log.read(TOPIC, kind_prefix="transcript.reminder.restricted")
        assert [(one.payload["field"], one.payload["origin"]) for one in cut] == [
            ("propagate", "tidings/files"),
            ("mode", "tidings/files"),
        ]
        (listed,) = hub.pending(shapes.Pending()).reminders
        assert listed.origin == "tidings/files"

    run(scene())


def test_an_origin_is_never_read_from_a_request() -> None:
    async def scene() -> None:
        hub = memory_hub(Clock())
        for beside in ({"origin": "x"}, {"_meta": {"tidings": {"trust": "operator", "origin": "x"}}}):
            try:
                await hub.remind({"body": "red", "to": {"session": "s"}, **beside})
            except DiagnosticError:
                continue
        await register(hub, "s")
        rows = (await hub.lease(shapes.Lease(session_id="s"))).reminders
        assert [(row.origin, row.grants, "_meta" in row.reminder) for row in rows] == [(None, [], False)]

    run(scene())
