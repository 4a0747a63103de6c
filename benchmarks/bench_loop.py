"""The loop without the model: turns per second, and how they grow with the history.

A scripted agent calls one tool per turn with twenty reminders pending and a SQLite log attached. It is
compared, in the same run, with a bare loop that only builds and encodes the same request bodies. CPU time,
because a neighbour's load would show up as waiting for the disk.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

import tidings as td
from benchmarks.measure import Measurement, measurement
from tidings.agent.conversation import to_wire
from tidings.agent.loop import agent_loop
from tidings.agent.port import Answer, ToolCall
from tidings.agent.registry import Registry
from tidings.agent.session import Session
from tidings.agent.tools.function import tool

PENDING = 20
ROUTE = td.Route(name="bench", wire="openai_chat")
SYSTEM = "You are a careful coding agent."
ANSWER = "I look at the next file and then decide."


@tool(read_only=True)
async def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: nothing new"


class Fast:
    """A model that answers at once and encodes what it gets, as a client would."""

    def __init__(self, turns: int) -> None:
        self.turns, self.made = turns, 0
        self.at: list[float] = []

    @property
    def route(self) -> td.Route:
        return ROUTE

    def wire_messages(self, messages: Sequence[object]) -> list[dict[str, object]]:
        return to_wire("openai_chat", messages)

    async def answer(self, body: object, *_: object) -> Answer:
        msgspec.json.encode(body)
        self.made += 1
        self.at.append(time.process_time())
        if self.made >= self.turns:
            return Answer(text="done")
        call = ToolCall(f"call_{self.made}", "look", {"path": f"src/{self.made}.py"})
        return Answer(text=ANSWER, tool_calls=(call,), stop="tools")


def _loop(turns: int, folder: Path) -> list[float]:
    """When each request of a whole loop was made."""
    with td.open_log(f"sqlite:///{folder}/{time.monotonic_ns()}.db") as log:
        session = Session("bench", log=log)
        with session.step():
            for number in range(PENDING):
                body = f"src/{number}.py changed in another editor; re-read it."
                session.keep(
                    td.inject_reminder(session.transcript, body=body, preserve_on_compact=True).transcript
                )
        model = Fast(turns)
        asyncio.run(
            agent_loop(
                "work",
                SYSTEM,
                model=model,
                tools=[look],
                session=session,
                registry=Registry(),
                max_iterations=turns + 1,
            )
        )
    return model.at


def _bare(turns: int) -> float:
    """Seconds to build and encode the same bodies, and nothing else."""
    reminders = "\n\n".join(
        f"System reminder:\nsrc/{n}.py changed in another editor; re-read it." for n in range(PENDING)
    )
    history: list[dict[str, object]] = [{"role": "user", "content": "work"}]
    started = time.process_time()
    for turn in range(1, turns + 1):
        system = {"role": "system", "content": f"{SYSTEM}\n\n{reminders}"}
        msgspec.json.encode({"messages": [system, *history]})
        arguments = msgspec.json.encode({"path": f"src/{turn}.py"}).decode()
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "look", "arguments": arguments},
        }
        history.append({"role": "assistant", "content": ANSWER, "tool_calls": [call]})
        result = f"src/{turn}.py: nothing new"
        history.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": result})
    return time.process_time() - started


def run(quick: bool) -> list[Measurement]:
    """Turns per second at the start and the end of a long session, and the ratio to the bare loop."""
    turns = 60 if quick else 1_000
    with tempfile.TemporaryDirectory() as name:
        at = _loop(turns, Path(name))
    bare = _bare(turns)
    tenth = turns // 10
    early = (at[2 * tenth] - at[tenth]) / tenth
    late = (at[-1] - at[-1 - tenth]) / tenth
    whole = at[-1] - at[0]
    return [
        measurement(
            f"loop over bare bodies, {turns:,} turns",
            whole / bare,
            target="<= 3",
            detail=f"{turns / whole:.0f} turns/s against {turns / bare:.0f}",
        ),
        measurement(
            "a late turn over an early one",
            late / early,
            detail=f"{late * 1e3:.2f} ms at turn {turns:,}, {early * 1e3:.2f} ms at turn {2 * tenth}",
        ),
    ]
