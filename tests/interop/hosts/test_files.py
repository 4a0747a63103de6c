"""A watched project: what the agent wrote itself is no news to it, what others wrote is."""

from __future__ import annotations

import asyncio

from tests.interop.hosts.clis import AFTER, patches
from tests.interop.hosts.stage import Stage, gate
from tests.interop.hosts.test_delivery import mentions
from tidings.testing.fake_provider import Call, Say


def edits(stage: Stage, by_patch: bool) -> tuple[Call, ...]:
    """The calls with which the agent makes a file and changes it."""
    file = stage.room.work / "greeting.txt"
    if by_patch and stage.cli.patch is not None:
        return tuple(map(stage.cli.patch, patches(file)))
    return stage.cli.edits(file)


def work_beside_another(stage: Stage, by_patch: bool, *options: str) -> None:
    """The agent makes a file and changes it, then somebody else makes one; each has its own request."""
    held = gate()
    (stage.room.work / "tidings.toml").write_text("[watch.files]\n")
    stage.provider.add(
        *(Say(calls=(each,)) for each in edits(stage, by_patch)),
        stage.step("echo one", before=held),
        Say(text="Done."),
    )

    async def work() -> None:
        command = [*stage.cli.command("Do your part."), *options]
        async with stage.hub(), stage.run(*command) as agent:
            await agent.reached(held)
            (stage.room.work / "theirs.txt").write_text("from somebody else\n")
            await stage.waiting("theirs.txt")
            held.open()
            await agent.end()

    asyncio.run(work())


def told_of_others_only(stage: Stage) -> None:
    """Whether the file of somebody else was told, once it was there, and the agent's own never."""
    assert (stage.room.work / "greeting.txt").read_text() == AFTER
    assert mentions(stage, "theirs.txt was created on disk")[:3] == [0, 0, 0]
    assert mentions(stage, "theirs.txt was created on disk")[3] >= 1
    assert mentions(stage, "greeting.txt was created on disk") == [0, 0, 0, 0]
    assert mentions(stage, "greeting.txt changed on disk") == [0, 0, 0, 0]


def test_what_the_agent_wrote_itself_is_no_news_to_it(stage: Stage) -> None:
    stage.needs("tell of its writes")
    work_beside_another(stage, False)
    told_of_others_only(stage)


def test_what_the_agent_patched_itself_is_no_news_to_it(stage: Stage) -> None:
    stage.needs("patch")
    work_beside_another(stage, True, *stage.cli.patching)
    told_of_others_only(stage)


def test_what_was_written_early_in_a_long_batch_is_no_news_either(stage: Stage) -> None:
    stage.needs("tell of its writes")
    (stage.room.work / "tidings.toml").write_text("[watch.files]\n")
    made, _ = edits(stage, False)
    pending: list[object] = []
    stage.provider.add(Say(calls=(made, stage.cli.shell("sleep 2"))), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.end()
            pending.append(await stage.ask("pending"))

    asyncio.run(work())
    assert mentions(stage, "greeting.txt was created on disk") == [0, 0]
    assert "greeting.txt" not in str(pending)
