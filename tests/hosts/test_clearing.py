"""Taking reminders back from coding agents: what was not shown goes, what was shown is not shown again."""

from __future__ import annotations

import asyncio

import pytest

from tests.hosts.desks import Desk
from tests.hub.desks import DEADLINE
from tidings.core.records import LIFECYCLE_TOPIC
from tidings.hosts.happening import NEUTRAL, Host
from tidings.hub import shapes
from tidings.hub.hosting import hosted
from tidings.hub.shapes import Reached
from tidings.hub.takeback import DeliveredError


async def cleared(desk: Desk, **selector: str) -> shapes.ClearAnswer:
    return await desk.hub.clear(shapes.Clear(**selector))


def test_what_was_not_shown_yet_is_taken_back_and_the_agent_never_hears_of_it() -> None:
    async def script() -> None:
        desk = Desk("claude-code")
        await desk.hook("UserPromptSubmit")
        first = await desk.remind("The build is red.")
        await desk.remind("Deploys are frozen.", tags=["policy"])
        answer = await desk.hub.revoke(shapes.Revoke(reminder_id=first))
        assert (answer.status, answer.removed_count, answer.sessions) == ("revoked", 1, [])
        assert (await cleared(desk, tag="policy")).removed_count == 1
        assert await desk.text("PostToolBatch") == ""

    asyncio.run(asyncio.wait_for(script(), DEADLINE))


def test_what_was_shown_is_not_told_again_after_a_compaction_and_its_record_says_so() -> None:
    async def script() -> None:
        desk = Desk("claude-code")
        await desk.hook("UserPromptSubmit")
        name = await desk.remind("Deploys are frozen.", preserveOnCompact=True, tags=["policy"])
        assert "Deploys are frozen." in await desk.text("PostToolBatch")
        answer = await desk.hub.revoke(shapes.Revoke(reminder_id=name))
        assert answer.sessions == [
            Reached(session_id="claude-code:s1", outcome="already_delivered", removed_count=0)
        ]
        assert await cleared(desk, tag="policy") == shapes.ClearAnswer(
            removed_count=1,
            sessions=[Reached(session_id="claude-code:s1", outcome="forgotten", removed_count=1)],
        )
        assert desk.records(hosted.CLEARED) == [{"session_id": "claude-code:s1", "reminder_ids": [name]}]
        await asyncio.sleep(0)
        told = desk.hub.told.read(shapes.Told(session_id="claude-code:s1")).records
        assert [(one.kind, one.payload["reason"]) for one in told if one.kind.endswith("expired")] == [
            (f"{LIFECYCLE_TOPIC.rpartition('.')[0]}.expired", "cleared")
        ]
        assert await desk.hook("SessionStart", source="compact") == NEUTRAL
        assert (await cleared(desk, tag="policy")).sessions == []

    asyncio.run(asyncio.wait_for(script(), DEADLINE))


def test_a_host_that_shows_a_text_anew_in_each_request_stops_showing_it() -> None:
    async def script() -> None:
        desk = Desk("gemini")
        name = await desk.remind("Deploys are frozen.")
        assert "Deploys are frozen." in await desk.text("BeforeModel")
        assert "Deploys are frozen." in await desk.text("BeforeModel")
        answer = await cleared(desk, id=name)
        assert [(one.outcome, one.removed_count) for one in answer.sessions] == [("cleared", 1)]
        assert await desk.text("BeforeModel") == ""

    asyncio.run(asyncio.wait_for(script(), DEADLINE))


@pytest.mark.parametrize("host", ["claude-code", "gemini"])
def test_a_session_of_a_host_can_be_named_for_what_was_sent_to_it_alone(host: Host) -> None:
    async def script() -> None:
        desk = Desk(host)
        event = "UserPromptSubmit" if host == "claude-code" else "BeforeModel"
        await desk.hook(event)
        name = await desk.remind("One thing.", to={"session": f"{host}:s1"}, id="one")
        assert "One thing." in await desk.text(event)
        with pytest.raises(DeliveredError) as late:
            await desk.hub.revoke(shapes.Revoke(reminder_id=name))
        assert [one.session_id for one in late.value.reached] == [f"{host}:s1"]
        answer = await cleared(desk, id=name, session_id=f"{host}:s1")
        assert (answer.removed_count, len(answer.sessions)) == (1, 1)
        nothing = await cleared(desk, id=name, session_id=f"{host}:s1")
        assert [(one.outcome, one.removed_count) for one in nothing.sessions] == [("cleared", 0)]

    asyncio.run(asyncio.wait_for(script(), DEADLINE))
