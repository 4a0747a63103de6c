"""The hub killed with -9 while the hooks of coding agents drain it: what they are told and what is lost."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.hosts.desks import news
from tests.hosts.events import WORKSPACE, payload
from tests.hub.test_kill import Process, accepted
from tidings.hub import envelope
from tidings.hub.client import ask
from tidings.hub.failure import HubError
from tidings.hub.place import Place, place_of
from tidings.hub.store import TOPIC
from tidings.log import open_log

DEADLINE = 60
COUNT = 150
DEATHS = 6
AGENTS = ("s1", "s2", "s3")


class Agent:
    """A coding agent whose hooks ask the hub for news, one after the other."""

    def __init__(self, place: Place, session: str) -> None:
        self._place = place
        self._calls = 0
        self.session = session
        self.told: Counter[str] = Counter()

    async def start(self) -> None:
        await self._drain("UserPromptSubmit")

    async def work(self, until: asyncio.Event) -> None:
        """Call tools until `until`, and once more then."""
        over = False
        while not over:
            over = until.is_set()
            self._calls += 1
            call = {"tool_use_id": f"call_{self._calls}"}
            await self._drain("PreToolUse", **call)
            await self._drain("PostToolBatch", tool_calls=[call])

    async def _drain(self, event: str, **more: object) -> None:
        said = payload("claude-code", event, self.session, **more)
        try:
            answered = await ask(self._place.socket, "hub/drain", {"host": "claude-code", "event": said})
        except HubError:
            await asyncio.sleep(0.02)
            return
        answer = answered["answer"]
        assert isinstance(answer, dict)
        self.told.update(re.findall(r"news (r\d+)\.", news(answer)))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_told_is_told_once_and_only_answers_under_way_are_lost(tmp_path: Path, seed: int) -> None:
    environ = {**os.environ, "TIDINGS_HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path)}
    place, hub = place_of(environ), Process(environ)
    agents = [Agent(place, session) for session in AGENTS]
    everything = [f"r{number}" for number in range(COUNT)]
    deaths = random.Random(seed).sample(everything[10:-10], DEATHS)

    async def scene() -> None:
        await hub.start()
        for agent in agents:
            await agent.start()
        done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(agent.work(done))
            for name in everything:
                to = {"workspace": WORKSPACE}
                await accepted(place, {"id": name, "body": f"news {name}.", "to": to, "ttlTurns": 1})
                if name in deaths:
                    assert await hub.end(signal.SIGKILL) == -signal.SIGKILL
                    await hub.start()
            done.set()
        assert await hub.end(signal.SIGTERM) == 0

    asyncio.run(asyncio.wait_for(scene(), DEADLINE))
    with open_log(place.database) as log:
        log.verify()
        acknowledged = [one for one in log.read(TOPIC) if one.kind == envelope.ACKNOWLEDGED]
    for agent in agents:
        mine = [one for one in acknowledged if one.payload["session_id"] == f"claude-code:{agent.session}"]
        assert Counter(one.payload["reminder_id"] for one in mine) == Counter(everything)
        assert agent.told <= Counter(everything), "nothing is told twice"
        lost = [one for one in mine if one.payload["reminder_id"] not in agent.told]
        assert len({one.occurred_at_ms for one in lost}) <= DEATHS, "an answer is one commit"
