"""Payloads recorded from the real hosts: every one is read, and whole runs are counted and told rightly."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.hosts.desks import Desk, declined, news
from tests.hosts.test_drain import play
from tidings.core.reminder import Payload
from tidings.hosts.happening import Event, Happening, Host
from tidings.hosts.table import TONGUES

FOLDER = Path(__file__).parent / "payloads"
SPEAKERS: tuple[Host, ...] = ("claude-code", "codex", "gemini")
SINGLE = [(host, path) for host in SPEAKERS for path in sorted((FOLDER / host).glob("*.json"))]
RUNS = [(host, path) for host in SPEAKERS for path in sorted((FOLDER / host).glob("*.jsonl"))]


def name_of(case: object) -> str:
    return case.stem if isinstance(case, Path) else str(case)


def read_run(host: Host, name: str) -> list[Payload]:
    lines = (FOLDER / host / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("host", "path"), SINGLE, ids=name_of)
def test_every_recorded_payload_is_read_without_anything_odd(host: Host, path: Path) -> None:
    told = json.loads(path.read_text())
    read = TONGUES[host].read(told)
    assert isinstance(read, Happening)
    assert read.odd == ()
    assert (read.name, read.session_id) == (told["hook_event_name"], told["session_id"])
    assert read.workspace == "/workspace"
    if "child" in path.stem:
        assert read.agent_id == told["agent_id"]


@pytest.mark.parametrize(("host", "path"), RUNS, ids=name_of)
def test_every_recorded_run_is_read_without_anything_odd(host: Host, path: Path) -> None:
    for told in read_run(host, path.stem):
        read = TONGUES[host].read(told)
        assert isinstance(read, Happening)
        assert read.odd == ()


async def played(desk: Desk, events: list[Payload], body: str | None = None) -> list[tuple[str, str]]:
    """What each event was told; a reminder comes before the first event of a tool."""
    told = []
    for event in events:
        name = str(event["hook_event_name"])
        if body is not None and name in ("PreToolUse", "BeforeTool"):
            to = {"session": f"{desk.host}:{event['session_id']}"}
            await desk.hub.remind({"body": body, "to": to, "preserveOnCompact": True})
            body = None
        desk.clock.pass_seconds(1)
        text = news(await desk.hub.hosting.hook(desk.host, event))
        await asyncio.sleep(0)
        if text:
            told.append((name, str(event.get("agent_id") or "")))
    return told


@pytest.mark.parametrize(("host", "carrier"), [("claude-code", "PostToolBatch"), ("codex", "PostToolUse")])
def test_in_a_recorded_batch_of_two_the_reminder_is_told_once(host: Host, carrier: str) -> None:
    async def script() -> None:
        desk = Desk(host)
        told = await played(desk, read_run(host, "batch"), "The build is red.")
        assert told == [(carrier, "")]

    play(script)


def test_in_a_recorded_batch_gemini_shows_it_with_every_request_that_follows() -> None:
    async def script() -> None:
        desk, events = Desk("gemini"), read_run("gemini", "batch")
        told = await played(desk, events, "The build is red.")
        requests = [event for event in events if event["hook_event_name"] == "BeforeModel"]
        assert told == [("BeforeModel", "")] * (len(requests) - 1)

    play(script)


@pytest.mark.parametrize("host", SPEAKERS)
def test_the_turns_of_a_recorded_batch_are_the_answered_requests(host: Host) -> None:
    async def script() -> None:
        desk = Desk(host)
        await played(desk, read_run(host, "batch"))
        [session] = desk.hub.board.hosted.values()
        assert session.turn == 2

    play(script)


def test_in_a_recorded_run_codex_is_told_before_a_patch_after_which_it_tells_no_hook() -> None:
    async def script() -> None:
        desk = Desk("codex")
        told = await played(desk, read_run("codex", "edit"), "The build is red.")
        assert told == [("PreToolUse", "")]
        [session] = desk.hub.board.hosted.values()
        assert session.turn == 3
        [standing] = session.standing.values()
        assert (standing.first, standing.shown) == (2, "rendered")

    play(script)


def test_an_interrupt_holds_back_every_patch_of_a_batch(tmp_path: Path) -> None:
    patch = next(event for event in read_run("codex", "edit") if event["hook_event_name"] == "PreToolUse")
    here = {**patch, "transcript_path": str(tmp_path / "rollout.jsonl")}

    async def script() -> None:
        desk = Desk("codex")
        await desk.hub.hosting.hook("codex", {**here, "hook_event_name": "UserPromptSubmit"})
        to = {"session": f"codex:{patch['session_id']}"}
        await desk.hub.remind({"body": "Stop.", "to": to, "mode": "interrupt_immediate"})
        answers = [
            await desk.hub.hosting.hook("codex", {**here, "tool_use_id": call}) for call in ("a", "b", "c")
        ]
        assert [declined(each) for each in answers] == [True, True, True]
        assert [bool(news(each)) for each in answers] == [True, False, False]

    play(script)


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_recorded_sub_agent_drains_nothing_of_its_parent(host: Host) -> None:
    async def script() -> None:
        desk = Desk(host)
        told = await played(desk, read_run(host, "child"), "The build is red.")
        own = [(name, agent) for name, agent in told if not agent]
        below = [name for name, agent in told if agent]
        assert len(own) == 1
        assert set(below) <= {"SubagentStart"}

    play(script)


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_after_a_recorded_compaction_it_is_told_again(host: Host) -> None:
    async def script() -> None:
        desk, events = Desk(host), read_run(host, "compaction")
        first = next(event for event in events if event["hook_event_name"] == "UserPromptSubmit")
        await desk.hub.remind(
            {
                "body": "Deploys are frozen.",
                "to": {"session": f"{host}:{first['session_id']}"},
                "preserveOnCompact": True,
            }
        )
        told = await played(desk, events)
        assert [name for name, _ in told] == ["UserPromptSubmit", "SessionStart"]

    play(script)


def test_the_sub_agent_of_a_compaction_means_nothing() -> None:
    told = json.loads((FOLDER / "claude-code" / "SubagentStop-compaction.json").read_text())
    read = TONGUES["claude-code"].read(told)
    assert isinstance(read, Happening)
    assert read.event == Event(phase="child_ends")
