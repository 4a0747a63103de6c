"""The loop without the model: turns per second, and how they grow with the history.

A scripted agent calls one tool per turn with twenty reminders pending and a SQLite log attached. It is
compared, in the same run, with a bare loop: the same model, the same tool, and the same request bodies,
built and encoded. The vendors' clients encode with `json`. The hardest case is the fastest encoder that
there is, and results of a few words: the less the encoding takes, the more the rest of a turn counts. What
that rest takes is about the same at every length. Rounds of both alternate, neither finds garbage of the
other, and medians are reported. CPU time, because a neighbour's load would show up as waiting for the disk.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

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
LONGER = 1_000
SOURCE = "\n    return [each for each in found if each.name not in known]"
ANSWER = "I look at src/{}.py and then decide."
Encode: TypeAlias = Callable[[object], bytes]


_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def as_clients_do(body: object) -> bytes:
    """The body as the clients of OpenAI and Anthropic encode it; that of Google uses `json` as well."""
    return _dumps(body).encode()


class Fast:
    """A model that answers at once and encodes what it gets, and the tool that it calls.

    What the tool gives is a short line, and `more` characters of a file.
    """

    def __init__(self, turns: int, more: int = 0, encode: Encode = msgspec.json.encode) -> None:
        self.turns, self.made = turns, 0
        self.at: list[float] = []
        self._encode = encode
        self._more = (SOURCE * (more // len(SOURCE) + 1))[:more]

    @property
    def route(self) -> td.Route:
        return ROUTE

    def wire_messages(self, messages: Sequence[object]) -> list[dict[str, object]]:
        return to_wire("openai_chat", messages)

    async def answer(self, body: object, *_: object) -> Answer:
        self._encode(body)
        self.made += 1
        self.at.append(time.process_time())
        if self.made >= self.turns:
            return Answer(text="done")
        call = ToolCall(f"call_{self.made}", "look", {"path": f"src/{self.made}.py"})
        return Answer(text=ANSWER.format(self.made), tool_calls=(call,), stop="tools")

    async def look(self, path: str) -> str:
        """Look at a file."""
        return f"{path}: nothing new{self._more}"


def run_loop(model: Fast, folder: Path) -> list[float]:
    """When each request of a whole loop was made."""
    with td.open_log(f"sqlite:///{folder}/{time.monotonic_ns()}.db") as log:
        session = Session("bench", log=log)
        with session.step():
            for number in range(PENDING):
                body = f"src/{number}.py changed in another editor; re-read it."
                session.keep(
                    td.inject_reminder(session.transcript, body=body, preserve_on_compact=True).transcript
                )
        asyncio.run(
            agent_loop(
                "work",
                SYSTEM,
                model=model,
                tools=[tool(model.look, read_only=True)],
                session=session,
                registry=Registry(),
                max_iterations=model.turns + 1,
            )
        )
    return model.at


def run_bare(model: Fast) -> list[float]:
    """When each of the same bodies was built and encoded, by a loop that does nothing else."""
    asyncio.run(_bare(model))
    return model.at


async def _bare(model: Fast) -> None:
    """Ask the same model and run the same tool until it is done."""
    reminders = [f"src/{n}.py changed in another editor; re-read it." for n in range(PENDING)]
    history: list[dict[str, object]] = [{"role": "user", "content": "work"}]
    while True:
        parts = [SYSTEM, *[f"System reminder:\n{body}" for body in reminders]]
        system = {"role": "system", "content": "\n\n".join(parts)}
        answer = await model.answer({"messages": [system, *history]})
        if not answer.tool_calls:
            return
        (call,) = answer.tool_calls
        asked = {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": msgspec.json.encode(call.arguments).decode()},
        }
        history.append({"role": "assistant", "content": answer.text, "tool_calls": [asked]})
        result = await model.look(str(call.arguments["path"]))
        history.append({"role": "tool", "tool_call_id": call.id, "content": result})


class Round(msgspec.Struct, frozen=True):
    """Seconds of one run: a turn on the whole, an early one and a late one."""

    turn: float
    early: float
    late: float

    @classmethod
    def of(cls, at: list[float]) -> Round:
        """The figures of a run, from when its requests were made."""
        tenth = (len(at) - 1) // 10
        early, late = at[2 * tenth] - at[tenth], at[-1] - at[-1 - tenth]
        return cls((at[-1] - at[0]) / (len(at) - 1), early / tenth, late / tenth)


def _round(work: Callable[[], list[float]]) -> Round:
    gc.collect()
    return Round.of(work())


def _pairs(made: Callable[[], Fast], rounds: int) -> list[tuple[Round, Round]]:
    """Rounds of our loop and of the bare one, by turns."""
    with tempfile.TemporaryDirectory() as name:
        return [
            (_round(lambda: run_loop(made(), Path(name))), _round(lambda: run_bare(made())))
            for _ in range(rounds)
        ]


def _over_bare(what: str, pairs: list[tuple[Round, Round]]) -> Measurement:
    turn = statistics.median(ours.turn for ours, _ in pairs)
    bare = statistics.median(theirs.turn for _, theirs in pairs)
    return measurement(
        what,
        statistics.median(ours.turn / theirs.turn for ours, theirs in pairs),
        target="<= 3",
        detail=f"{1 / turn:.0f} turns/s against {1 / bare:.0f}",
    )


def run(quick: bool) -> list[Measurement]:
    """A turn over a bare one, and how both grow from the start to the end of a long session."""
    turns, rounds, fewer = (60, 1, 1) if quick else (1_000, 15, 7)
    pairs = _pairs(lambda: Fast(turns), rounds)
    longer = _pairs(lambda: Fast(turns, LONGER), fewer)
    usual = _pairs(lambda: Fast(turns, encode=as_clients_do), fewer)
    early = statistics.median(ours.early for ours, _ in pairs)
    late = statistics.median(ours.late for ours, _ in pairs)
    beyond = [(ours.late - theirs.late, ours.early - theirs.early) for ours, theirs in pairs]
    return [
        _over_bare(f"loop over bare loop, {turns:,} turns, encoded as clients do", usual),
        _over_bare("the same with the fastest encoder", pairs),
        _over_bare(f"the same with results of {LONGER:,} characters", longer),
        measurement(
            "a late turn over an early one",
            late / early,
            detail=f"{late * 1e3:.2f} ms at turn {turns:,}, {early * 1e3:.2f} ms at turn {turns // 5}",
        ),
        measurement(
            "the same without what the bare loop costs",
            statistics.median(at_the_end / at_the_start for at_the_end, at_the_start in beyond),
        ),
    ]
