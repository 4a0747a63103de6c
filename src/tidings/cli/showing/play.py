"""The demo itself: an agent in a workspace that the hub watches, and somebody else who changes a file.

The news goes the whole way: a real write, the hub's watchers, the hub, the session's mailbox, the model's
next request. `play` needs a running hub and leaves nothing behind in it but its records.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import tidings as td
from tidings.agent.answered import Answered
from tidings.agent.tools.approval import Gate
from tidings.agent.tools.rules import Rule
from tidings.cli.showing import ground
from tidings.cli.showing.coder import CHANGE_SIGN, GREEN_SIGNS, SYSTEM, TASK, Coder, chosen_model
from tidings.hub.attached import Attached
from tidings.hub.client import ask
from tidings.shell.ids import new_id

PACE, QUICK_PACE = 1.5, 0.3
DEADLINE = 120.0
AGENT = "demo-coder"

Say: TypeAlias = Callable[[str, str], None]
"""Tells the person who watches: who speaks, and what."""


class Ears:
    """What the requests showed of the two things that happen, and what the agent said to them."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._known: set[str] = set()
        self._words: list[str] = []
        self._said = ""
        self.read = asyncio.Event()
        """The agent has seen the function, so the other editor may change it."""
        self.change = self.green = False

    def word(self, text: str) -> None:
        """Take in a piece of the agent's answer."""
        self._words.append(text)

    def look(self, answered: Answered) -> None:
        """Take in one request that was answered: first what it showed, then the answer."""
        if ground.FIRST_LINE in str(answered.request.body):
            self.read.set()
        for reminder in answered.request.rendered:
            line = reminder.body.partition("\n")[0]
            self.change |= CHANGE_SIGN in line
            self.green |= any(sign in line for sign in GREEN_SIGNS)
            if reminder.id not in self._known:
                self._known.add(reminder.id)
                self._say("hears", f"request {answered.turn} shows: {line}")
        said = "".join(self._words)
        self._words.clear()
        if said != self._said:
            self._said = said
            self._say("agent", said)


async def play(socket: str, say: Say, *, once: bool) -> bool:
    """Play until the tests are green, and then go on unless `once`; whether both things were heard.

    Raises:
        HubError: no hub answers.
        TimeoutError: `once`, and it took too long.
    """
    with tempfile.TemporaryDirectory(prefix="tidings-demo-") as name:
        folder = ground.make(Path(name))
        say("workspace", f"{folder} is under git, with a test that fails")
        await ask(socket, "hub/attach", {"path": str(folder)})
        if not once:
            _invite(folder, say)
        try:
            async with asyncio.timeout(DEADLINE if once else None):
                return await _work(socket, folder, say, once)
        finally:
            await ask(socket, "hub/detach", {"path": str(folder)})


async def _work(socket: str, folder: Path, say: Say, once: bool) -> bool:
    ears = Ears(say)
    session = td.Session(f"demo-{new_id()[-8:]}", agent_id=AGENT)
    with session.observers.looking(ears.look):
        async with Attached(session, workspace=str(folder), tags=["demo"], socket=socket):
            other = asyncio.create_task(_other_editor(ears, folder, say))
            try:
                await _agent(session, folder, ears, say, once)
            finally:
                other.cancel()
                await asyncio.wait({other})
    return ears.change and ears.green


async def _agent(session: td.Session, folder: Path, ears: Ears, say: Say, once: bool) -> None:
    named = chosen_model()
    say("agent", f"{named or 'a scripted model'} gets its task: {TASK}")
    result = await td.agent_loop(
        TASK,
        SYSTEM,
        model=named or Coder(QUICK_PACE if once else PACE),
        tools=[tool for tool in td.workspace_tools(folder) if tool.name != "run_command"],
        session=session,
        approval=Gate([Rule(action="allow")]),
        workspace=folder,
        on_text=ears.word,
        daemon=None if once else td.Daemon(watch=[folder / ground.SOURCE, folder / ground.TEST]),
        max_iterations=1_000,
    )
    say("agent", f"ended: {result.status} after {result.iterations} requests")


def _invite(folder: Path, say: Say) -> None:
    """What a person can do meanwhile."""
    say("you", f"edit {folder / ground.SOURCE}, or tell the agent something in another terminal:")
    say("you", 'tidings remind "Lunch is ready." --all --mode interrupt_immediate')


async def _other_editor(ears: Ears, folder: Path, say: Say) -> None:
    await ears.read.wait()
    ground.other_editor(folder)
    say("editor", f"somebody else saves {ground.SOURCE}")
