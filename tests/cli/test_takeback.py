"""`tidings revoke` and `tidings clear` in real processes, and a session of a loop that has reminders."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest

import tidings as td
from tests.cli.test_hub import Shell
from tests.hub.test_attached import until_acknowledged, until_waiting
from tidings.agent.models.scripted import ScriptedModel
from tidings.bridge.door.call import call
from tidings.cli.takeback import WORDS
from tidings.hub import Attached
from tidings.hub.client import ask
from tidings.hub.complying import Done
from tidings.hub.place import place_of
from tidings.hub.shapes import Outcome
from tidings.hub.withdrawal import WithdrawalRow

DEADLINE = 60


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    started = Shell(tmp_path)
    started.json("up", "--detach", "--port", "0")
    yield started
    assert started.run("down").returncode == 0


async def typed(shell: Shell, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(shell.run, *arguments)


@asynccontextmanager
async def joined(shell: Shell, name: str = "api", **more: object) -> AsyncIterator[td.Session]:
    session = td.Session(name)
    about = {"socket": place_of(shell.environ).socket, "workspace": str(shell.folder), **more}
    async with Attached(session, **about):  # type: ignore[arg-type]
        yield session


async def sent(shell: Shell, name: str) -> None:
    params = {"id": name, "body": f"{name} happened", "to": {"session": "api"}}
    await ask(place_of(shell.environ).socket, "hub/remind", params)


def test_every_outcome_has_its_words() -> None:
    results, beside = get_args(Outcome)
    assert set(WORDS) == {*get_args(results), *get_args(beside)}


def test_what_is_queued_in_a_session_is_taken_back_and_what_stands_is_cleared(shell: Shell) -> None:
    async def scene() -> None:
        socket = place_of(shell.environ).socket
        async with joined(shell) as session:
            for name in ("r1", "r2"):
                await sent(shell, name)
            await until_waiting(session, 2)
            await until_acknowledged(socket, 2)
            done = await typed(shell, "revoke", "r1")
            assert (done.returncode, done.stdout) == (
                0, "taken back: r1\n  api: taken out of its mailbox\n",
            )  # fmt: skip
            await td.agent_loop("Go.", model=ScriptedModel(["ok"]), session=session)
            late = await typed(shell, "revoke", "r2")
            assert (late.returncode, late.stdout, late.stderr) == (
                2,
                "",
                "tidings: too late to take back r2\n  api: it stands in the transcript already\n"
                "`tidings clear --id r2` removes it from the next requests of those sessions\n",
            )
            cleared = await typed(shell, "clear", "--id", "r2")
            assert (cleared.returncode, cleared.stdout) == (0, "1 taken back\n  api: 1 removed\n")
            assert session.transcript.pending == ()

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_one_session_is_cleared_by_its_name_with_what_it_has_of_its_own(shell: Shell) -> None:
    async def scene() -> None:
        async with joined(shell) as api, joined(shell, "web") as web:
            for session in (api, web):
                session.remind(body="mine", id="own", tags=["t"])
            done = await typed(shell, "clear", "--tag", "t", "--session", "web", "--json")
            assert json.loads(done.stdout) == {
                "removedCount": 1,
                "sessions": [{"sessionId": "web", "outcome": "cleared", "removedCount": 1}],
            }
            assert (len(api.stored.mailbox.items), len(web.stored.mailbox.items)) == (1, 0)
            done = await typed(shell, "revoke", "own", "--session", "api")
            assert (done.returncode, done.stdout) == (
                0, "taken back: own\n  api: taken out of its mailbox\n",
            )  # fmt: skip

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_a_session_that_does_not_answer_is_named_and_the_exit_code_is_1(shell: Shell) -> None:
    async def never(row: WithdrawalRow) -> Done:
        await asyncio.Event().wait()
        raise AssertionError(row)

    async def scene() -> None:
        async with joined(shell, withdraw=never):
            await sent(shell, "r1")
            await until_acknowledged(place_of(shell.environ).socket, 1)
            done = await typed(shell, "revoke", "r1", "--wait", "0")
            assert (done.returncode, done.stdout) == (
                1, "not taken back yet: r1\n  api: asked, and has not answered yet\n",
            )  # fmt: skip
            done = await typed(shell, "clear", "--id", "r1", "--wait", "0")
            assert (done.returncode, done.stdout) == (
                1, "0 taken back\n  api: asked, and has not answered yet\n",
            )  # fmt: skip

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))


def test_what_went_to_a_folder_is_too_late_for_those_who_have_it_and_nobody_else_gets_it(
    shell: Shell,
) -> None:
    socket = place_of(shell.environ).socket
    call(socket, "hub/register", {"sessionId": "old", "workspace": str(shell.folder)})
    name = str(shell.json("remind", "here")["reminderId"])
    call(socket, "hub/lease", {"sessionId": "old"})
    call(socket, "hub/acknowledge", {"sessionId": "old", "reminderIds": [name]})
    done = shell.run("revoke", name)
    assert (done.returncode, done.stdout) == (
        2,
        f"too late for those who have {name}; nobody else gets it\n  old: its host takes nothing back\n",
    )
    unable = shell.run("clear", "--id", name, "--session", "old")
    assert (unable.returncode, unable.stdout) == (1, "0 taken back\n  old: its host takes nothing back\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("clear",), "HARN-RMD-001"),
        (("clear", "--session", "nobody", "--tag", "t"), "session 'nobody' is not registered"),
        (("revoke", "r1", "--session", "nobody"), "session 'nobody' is not registered"),
        (("revoke", "r1", "--wait", "51"), "--wait"),
        (("clear", "--tag", "t", "--wait", "soon"), "--wait"),
    ],
)
def test_wrong_questions_are_told_what_is_wrong(
    shell: Shell, arguments: tuple[str, ...], told: str
) -> None:
    done = shell.run(*arguments)
    assert (done.returncode, told in done.stderr) == (2, True)
