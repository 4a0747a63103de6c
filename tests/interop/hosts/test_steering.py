"""News that change what a real command line agent does: batches held back, endings continued."""

from __future__ import annotations

import asyncio

from tests.interop.hosts.looking import last_calls, places
from tests.interop.hosts.stage import Stage, gate
from tests.interop.hosts.test_delivery import NEWS, mentions
from tidings.testing.fake_provider import Say


def test_an_interrupt_holds_the_whole_batch_back_and_nothing_runs(stage: Stage) -> None:
    held = gate()
    stage.provider.add(
        stage.step("echo one > one.txt", "echo two > two.txt", before=held),
        stage.step("echo three > three.txt"),
        Say(text="Done."),
    )

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--mode", "interrupt_immediate")
            held.open()
            await agent.end()

    asyncio.run(work())
    assert sorted(path.name for path in stage.room.work.glob("*.txt")) == ["three.txt"]
    assert mentions(stage)[:2] == [0, 1]
    refusals = places(stage.requests[1], "The user did not refuse it")
    assert len({place.text for place in refusals}) in (1, 2)
    assert all(place.entry > last_calls(stage.requests[1]) for place in refusals)


def test_a_text_only_ending_is_continued_once(stage: Stage) -> None:
    stage.needs("continue")
    first, second = gate(), gate()
    stage.provider.add(Say(text="I am done.", before=first), Say(text="I saw it.", before=second))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(first)
            await stage.remind(NEWS)
            first.open()
            await agent.reached(second)
            await stage.remind("The wombat build failed too.")
            second.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    assert mentions(stage, "wombat") == [0, 0]


def test_with_nothing_to_tell_an_ending_is_an_ending(stage: Stage) -> None:
    stage.provider.add(Say(text="I am done."), Say(text="I was asked again."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.end()

    asyncio.run(work())
    assert len(stage.requests) == 1


def test_what_is_only_for_the_record_reaches_no_request(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one > one.txt", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--mode", "audit_only")
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 0]
    assert (stage.room.work / "one.txt").exists()
