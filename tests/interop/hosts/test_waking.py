"""An agent that is idle: what wakes it, and what waits for its next prompt."""

from __future__ import annotations

import asyncio

import pytest

from tests.interop.hosts.live import LIVE, Way
from tests.interop.hosts.looking import last_calls, places
from tests.interop.hosts.stage import Stage, asked_for, gate
from tests.interop.hosts.test_delivery import MARK, NEWS, mentions
from tidings.testing.fake_provider import Say


def way(stage: Stage) -> Way:
    """How the agent is kept alive; skips the test where it cannot be."""
    stage.needs("wake")
    return LIVE[stage.cli.host]


def test_urgent_news_wake_an_idle_agent_without_a_prompt(stage: Stage) -> None:
    live = way(stage)
    woken = gate()
    stage.provider.add(Say(text="Done."), Say(text="I saw it.", before=woken))

    async def work() -> None:
        async with stage.hub(*live.wake(stage)), live.open(stage) as agent:
            await agent.prompt("First question")
            await stage.remind(NEWS, "--mode", "interrupt_immediate")
            await asked_for(woken)
            woken.open()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    (place,) = places(stage.requests[1], "quokka")
    assert MARK in place.text


def test_other_news_leave_an_idle_agent_alone_and_come_with_the_next_prompt(stage: Stage) -> None:
    live = way(stage)
    stage.provider.add(Say(text="Done."), Say(text="I saw it."))

    async def work() -> None:
        async with stage.hub(*live.wake(stage)), live.open(stage) as agent:
            await agent.prompt("First question")
            await stage.remind(NEWS)
            await agent.prompt("Second question")

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    assert mentions(stage, "Second question") == [0, 1]


def test_who_did_not_ask_for_it_is_not_woken(stage: Stage) -> None:
    live = way(stage)
    stage.provider.add(Say(text="Done."), Say(text="I saw it."))

    async def work() -> None:
        async with stage.hub(), live.open(stage) as agent:
            await agent.prompt("First question")
            await stage.remind(NEWS, "--mode", "interrupt_immediate")
            await agent.prompt("Second question")

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    assert mentions(stage, "Second question") == [0, 1]


def test_a_text_only_ending_of_a_live_agent_is_continued_once(stage: Stage) -> None:
    live = way(stage)
    first, second = gate(), gate()
    stage.provider.add(
        Say(text="I am done.", before=first), Say(text="I saw it.", before=second), Say(text="That too.")
    )

    async def work() -> None:
        async with stage.hub(), live.open(stage) as agent:
            answering = asyncio.create_task(agent.prompt("First question"))
            await asked_for(first)
            await stage.remind(NEWS)
            first.open()
            await asked_for(second)
            await stage.remind("The wombat build failed too.")
            second.open()
            await answering
            await agent.prompt("Second question")

    asyncio.run(work())
    assert mentions(stage) == [0, 1, 1]
    assert mentions(stage, "wombat") == [0, 0, 1]
    assert mentions(stage, "Second question") == [0, 0, 1]


def test_without_hooks_the_hub_speaks_to_the_agents_own_server(stage: Stage) -> None:
    server = way(stage).server
    if server is None:
        pytest.skip("it has no server that others can speak to")
    stage.trusting = False
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))

    async def work() -> None:
        async with LIVE[stage.cli.host].open(stage) as agent, stage.hub("--server", server(stage)):
            answering = asyncio.create_task(agent.prompt("First question"))
            await asked_for(held)
            await stage.known()
            await stage.remind(NEWS)
            await stage.told()
            held.open()
            await answering

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    (place,) = places(stage.requests[1], "quokka")
    assert place.entry > last_calls(stage.requests[1])
    assert MARK in place.text
