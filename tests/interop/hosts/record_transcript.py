"""`python -m tests.interop.hosts.record_transcript`: keeps what real agents wrote of a reminder to disk.

Claude Code and Codex keep a file of each session, by which the hub proves that a reminder was read in. Each
is told `BODY` while it works; the lines of its file that speak of it are written, with neutral values, to
`tests/hosts/transcripts/HOST.jsonl`. The rest of the file, which holds the vendor's own words, is not kept.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.interop.agents import Room
from tests.interop.hosts.clis import CLIS, Side
from tests.interop.hosts.neutral import Neutral, places
from tests.interop.hosts.stage import Stage, gate
from tests.interop.install import ROOT
from tidings.testing.fake_provider import FakeProvider, Say

FOLDER = ROOT / "tests" / "hosts" / "transcripts"
HOSTS = ("claude-code", "codex")
BODY = 'The quokka build failed.\nIt is "red" & <b>bold</b>: Größe 5 ✓'
TTL = 5
_COMMAND = re.compile(r'("command": ?)"[^"]+"')
_SECONDS = re.compile(r"\b17\d{8}\.\d+\b")


def record(host: str) -> list[str]:
    """The lines of the agent's own file that speak of the reminder."""
    with TemporaryDirectory(prefix="tidings-") as folder, FakeProvider(aside=Side()) as provider:
        stage = Stage(CLIS[host], Room(Path(folder), f"{folder}/door"), provider, Side())
        asyncio.run(_told(stage))
        room = stage.room
        neutral = Neutral(places(str(room.work), str(room.home), f"{folder}/tmp"))
        lines = (line for path in room.home.rglob("*.jsonl") for line in path.read_text().splitlines())
        return [_plain(neutral(line)) for line in lines if "quokka" in line]


async def _told(stage: Stage) -> None:
    held = gate()
    stage.provider.add(stage.step("echo one", before=held), Say(text="Done."))
    async with stage.hub(), stage.run() as agent:
        await agent.reached(held)
        await stage.remind(BODY, "--ttl", str(TTL))
        held.open()
        await agent.end()


def _plain(line: str) -> str:
    return _SECONDS.sub("1767225600.0", _COMMAND.sub(r'\1"tidings hook"', line))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in HOSTS:
        (FOLDER / f"{name}.jsonl").write_text("\n".join(record(name)) + "\n")
