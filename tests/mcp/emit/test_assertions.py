"""The helper for authors of servers: it hears, waits, compares, and says what came instead."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.mcp.emit.fixture import KINDS, high
from tests.mcp.emit.raw import DEADLINE
from tidings.errors import CallerError
from tidings.mcp import Reminders
from tidings.testing.mcp_assertions import Era, Heard, connected


def play(script: Any, era: Era = "modern", **options: Any) -> Any:
    async def go() -> Any:
        reminders = high()
        async with asyncio.timeout(DEADLINE), connected(reminders.server, era=era, **options) as heard:
            return await script(heard, reminders)

    return asyncio.run(go())


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_emitted_is_heard_in_order(kind: str, era: Era) -> None:
    async def go() -> list[object]:
        reminders = KINDS[kind]()
        async with asyncio.timeout(DEADLINE), connected(reminders.server, era=era) as heard:
            await reminders.emit("one", tags=("a", "b"), ttl_turns=1)
            await reminders.emit("two")
            await heard.expect(body="one", tags=("a", "b"), ttl_turns=1, dedupe_key=None)
            await heard.expect(body="two", propagate="session", role_hint="system")
            await heard.expect_nothing_more()
            return [one["body"] for one in heard.reminders]

    assert asyncio.run(go()) == ["one", "two"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_another_reminder_than_the_expected_is_shown(era: Era) -> None:
    async def script(heard: Heard, reminders: Reminders) -> None:
        await reminders.emit("two", dedupe_key="k")
        await heard.expect(body="one", dedupe_key="k")

    with pytest.raises(AssertionError, match=r"expected a reminder with .*'one'.*; got .*'two'"):
        play(script, era)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_reminder_too_many_is_shown(era: Era) -> None:
    async def script(heard: Heard, reminders: Reminders) -> None:
        await reminders.emit("surprise")
        await heard.expect_nothing_more()

    with pytest.raises(AssertionError, match=r"expected nothing more; got .*surprise"):
        play(script, era)


def test_a_reminder_that_does_not_come_is_missed_after_a_deadline() -> None:
    async def script(heard: Heard, reminders: Reminders) -> None:
        await heard.next(deadline=0.01)

    with pytest.raises(AssertionError, match=r"no reminder within 0\.01 s"):
        play(script)


def test_a_field_that_no_reminder_has_is_refused() -> None:
    async def script(heard: Heard, reminders: Reminders) -> None:
        await heard.expect(bdy="one")

    with pytest.raises(CallerError, match="a reminder has no bdy"):
        play(script)


def test_a_client_listens_for_its_conversation() -> None:
    async def script(heard: Heard, reminders: Reminders) -> None:
        await reminders.emit("for another", session="s2")
        await reminders.emit("for this one", session="s1")
        await heard.expect(body="for this one")
        await heard.expect_nothing_more()

    play(script, session="s1")


def test_a_client_that_knows_nothing_of_reminders_hears_none() -> None:
    async def script(heard: Heard, reminders: Reminders) -> tuple[int, list[object]]:
        await reminders.emit("kept")
        await heard.expect_nothing_more()
        return reminders.stats.waiting, list(heard.params)

    assert play(script, declare=False) == (1, [])


def test_a_server_that_ends_the_stream_is_noticed() -> None:
    async def script(heard: Heard, reminders: Reminders) -> bool:
        assert await reminders.aclose()
        await heard.expect_nothing_more()
        return heard.ended

    assert play(script)
