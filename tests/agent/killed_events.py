"""The other child of `test_kill.py`: an agent that emits events until it is done or killed.

Usage: python -m tests.agent.killed_events LOG. Every event has a path of its own, printed once it is
accepted; a hook answers each with one reminder.
"""

from __future__ import annotations

import asyncio
import sys

import tidings as td
from tests.agent.killed import TURNS, look
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.shell.ids import new_id


class Editor(ScriptedModel):
    """A scripted model during whose turns files change."""

    def __init__(self, session: Session) -> None:
        super().__init__(["unused"], repeat=True)
        self.session = session

    async def answer(self, body, tools=(), on_text=None):
        last = self.session.transcript.turn + 1 >= TURNS
        for _ in range(0 if last else 2):
            path = new_id()
            self.session.emit("file_edited", {"path": path})
            print("accepted", path, flush=True)
        self.steps = ("done",) if last else (call("look"),)
        return await super().answer(body, tools, on_text)


async def changed(ctx):
    """One reminder for one change; no key, so that two of them would be seen."""
    await asyncio.sleep(0)
    return {"body": ctx.path, "ttl_turns": 2}


async def main(log_path: str) -> None:
    registry = Registry()
    registry.register_session_hook("file_edited", changed)
    with td.open_log(f"sqlite:///{log_path}") as log:
        session = Session("s", log=log)
        await td.agent_loop(
            None if session.transcript.messages else "work",
            model=Editor(session),
            tools=[look],
            session=session,
            registry=registry,
            reminders=False,
            max_iterations=100,
        )
        print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
