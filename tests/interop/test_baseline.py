"""The real agents without us, on the fake model. What the other parts stand on."""

from __future__ import annotations

import asyncio

import pytest

from tests.interop.agents import Agent, Room
from tests.interop.client import Client, Refused, sdk_client
from tests.interop.spoken import mentions
from tidings.testing.fake_provider import FakeProvider, Say


def connect(agent: Agent, room: Room, provider: FakeProvider) -> Client:
    command, more = agent.start(room, provider)
    return sdk_client(command, room, more)


def test_answers_two_prompts_from_the_fake_model(agent: Agent, room: Room, provider: FakeProvider) -> None:
    provider.add(Say(text="First answer."), Say(text="Second answer."))

    async def work() -> None:
        async with connect(agent, room, provider) as client:
            await client.initialize()
            session = await client.new_session(room.work)
            ends = [await client.prompt(session, words) for words in ("First question", "Second question")]
            assert [end["stopReason"] for end in ends] == ["end_turn", "end_turn"]
            assert "First answer." in client.said()
            assert client.said().endswith("Second answer.")
            assert client.complaints == ""

    asyncio.run(work())
    assert [request.wire for request in provider.requests] == [agent.wire] * 2
    assert [each.role for each in mentions(provider.requests[1], "First question")] == ["user"]
    assert (provider.refused, len(provider.steps)) == ([], 0)


def test_knows_nothing_of_reminders(agent: Agent, room: Room, provider: FakeProvider) -> None:
    async def work() -> None:
        async with connect(agent, room, provider) as client:
            told = await client.initialize()
            assert "reminders" not in told["agentCapabilities"]
            session = await client.new_session(room.work)
            for method in ("session/inject_reminder", "session/inject"):
                with pytest.raises(Refused) as refused:
                    await client.request(method, {"sessionId": session, "body": "b", "content": "c"})
                assert refused.value.code == -32601

    asyncio.run(work())


def test_advertises_steering_or_not_as_we_know_it(agent: Agent, room: Room, provider: FakeProvider) -> None:
    async def work() -> None:
        async with connect(agent, room, provider) as client:
            told = await client.initialize()
            steering = (told.get("_meta") or {}).get("steering") or {}
            assert bool(steering.get("supported")) is agent.steers

    asyncio.run(work())
