"""Servers that stall, come late, answer junk or 10 MB, in real processes. None is waited for."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conversation.asked import Stage, play, words
from tidings.agent.session import Session
from tidings.core.reminder import Payload
from tidings.mcp.config import Server
from tidings.mcp.conversation.consent import Grant, target_of
from tidings.mcp.conversation.errand import Result
from tidings.mcp.conversation.hosted import HostedPeer, peers_of
from tidings.mcp.conversation.wire import MOST_ITEMS, Item
from tidings.mcp.host.servers import Servers
from tidings.mcp.host.settings import Backoff, Deadlines
from tidings.mcp.host.stdio import TOO_LARGE

SCRIPT = str(Path(__file__).with_name("fake_server.py"))
QUICK = Deadlines(connect=50, probe=30, request=50, stop=10)
ONCE = Backoff(attempts=1)


def fake(log: Path, name: str = "fake", **settings: Any) -> Server:
    """The fake server with these settings; what it reads goes to a file of its name."""
    command = (sys.executable, SCRIPT, json.dumps({"name": name, **settings}))
    era = settings.get("era", "legacy")
    return Server(name=name, command=command, env={"FAKE_LOG": str(log / f"{name}.log")}, era=era)


class Counted:
    """A peer that counts what came back, so that a scene knows when to let the deadline come."""

    def __init__(self, inner: HostedPeer) -> None:
        self.inner = inner
        self.name, self.target, self.notifies = inner.name, inner.target, inner.notifies
        self.sent = self.back = 0

    def capabilities(self) -> Any:
        return self.inner.capabilities()

    async def request(self, method: str, params: Payload) -> object:
        self.sent += 1
        try:
            return await self.inner.request(method, params)
        finally:
            self.back += 1

    async def notify(self, method: str, params: Payload) -> None:
        await self.inner.notify(method, params)
        self.sent += 1


class Scene(Stage):
    """A stage with connected servers."""

    peers: list[Counted]

    async def asked_until(self, holds: Any, **more: Any) -> list[Result]:
        """Ask, and let the deadline come when something holds."""
        asking = asyncio.create_task(self.asker.ask(words(**more)))
        await self.until(lambda: holds() or asking.done())
        self.clock.ring()
        results = await asking
        self.clock.wind()
        return results


@asynccontextmanager
async def connected(
    folder: Path, servers: Sequence[Server], *, granted: bool = True
) -> AsyncIterator[Scene]:
    scene = Scene(folder)
    for server in servers if granted else ():
        scene.consents.grant(Grant(server=server.name, target=target_of(server)))
    session = Session("s1")
    async with Servers(
        servers, session=session, deadlines=QUICK, backoff=ONCE, on_push=scene.asker.heard
    ) as running:
        assert [one.state for one in running.status()] == ["connected"] * len(servers)
        scene.peers = [Counted(peer) for peer in peers_of(running)]
        scene.asker.peers = scene.peers
        yield scene


@pytest.mark.parametrize("form", ["request", "notification"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_without_consent_not_a_byte_of_the_conversation_reaches_a_server(
    tmp_path: Path, era: str, form: str
) -> None:
    async def scene() -> None:
        servers = [fake(tmp_path, era=era, form=form), fake(tmp_path, "granted", era=era, form=form)]
        async with connected(tmp_path, servers, granted=False) as stage:
            stage.consents.grant(Grant(server="granted", target=target_of(servers[1])))
            results = await stage.asker.ask(words("a word that nobody else uses: sesquipedalian"))
            assert [(one.server, one.kind) for one in results] == [
                ("fake", "no_consent"),
                ("granted", "answered"),
            ]
        read = (tmp_path / "fake.log").read_bytes()
        assert b"sesquipedalian" not in read
        assert b"conversation/" not in read
        assert b"sesquipedalian" in (tmp_path / "granted.log").read_bytes()

    play(scene)


def test_eight_servers_of_which_three_hang_cost_one_deadline_and_five_answers_are_used(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        habits = ["stall", "answer", "answer", "stall", "answer", "answer", "stall", "answer"]
        servers = [fake(tmp_path, f"s{number}", habit=habit) for number, habit in enumerate(habits)]
        async with connected(tmp_path, servers) as stage:

            def answered() -> bool:
                return (
                    all(peer.sent for peer in stage.peers) and sum(peer.back for peer in stage.peers) == 5
                )

            results = await stage.asked_until(answered)
            assert [one.kind for one in results] == [
                "late" if one == "stall" else "answered" for one in habits
            ]
            assert [one.items for one in results if one.items] == [
                (Item(f"from s{number}"),) for number in (1, 2, 4, 5, 7)
            ]
            assert stage.clock.slept == [0.5]

    play(scene)


@pytest.mark.parametrize("form", ["request", "notification"])
def test_an_answer_that_comes_with_the_next_message_is_dropped(tmp_path: Path, form: str) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, form=form, habit="late then answer")]) as stage:
            first = await stage.asked_until(lambda: stage.peers[0].sent == 1)
            assert [one.kind for one in first] == ["late"]
            await stage.until(lambda: not stage.asker._fading)
            assert await stage.asker.ask(words(message="m2")) == [
                Result(server="fake", kind="answered", items=(Item("about this one"),))
            ]
            assert stage.asker.counts["fake"]["late"] == 1
            assert stage.asker.counts["fake"]["late_answers"] == int(form == "notification")

    play(scene)


@pytest.mark.parametrize("form", ["request", "notification"])
def test_junk_is_counted_and_nothing_else_of_it_remains(tmp_path: Path, form: str) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, form=form, habit="junk")]) as stage:
            assert await stage.asker.ask(words()) == [Result(server="fake", kind="answered", junk=4)]

    play(scene)


def test_of_thirty_thousand_items_the_first_are_looked_at(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, habit="many")]) as stage:
            [result] = await stage.asker.ask(words())
            assert result.items == tuple(Item(f"item {number}") for number in range(MOST_ITEMS))
            assert result.junk == 30_000 - MOST_ITEMS

    play(scene)


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("habit", ["huge", "brackets"])
def test_ten_megabytes_of_answer_are_not_even_read_and_the_next_message_is_asked_about(
    tmp_path: Path, habit: str, era: str
) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, habit=habit, era=era)]) as stage:
            tally = stage.peers[0].inner._link.intake.tally
            for number in (1, 2):
                assert await stage.asker.ask(words(message=f"m{number}")) == [
                    Result(server="fake", kind="failed", reason=f"MCPError: {TOO_LARGE.message}")
                ]
                assert tally.total["too_large"] == number

    play(scene)


def test_ten_megabytes_that_come_late_are_not_read_either(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, habit="late then huge")]) as stage:
            tally = stage.peers[0].inner._link.intake.tally
            first = await stage.asked_until(lambda: stage.peers[0].sent == 1)
            assert [one.kind for one in first] == ["late"]
            await stage.until(lambda: not stage.asker._fading)
            assert [one.kind for one in await stage.asker.ask(words(message="m2"))] == ["answered"]
            assert tally.total["too_large"] == 1

    play(scene)


def test_ten_megabytes_that_are_pushed_are_not_even_read(tmp_path: Path) -> None:
    async def scene() -> None:
        servers = [fake(tmp_path, form="notification", habit="huge"), fake(tmp_path, "good")]
        async with connected(tmp_path, servers) as stage:
            links = stage.peers[0].inner._link
            results = await stage.asked_until(
                lambda: stage.peers[1].back == 1 and links.intake.tally.total["too_large"] == 1
            )
            assert [(one.server, one.kind) for one in results] == [("fake", "late"), ("good", "answered")]

    play(scene)


def test_a_wrong_message_id_is_nobodys_answer(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, form="notification", habit="wrong id")]) as stage:
            results = await stage.asked_until(lambda: stage.asker.counts["fake"]["stray_answers"] == 1)
            assert results == [Result(server="fake", kind="late")]

    play(scene)


def test_an_error_a_death_and_a_result_that_is_none_cost_only_their_server(tmp_path: Path) -> None:
    async def scene() -> None:
        names = {"error": "failed", "die": "failed", "no object": "late", "answer": "answered"}
        servers = [fake(tmp_path, name, habit=name) for name in names]
        async with connected(tmp_path, servers) as stage:
            dropped = stage.peers[2].inner._link.intake.tally.total

            def settled() -> bool:
                back = [stage.peers[number].back for number in (0, 1, 3)]
                return back == [1, 1, 1] and dropped["unreadable"] == 1

            results = await stage.asked_until(settled)
            assert {one.server: one.kind for one in results} == names
            assert all(len(one.reason) < 200 for one in results)

    play(scene)


def test_a_server_that_is_gone_is_skipped_and_said_to_be(tmp_path: Path) -> None:
    async def scene() -> None:
        async with connected(tmp_path, [fake(tmp_path, habit="die")]) as stage:
            [result] = await stage.asker.ask(words())
            assert result.kind == "failed"
            await stage.until(lambda: stage.peers[0].inner._link.connection is None)
            assert await stage.asker.ask(words()) == [Result(server="fake", kind="disconnected")]

    play(scene)
