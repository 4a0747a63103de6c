"""News on their way to the model of a real command line agent: when, where, how often."""

from __future__ import annotations

import asyncio

import pytest

from tests.interop.hosts.clis import AFTER
from tests.interop.hosts.looking import extends, last_calls, outside, places
from tests.interop.hosts.stage import Stage, gate
from tidings.testing.fake_provider import Say

MARK = "Added by tidings, not written by the user."
NEWS = "The quokka build failed."


def mentions(stage: Stage, words: str = "quokka") -> list[int]:
    """How often `words` stand in each request of the main conversation."""
    assert not any(outside(request, words) for request in stage.requests)
    return [len(places(request, words)) for request in stage.requests]


def test_without_news_the_requests_hold_nothing_of_ours(stage: Stage) -> None:
    stage.provider.add(stage.step("echo one > one.txt"), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.end()

    asyncio.run(work())
    assert mentions(stage, MARK) == [0, 0]
    assert (stage.room.work / "one.txt").read_text() == "one\n"


def test_news_that_waited_stand_in_the_first_request_once(stage: Stage) -> None:
    stage.provider.add(Say(text="Done."))

    async def work() -> None:
        async with stage.hub():
            await stage.remind(NEWS)
            async with stage.run() as agent:
                await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [1]
    (place,) = places(stage.requests[0], "quokka")
    assert MARK in place.text


def test_news_that_come_while_the_model_answers_stand_after_the_tool_results(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one > one.txt", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    (place,) = places(stage.requests[1], "quokka")
    assert place.role == stage.cli.after_tools
    assert place.entry > last_calls(stage.requests[1])
    assert MARK in place.text
    assert (stage.room.work / "one.txt").read_text() == "one\n"


@pytest.mark.parametrize("stage", ["claude-code"], indirect=True)
def test_a_model_without_system_messages_reads_them_marked_with_the_tool_results(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))
    older = [word.replace("claude-opus-5-5", "claude-sonnet-4-5") for word in stage.cli.command("Do it.")]

    async def work() -> None:
        async with stage.hub(), stage.run(*older) as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    (place,) = places(stage.requests[1], "quokka")
    assert (place.role, place.entry) == ("user", last_calls(stage.requests[1]) + 1)
    assert f"<system-reminder>\nPostToolBatch hook additional context: {MARK}" in place.text


def test_two_tools_of_one_step_bring_the_news_once(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one", "echo two", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]


def test_a_later_request_extends_the_one_that_brought_the_news(stage: Stage) -> None:
    if not stage.cli.appends:
        pytest.skip("its hook shows news in one request at a time, so that they can leave again")
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), stage.step("echo two"), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            held.open()
            await agent.end()

    asyncio.run(work())
    first, second, third = stage.requests
    assert mentions(stage) == [0, 1, 1]
    assert extends(second, first)
    assert extends(third, second)


def test_news_with_a_ttl_of_one_leave_the_next_request(stage: Stage) -> None:
    if stage.cli.appends:
        pytest.skip("what was shown stays in its transcript")
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), stage.step("echo two"), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--ttl", "1")
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1, 0]


def test_news_past_their_deadline_never_reach_the_model(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS, "--deliver-within", "0.05")
            assert (await stage.ask("pending"))["pendingCount"] == 0
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 0]


def test_of_two_with_one_key_only_the_newer_is_told(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind("The wombat build runs.", "--dedupe-key", "build")
            await stage.remind(NEWS, "--dedupe-key", "build")
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1]
    assert mentions(stage, "wombat") == [0, 0]


def tell_twice_with_one_key(stage: Stage) -> None:
    """Tell of a wombat in the second request and, with the same key, of a quokka in the third."""
    first, second = gate(), gate()
    stage.provider.add(
        stage.step("echo one", before=first), stage.step("echo two", before=second), Say(text="Done.")
    )

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(first)
            await stage.remind("The wombat build runs.", "--dedupe-key", "build")
            first.open()
            await agent.reached(second)
            await stage.remind(NEWS, "--dedupe-key", "build")
            second.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 0, 1]


def test_news_with_the_key_of_what_was_told_say_what_they_supersede(stage: Stage) -> None:
    if not stage.cli.appends:
        pytest.skip("what was told leaves its requests instead")
    tell_twice_with_one_key(stage)
    (place,) = places(stage.requests[2], "quokka")
    assert 'It supersedes an earlier one: "The wombat build runs."' in place.text


def test_news_with_the_key_of_what_was_told_take_its_place(stage: Stage) -> None:
    if stage.cli.appends:
        pytest.skip("what was shown stays in its transcript")
    tell_twice_with_one_key(stage)
    assert mentions(stage, "wombat") == [0, 1, 0]


def test_the_session_is_listed_with_its_host_and_what_it_can_do(stage: Stage) -> None:
    held = gate()
    stage.provider.add(Say(text="Done.", before=held))
    listed: list[dict[str, object]] = []

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            listed.extend((await stage.ask("sessions"))["sessions"])
            held.open()
            await agent.end()

    asyncio.run(work())
    (row,) = listed
    assert (row["agent"], row["workspace"]) == (stage.cli.host, str(stage.room.work.resolve()))
    assert row["capabilities"]


@pytest.mark.parametrize("stage", ["codex"], indirect=True)
def test_news_that_come_before_a_patch_by_the_shell_stand_in_the_next_request(stage: Stage) -> None:
    held = gate()
    first, second = stage.cli.edits(stage.room.work / "greeting.txt")
    stage.provider.add(Say(calls=(first,), before=held), Say(calls=(second,)), Say(text="Done."))

    async def work() -> None:
        async with stage.hub(), stage.run() as agent:
            await agent.reached(held)
            await stage.remind(NEWS)
            held.open()
            await agent.end()

    asyncio.run(work())
    assert mentions(stage) == [0, 1, 1]
    assert (stage.room.work / "greeting.txt").read_text() == AFTER
