"""The tutorial "Claude Code hears your tests turn green", followed to the letter."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.interop.client import run_command
from tests.interop.hosts.clis import binary
from tests.interop.hosts.looking import extends, places
from tests.interop.hosts.stage import Running, Stage, gate
from tests.interop.install import ROOT
from tidings.testing.fake_provider import Call, Say

PAGE = ROOT / "docs" / "tutorial" / "claude-code-hears-tests.md"
FILE = re.compile(r"^`(?P<name>[\w.]+)`:\n\n```python no-run\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^\$ ((?:tidings|claude|grep) .*)$", re.MULTILINE)
TEXT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GREEN = "test_greeting.py now passes."


def mended(stage: Stage) -> list[Say]:
    """What a model does with such a task: read, edit, wait, answer."""
    path = str(stage.room.work / "greeting.py")
    change = {"old_string": '"Hello " + name', "new_string": 'f"Hello, {name}!"'}
    read, edit = Call("Read", {"file_path": path}), Call("Edit", {"file_path": path, **change})
    wait = Call("Bash", {"command": "sleep 5", "description": "wait"})
    return [Say(calls=(read,)), Say(calls=(edit,)), Say(calls=(wait,), before=gate()), Say(text="I heard.")]


@pytest.mark.parametrize("stage", ["claude-code"], indirect=True)
def test_the_tutorial_ends_with_the_line_in_the_request(stage: Stage) -> None:
    for name, text in FILE.findall(PAGE.read_text()):
        (stage.room.work / name).write_text(text)
    steps = mended(stage)
    stage.provider.add(*steps)
    claude = binary("@anthropic-ai/claude-code", "claude")
    folders = [str(Path(each).parent) for each in (sys.executable, claude)]
    stage.more |= {
        "PATH": os.pathsep.join((*folders, os.environ["PATH"])),
        "ANTHROPIC_MODEL": "claude-opus-5-5",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    printed: dict[str, str] = {}

    async def work() -> None:
        for line in TYPED.findall(PAGE.read_text()):
            if not line.startswith("claude "):
                typed = line.replace("tidings up", "tidings up --port 0")
                printed[line] = await run_command(["sh", "-c", typed], stage.room, stage.more)
                continue
            await stage.waiting("1 test fails")
            async with stage.process("sh", "-c", line) as process:
                agent, held = Running(process), steps[2].before
                assert held is not None
                await agent.reached(held)
                await stage.waiting(GREEN)
                held.open()
                printed[line] = await agent.end()

    asyncio.run(work())
    first, *_, third, last = stage.requests
    assert len(places(first, "1 test fails")) == 1
    assert places(third, GREEN) == []
    (place,) = places(last, GREEN)
    assert place.role == stage.cli.after_tools
    assert extends(last, third)
    assert places(last, "greeting.py changed on disk") == []
    found, section = TEXT.findall(PAGE.read_text())
    assert section.strip() in place.text
    assert [text for line, text in printed.items() if line.startswith("grep ")] == [found]
    assert not (stage.room.work / ".claude").exists()
