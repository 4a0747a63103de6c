"""Taking back what a joined session has, with a real hub: queued, pending, races, and a hub that dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

import tidings as td
from tests.hub.desks import DEADLINE
from tests.hub.running import place_in, running
from tests.hub.test_attached import until_acknowledged, until_waiting
from tests.hub.test_kill import Process
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.bridge.rpc import INVALID_PARAMS, RpcError
from tidings.core.reminder import Payload
from tidings.hub import Attached
from tidings.hub.client import ask
from tidings.hub.complying import Done
from tidings.hub.failure import HubError
from tidings.hub.place import Place, place_of
from tidings.hub.store import TOPIC
from tidings.hub.withdrawal import WithdrawalRow
from tidings.log import open_log

WAIT: Payload = {"waitSeconds": 20}


def run(work: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(work, DEADLINE))


async def send(socket: str, name: str, to: Mapping[str, object] | None = None, **more: object) -> None:
    params = {"id": name, "body": f"{name} happened.", "to": to or {"session": "s"}, **more}
    await ask(socket, "hub/remind", params)


def test_a_queued_reminder_is_taken_out_of_the_mailbox_and_the_model_never_sees_it(tmp_path: Path) -> None:
    async def scene() -> None:
        session, socket = td.Session("s"), place_in(tmp_path).socket
        async with running(tmp_path), Attached(session, socket=socket):
            for name in ("r1", "r2"):
                await send(socket, name)
            await until_waiting(session, 2)
            await until_acknowledged(socket, 2)
            answer = await ask(socket, "hub/revoke", {"reminderId": "r1", **WAIT})
            assert answer == {
                "status": "revoked",
                "reminderId": "r1",
                "removedCount": 1,
                "sessions": [{"sessionId": "s", "outcome": "revoked", "removedCount": 1}],
            }
            again = await ask(socket, "hub/revoke", {"reminderId": "r1", **WAIT})
            assert (again["status"], again["removedCount"]) == ("already_revoked", 0)
            model = ScriptedModel(["ok"])
            await td.agent_loop("Go.", model=model, session=session)
        assert ("r1 happened." in str(model.requests), "r2 happened." in str(model.requests)) == (
            False,
            True,
        )

    run(scene())


def test_what_stands_in_the_transcript_is_too_late_to_revoke_and_is_cleared_from_the_next_request(
    tmp_path: Path,
) -> None:
    session, socket = td.Session("s"), place_in(tmp_path).socket

    @td.tool(read_only=True)
    async def take_back() -> str:
        """Take back what the first request showed."""
        with pytest.raises(RpcError) as late:
            await ask(socket, "hub/revoke", {"reminderId": "r1", **WAIT})
        assert (late.value.code, late.value.data) == (
            INVALID_PARAMS,
            {
                "reason": "already_delivered",
                "reminderId": "r1",
                "sessions": [{"sessionId": "s", "outcome": "already_delivered", "removedCount": 0}],
            },
        )
        answer = await ask(socket, "hub/clear", {"id": "r1", **WAIT})
        assert (answer["removedCount"], answer["sessions"]) == (
            1,
            [{"sessionId": "s", "outcome": "cleared", "removedCount": 1}],
        )
        return "done"

    async def scene() -> None:
        async with running(tmp_path), Attached(session, socket=socket):
            await send(socket, "r1")
            await until_waiting(session, 1)
            model = ScriptedModel([call("take_back"), "ok"])
            result = await td.agent_loop("Go.", model=model, session=session, tools=[take_back])
        assert result.status == "done"
        assert ["r1 happened." in str(request) for request in model.requests] == [True, False]
        assert session.transcript.pending == ()

    run(scene())


def test_a_clear_reaches_two_sessions_or_the_one_that_is_named(tmp_path: Path) -> None:
    async def scene() -> None:
        one, two, socket = td.Session("one"), td.Session("two"), place_in(tmp_path).socket
        async with running(tmp_path), Attached(one, socket=socket), Attached(two, socket=socket):
            for name in ("r1", "r2"):
                await send(socket, name, {"all": True}, tags=[name], dedupeKey="k")
            for each in (one, two):
                await until_waiting(each, 2)
            first = await ask(socket, "hub/clear", {"tag": "r1", "sessionId": "one", **WAIT})
            assert (first["removedCount"], [item.id for item in one.stored.mailbox.items]) == (1, ["r2"])
            assert len(two.stored.mailbox.items) == 2
            rest = await ask(socket, "hub/clear", {"dedupeKey": "k", **WAIT})
            assert (one.stored.mailbox.items, two.stored.mailbox.items) == ((), ())
            assert [each["removedCount"] for each in rest["sessions"]] == [1, 2]  # type: ignore[attr-defined]

    run(scene())


def test_a_revoke_and_a_seam_have_one_winner_and_the_sender_learns_which(tmp_path: Path) -> None:
    async def revoked(socket: str, name: str) -> str:
        try:
            return str((await ask(socket, "hub/revoke", {"reminderId": name, **WAIT}))["status"])
        except RpcError as error:
            return str((error.data or {})["reason"])

    async def scene() -> None:
        session, socket = td.Session("s", log=open_log("memory:")), place_in(tmp_path).socket
        names = [f"r{number}" for number in range(24)]
        async with running(tmp_path), Attached(session, socket=socket):
            for name in names:
                await send(socket, name)
            await until_waiting(session, len(names))
            await until_acknowledged(socket, len(names))
            racing = [asyncio.create_task(revoked(socket, name)) for name in names]
            await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
            model = ScriptedModel(["ok"])
            await td.agent_loop("Go.", model=model, session=session)
            told = dict(zip(names, await asyncio.gather(*racing), strict=True))
        assert set(told.values()) <= {"revoked", "already_delivered"}
        seen = {name for name in names if f"{name} happened." in str(model.requests)}
        assert seen == {name for name, status in told.items() if status == "already_delivered"}
        assert "revoked" in told.values()

    run(scene())


def test_a_session_that_leaves_keeps_what_it_has_and_the_sender_is_told(tmp_path: Path) -> None:
    async def never(row: WithdrawalRow) -> Done:
        leaving.set()
        await asyncio.Event().wait()
        raise AssertionError(row)

    leaving = asyncio.Event()

    async def scene() -> None:
        session, socket = td.Session("s"), place_in(tmp_path).socket
        async with running(tmp_path):
            async with Attached(session, socket=socket, withdraw=never):
                await send(socket, "r1")
                await until_acknowledged(socket, 1)
                asking = asyncio.create_task(ask(socket, "hub/revoke", {"reminderId": "r1", **WAIT}))
                await leaving.wait()
            with pytest.raises(RpcError) as late:
                await asking
            (row,) = (late.value.data or {})["sessions"]  # type: ignore[misc]
            assert (row["sessionId"], row["outcome"]) == ("s", "lapsed")

    run(scene())


def test_a_session_that_refuses_says_so_and_notes_why(tmp_path: Path) -> None:
    async def refuse(row: WithdrawalRow) -> Done:
        raise RpcError(INVALID_PARAMS, f"not {row.revoke}")

    async def scene() -> None:
        log = open_log("memory:")
        session, socket = td.Session("s", log=log), place_in(tmp_path).socket
        async with running(tmp_path), Attached(session, socket=socket, withdraw=refuse):
            await send(socket, "r1")
            await until_acknowledged(socket, 1)
            with pytest.raises(RpcError, match="already_delivered"):
                await ask(socket, "hub/revoke", {"reminderId": "r1", **WAIT})
        notes = list(log.read("transcript.reminder.lifecycle", kind_prefix="transcript.reminder.warning"))
        assert [(one.payload["message"], one.payload["reminder_id"]) for one in notes] == [("not r1", "r1")]

    run(scene())


def test_a_session_whose_reminders_go_elsewhere_is_asked_only_if_it_can_take_them_back(
    tmp_path: Path,
) -> None:
    async def elsewhere(_: object) -> None:
        """Somewhere else."""

    async def scene() -> None:
        session, socket = td.Session("s"), place_in(tmp_path).socket
        async with running(tmp_path), Attached(session, socket=socket, deliver=elsewhere):
            await send(socket, "r1")
            await until_acknowledged(socket, 1)
            answer = await ask(socket, "hub/clear", {"id": "r1", "sessionId": "s", **WAIT})
            assert answer["sessions"] == [{"sessionId": "s", "outcome": "not_able", "removedCount": 0}]

    run(scene())


class Once:
    """Takes back as the session does, and counts; the first time it holds on until it is let go."""

    def __init__(self, session: td.Session) -> None:
        self.session = session
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.times = 0

    async def __call__(self, row: WithdrawalRow) -> Done:
        assert row.clear is not None
        self.times += 1
        count = self.session.clear(tag=row.clear.tag)
        self.asked.set()
        await self.go_on.wait()
        return Done("cleared", count)


async def patiently(place: Place, method: str, params: Payload) -> Payload:
    """Ask a hub that may be starting."""
    while True:
        with suppress(HubError):
            return await ask(place.socket, method, params)
        await asyncio.sleep(0.02)


def test_a_hub_killed_between_question_and_answer_gets_it_from_the_one_application_after_its_restart(
    tmp_path: Path,
) -> None:
    environ = {**os.environ, "TIDINGS_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    place, session = place_of(environ), td.Session("s")
    tagged: Payload = {"tag": "t", "sessionId": "s"}

    async def scene() -> None:
        hub = Process(environ)
        await hub.start()
        try:
            once = Once(session)
            async with Attached(session, socket=place.socket, workspace=str(tmp_path), withdraw=once):
                await send(place.socket, "r1", tags=["t"])
                await until_waiting(session, 1)
                asking = asyncio.create_task(ask(place.socket, "hub/clear", {**tagged, **WAIT}))
                await once.asked.wait()
                assert await hub.end(signal.SIGKILL) == -signal.SIGKILL
                with pytest.raises(HubError):
                    await asking
                once.go_on.set()
                await hub.start()
                await patiently(
                    place, "hub/remind", {"id": "r2", "body": "r2", "to": {"session": "s"}, "tags": ["t"]}
                )
                await until_waiting(session, 1)
            assert [item.id for item in session.stored.mailbox.items] == ["r2"]
            assert once.times == 1
        finally:
            await hub.end(signal.SIGTERM)

    run(scene())
    with open_log(place.database) as log:
        told = [one for one in log.read(TOPIC) if one.kind.startswith("hub.withdrawal.")]
    assert [one.kind for one in told] == ["hub.withdrawal.asked", "hub.withdrawal.answered"]
    assert (told[1].payload["result"], told[1].payload["removed_count"]) == ("cleared", 1)
