"""The files that the real hosts keep of a session prove that a reminder was read in, and prove no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.hosts.desks import Desk
from tests.hosts.test_drain import play
from tests.hub.desks import DEADLINE
from tests.interop.hosts.record_transcript import BODY, TTL
from tidings.hosts.happening import Host

FOLDER = Path(__file__).parent / "transcripts"
AFTER_TOOLS: dict[Host, tuple[str, ...]] = {
    "claude-code": ("PreToolUse", "PostToolBatch"),
    "codex": ("PreToolUse", "PostToolUse"),
}


async def told(desk: Desk, transcript: Path) -> tuple[str, str]:
    """Tell the recorded reminder, and one that was not recorded, as in that run; gives their ids."""
    about = {"transcript_path": str(transcript)}
    await desk.hook("UserPromptSubmit", **about)
    shown, other = await desk.remind(BODY, ttlTurns=TTL), await desk.remind("Never written.")
    for event in (*AFTER_TOOLS[desk.host], "Stop"):
        await desk.hook(event, **about)
    return shown, other


@pytest.mark.parametrize("host", list(AFTER_TOOLS))
def test_a_reminder_that_stands_in_the_hosts_recorded_file_was_seen(host: Host) -> None:
    async def script() -> None:
        desk = Desk(host)
        shown, other = await told(desk, FOLDER / f"{host}.jsonl")
        assert desk.records("hub.host.seen") == [{"session_id": f"{host}:s1", "reminder_ids": [shown]}]
        standing = desk.hub.board.hosted[f"{host}:s1"].standing
        assert {name: one.shown for name, one in standing.items()} == {shown: "seen", other: "rendered"}

    play(script)


def test_that_claude_code_wrote_down_what_the_hook_printed_is_no_proof(tmp_path: Path) -> None:
    printed, *_ = (FOLDER / "claude-code.jsonl").read_text().splitlines(keepends=True)
    assert '"hook_success"' in printed
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text(printed)

    async def script() -> None:
        desk = Desk()
        await told(desk, transcript)
        assert desk.records("hub.host.seen") == []

    play(script)


def test_a_file_that_is_written_a_moment_after_the_last_hook_is_looked_at_again(tmp_path: Path) -> None:
    async def script() -> None:
        desk, transcript = Desk(), tmp_path / "transcript.jsonl"
        shown, _ = await told(desk, transcript)
        assert desk.records("hub.host.seen") == []
        transcript.write_bytes((FOLDER / "claude-code.jsonl").read_bytes())
        async with asyncio.timeout(DEADLINE):
            while not desk.records("hub.host.seen"):  # noqa: ASYNC110 a timer writes it, and tells nobody
                await asyncio.sleep(0.01)
        assert desk.records("hub.host.seen") == [{"session_id": "claude-code:s1", "reminder_ids": [shown]}]

    play(script)


def test_at_the_end_of_a_session_its_file_is_looked_at_once_more(tmp_path: Path) -> None:
    async def script() -> None:
        desk, transcript = Desk(), tmp_path / "transcript.jsonl"
        shown, _ = await told(desk, transcript)
        transcript.write_bytes((FOLDER / "claude-code.jsonl").read_bytes())
        await desk.hook("SessionEnd", transcript_path=str(transcript))
        assert desk.records("hub.host.seen") == [{"session_id": "claude-code:s1", "reminder_ids": [shown]}]

    play(script)


@pytest.mark.parametrize("host", list(AFTER_TOOLS))
def test_a_file_that_is_not_there_proves_nothing_and_harms_nobody(host: Host, tmp_path: Path) -> None:
    async def script() -> None:
        desk = Desk(host)
        await told(desk, tmp_path / "nowhere.jsonl")
        assert (desk.records("hub.host.seen"), desk.records("hub.host.warning")) == ([], [])

    play(script)
