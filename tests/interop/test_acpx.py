"""The acpx command line client with `tidings acp`, and with real agents behind the interposer."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from tests.interop.agents import Agent, Room, node, ours, tidings
from tests.interop.client import DEADLINE, run_command
from tests.interop.conftest import need
from tests.interop.install import installed
from tests.interop.spoken import mentions
from tidings.testing.fake_provider import Call, FakeProvider, Gate, Say

WRITE = Say(text="I write.", calls=(Call("write_file", {"path": "a.txt", "content": "hello"}),))


async def acpx(agent: Sequence[str], room: Room, more: Mapping[str, str], *arguments: str) -> str:
    """Run acpx once; what it prints to stderr counts as noise."""
    program = [str(node()), str(installed()["acpx"].path / "dist" / "cli.js")]
    command = [*program, "--agent", shlex.join(agent), "--approve-all", *arguments]
    return await run_command(command, room, more, quiet=True)


def read(lines: str) -> list[Any]:
    return [msgspec.json.decode(line) for line in lines.splitlines()]


def test_a_turn_with_a_tool_call_is_shown_without_noise(room: Room, provider: FakeProvider) -> None:
    need("acpx")
    provider.add(WRITE, Say(text="It is written now."))
    command, more = ours(room, provider)
    shown = asyncio.run(acpx(command, room, more, "exec", "Write hello"))
    assert [part in shown for part in ("I write.", "[tool] Write a.txt (completed)", "end_turn")] == [
        True
    ] * 3
    assert "It is written now." in shown
    assert (room.work / "a.txt").read_text() == "hello"


def test_news_of_reminders_travels_inside_updates_that_it_takes_in_silence(
    room: Room, provider: FakeProvider
) -> None:
    need("acpx")
    provider.add(Say(text="I see."))
    command, more = ours(room, provider)
    lines = read(asyncio.run(acpx(command, room, more, "--format", "json", "exec", "Look around")))
    updates = [line["params"]["update"] for line in lines if line.get("method") == "session/update"]
    news = [each for update in updates for each in _harn(update).get("reminders", [])]
    assert [each["sessionUpdate"] for each in news][:1] == ["reminder_emitted"]
    assert [each for each in updates if each["sessionUpdate"].startswith("reminder_")] == []


def _harn(update: dict[str, Any]) -> dict[str, Any]:
    return (update.get("_meta") or {}).get("harn") or {}


def test_an_interrupt_reaches_the_agent_behind_the_interposer_in_the_same_turn(
    agent: Agent, room: Room, provider: FakeProvider
) -> None:
    need("acpx")
    if not agent.steers:
        pytest.skip("it does not advertise steering")
    gate = Gate(DEADLINE)
    provider.add(Say(text="I think.", midway=gate), Say(text="I stop."))
    command, more = agent.start(room, provider)
    proxied = tidings("acp-proxy", "--quiet", "--socket", room.socket, "--", *command)
    urgent = ("--socket", room.socket, "--mode", "interrupt_immediate")

    async def work() -> str:
        async with asyncio.TaskGroup() as group:
            turn = group.create_task(acpx(proxied, room, more, "exec", "First question"))
            assert await asyncio.to_thread(gate.reached.wait, DEADLINE)
            await run_command(tidings("remind", "The quokka escaped.", *urgent), room)
        return turn.result()

    shown = asyncio.run(work())
    assert "I stop." in shown
    assert "end_turn" in shown
    assert len(mentions(provider.requests[1], "The quokka escaped.")) == 1
