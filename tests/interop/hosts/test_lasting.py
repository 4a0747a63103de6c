"""What outlives a step of a real command line agent: compaction, sub-agents, a hub that is gone."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tests.interop.client import DEADLINE
from tests.interop.hosts.clis import TASK
from tests.interop.hosts.looking import places
from tests.interop.hosts.record import listen
from tests.interop.hosts.stage import Stage, gate
from tests.interop.hosts.test_delivery import NEWS, mentions
from tidings.testing.fake_provider import Say


def test_after_a_compaction_what_is_to_be_kept_is_told_again_and_the_rest_is_not(stage: Stage) -> None:
    stage.needs("compact")
    held = gate()
    full = stage.step("echo two")
    stage.provider.add(
        stage.step("echo one", before=held),
        Say(text=full.text, calls=full.calls, usage=stage.cli.full),
        stage.step("echo three"),
        Say(text="Done."),
    )

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--preserve")
            await stage.remind("The wombat build failed.")
            held.open()
            await agent.end()

    asyncio.run(work())
    assert len(stage.side.summaries) == 1
    assert mentions(stage)[:2] == [0, 1]
    assert mentions(stage, "wombat") == [0, 1, 0, 0]
    assert mentions(stage)[3] == 1


def test_a_sub_agent_hears_what_is_to_be_handed_down_and_nothing_else(stage: Stage) -> None:
    held, child, parent = gate(), gate(), gate()
    ending = replace(stage.cli.last_words("Done."), before=child)
    stage.side.steps += [Say(calls=(stage.cli.shell("echo child"),)), ending]
    stage.provider.add(
        stage.step("echo one", before=held),
        Say(calls=(stage.cli.delegate(f"{TASK} Now."),)),
        Say(text="It works.", before=parent),
        Say(text="It is done."),
    )

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--propagate", "session")
            await stage.remind("The wombat build failed.", "--propagate", "none")
            held.open()
            await agent.reached(child)
            child.open()
            parent.open()
            await agent.end()

    asyncio.run(work())
    assert [len(places(request, "quokka")) for request in stage.side.children] == [1, 1]
    assert [len(places(request, "wombat")) for request in stage.side.children] == [0, 0]


def test_a_session_that_is_resumed_is_not_told_again_what_it_was_told(stage: Stage) -> None:
    stage.needs("resume")
    stage.provider.add(Say(text="First answer."), Say(text="Second answer."))

    async def work() -> None:
        async with stage.hub():
            await stage.remind(NEWS)
            async with stage.run() as agent:
                await agent.end()
            async with stage.run(*stage.cli.again("Second question")) as agent:
                await agent.end()

    asyncio.run(work())
    assert mentions(stage, "First answer.") == [0, 1]
    assert mentions(stage) == [1, 1]


def test_hooks_that_were_there_still_run_and_are_left_as_they_were(stage: Stage) -> None:
    stage.needs("connect")
    heard = stage.room.folder / "heard"
    heard.mkdir()
    stage.more |= listen(stage.cli.host, stage.room, heard)
    before = stage.files()
    stage.provider.add(Say(text="Done."))

    async def work() -> None:
        async with stage.hub():
            assert stage.files() != before
            await stage.remind(NEWS)
            async with stage.run() as agent:
                await agent.end()
            await stage.tidings("disconnect", stage.cli.host, "--project")

    asyncio.run(work())
    assert mentions(stage) == [1]
    assert list(heard.iterdir()) != []
    after = stage.files()
    assert {name: after.get(name) for name in before} == before
    assert [name for name, data in after.items() if "tidings" in name or b"tidings" in data] == []


def test_without_a_hub_the_run_is_unharmed(stage: Stage) -> None:
    stage.provider.add(stage.step("echo one > one.txt", "echo two > two.txt"), Say(text="Done."))

    async def work() -> str:
        async with stage.hub():
            await stage.remind(NEWS)
        async with stage.run() as agent:
            return await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 0]
    assert sorted(path.name for path in stage.room.work.glob("*.txt")) == ["one.txt", "two.txt"]


def test_a_hub_that_dies_during_the_run_leaves_it_unharmed(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one > one.txt", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            await stage.kill_hub()
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 0]
    assert (stage.room.work / "one.txt").read_text() == "one\n"


def test_after_disconnect_the_agent_knows_us_no_more(stage: Stage) -> None:
    stage.needs("connect")
    stage.provider.add(Say(text="Done."))

    async def work() -> None:
        before = stage.files()
        async with stage.hub():
            await stage.remind(NEWS)
            await stage.tidings("disconnect", stage.cli.host, "--project")
            assert stage.files() == before
            async with stage.run() as agent:
                await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0]


def test_what_was_told_is_found_in_the_agents_own_file(stage: Stage) -> None:
    stage.needs("prove")
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            told = await stage.remind(NEWS)
            held.open()
            await agent.end()
            async with asyncio.timeout(DEADLINE):
                while told not in await stage.tidings("log", "show", "--kind", "hub.host.seen", "--json"):
                    continue

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
