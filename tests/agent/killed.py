"""The child of `test_kill.py`: an agent that works on a durable session until it is done or killed.

Usage: python -m tests.agent.killed LOG REQUESTS. Every request body is appended to REQUESTS before it is
answered; accepted reminders are printed.
"""

from __future__ import annotations

import asyncio
import json
import sys

import tidings as td
from tidings.agent.loop import agent_loop
from tidings.agent.models.scripted import ScriptedModel, call
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.function import tool

TURNS = 12


class Notebook(ScriptedModel):
    """A scripted model that writes down what it saw."""

    def __init__(self, path: str, session: Session) -> None:
        super().__init__(["unused"], repeat=True)
        self.path, self.session = path, session

    async def answer(self, body, tools=(), on_text=None):
        turn = self.session.transcript.turn + 1
        with open(self.path, "a") as notes:  # noqa: ASYNC230
            notes.write(json.dumps({"turn": turn, "body": body}) + "\n")
        if turn < TURNS:
            told = self.session.remind(body=f"news of turn {turn}", ttl_turns=2, id=f"turn-{turn}")
            print("accepted", told.reminder_id, flush=True)
        await asyncio.sleep(0)
        self.steps = ("done",) if turn >= TURNS else (call("look"),)
        return await super().answer(body, tools, on_text)


@tool(read_only=True)
def look() -> str:
    """Look around."""
    return "nothing"


async def main(log_path: str, requests: str) -> None:
    with td.open_log(f"sqlite:///{log_path}") as log:
        session = Session("s", log=log)
        fresh = not session.transcript.messages
        model = Notebook(requests, session)
        await agent_loop(
            "work" if fresh else None,
            model=model,
            tools=[look],
            session=session,
            registry=Registry(),
            reminders=False,
            max_iterations=100,
        )
        print("finished", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
