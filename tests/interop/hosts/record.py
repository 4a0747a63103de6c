"""`python -m tests.interop.hosts.record [HOST…]`: records what the real agents tell their hooks.

Each agent plays the scenes of `SCENES` on the fake model, with a hook that only listens. What it was told
is written to `tests/hosts/payloads/HOST/`: `SCENE.jsonl` in the order in which it came, and one file for
each event. The adapters are tested with these files; run it again when a version changes, and review.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from tests.interop.agents import Room
from tests.interop.hosts.clis import CLIS, TASK, Cli, Side, patches
from tests.interop.hosts.neutral import Neutral, places
from tests.interop.install import ROOT, installed
from tidings.testing.fake_provider import FakeProvider, Gate, Say

PAYLOADS = ROOT / "tests" / "hosts" / "payloads"
HERE = Path(__file__).parent
SECONDS = 120.0

CLAUDE_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
    "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd",
)  # fmt: skip
CODEX_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStart",
    "SubagentStop", "PreCompact", "PostCompact", "SessionEnd",
)  # fmt: skip
GEMINI_EVENTS = (
    "SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent", "PreCompress",
    "SessionEnd",
)  # fmt: skip


def _listeners(events: Sequence[str], command: str, seconds: float, **more: object) -> dict[str, Any]:
    hook = {"type": "command", "command": command, "timeout": seconds, **more}
    return {"hooks": {event: [{"hooks": [hook]}] for event in events}}


def listen(host: str, room: Room, folder: Path) -> Mapping[str, str]:
    """Put the recorder into the project of the room; gives what its environment needs."""
    command = f"{sys.executable} -S -E {HERE / 'recorder_hook.py'} {folder}"
    if host == "opencode":
        plugins = room.work / ".opencode" / "plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "recorder_plugin.js", plugins / "recorder.js")
        return {"RECORDER_FOLDER": str(folder)}
    name, settings = {
        "claude-code": (".claude/settings.local.json", _listeners(CLAUDE_EVENTS, command, 10)),
        "codex": (".codex/hooks.json", _listeners(CODEX_EVENTS, command, 3)),
        "gemini": (".gemini/settings.json", _listeners(GEMINI_EVENTS, command, 10_000, name="recorder")),
    }[host]
    path = room.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(settings))
    return {}


class Scene(msgspec.Struct, frozen=True):
    """What a script may refer to: the agent, a gate that opens when its sub-agent has ended, its folder."""

    cli: Cli
    ended: Gate
    work: Path


Script = Callable[[Scene], tuple[list[Say], Side]]


def _batch(at: Scene) -> tuple[list[Say], Side]:
    """Two tools in one step, one of which fails."""
    calls = (at.cli.shell("echo one > one.txt"), at.cli.shell("echo two >&2; exit 3"))
    return [Say(text="I do both.", calls=calls), Say(text="Done.")], Side()


def _child(at: Scene) -> tuple[list[Say], Side]:
    """A sub-agent that runs a tool; the parent goes on when it has ended, or hears of it later."""
    side = Side(Say(calls=(at.cli.shell("echo child"),)), at.cli.last_words("The child is done."))
    delegated = Say(calls=(at.cli.delegate(f"{TASK} Now."),))
    return [delegated, Say(text="It works.", before=at.ended), Say(text="It is done.")], side


def _compaction(at: Scene) -> tuple[list[Say], Side]:
    """A step whose usage fills the window."""
    return [Say(calls=(at.cli.shell("echo one"),), usage=at.cli.full), Say(text="Done.")], Side()


def _edit(at: Scene) -> tuple[list[Say], Side]:
    """A file that is made, and then changed."""
    return [*(Say(calls=(each,)) for each in at.cli.edits(at.work / EDITED)), Say(text="Done.")], Side()


def _patch(at: Scene) -> tuple[list[Say], Side]:
    """The same by patches."""
    assert at.cli.patch is not None
    calls = map(at.cli.patch, patches(at.work / EDITED))
    return [*(Say(calls=(each,)) for each in calls), Say(text="Done.")], Side()


EDITED = "greeting.txt"
SCENES: dict[str, Script] = {
    "batch": _batch,
    "child": _child,
    "compaction": _compaction,
    "edit": _edit,
    "patch": _patch,
}


def scenes_of(cli: Cli) -> list[str]:
    """The scenes that an agent can play."""
    return [scene for scene in SCENES if scene != "patch" or cli.patch is not None]


def record(host: str, scene: str) -> list[dict[str, Any]]:
    """What the hooks of `host` were told in a scene, with neutral values."""
    cli, ended = CLIS[host], Gate(deadline=SECONDS)
    command = [*cli.command("Do your part."), *(cli.patching if scene == "patch" else ())]
    with TemporaryDirectory(prefix="tidings-") as folder:
        room, heard = Room(Path(folder), ""), Path(folder) / "heard"
        steps, side = SCENES[scene](Scene(cli, ended, room.work))
        heard.mkdir()
        with FakeProvider(*steps, aside=side) as provider:
            more = {**cli.settle(room, provider), **listen(host, room, heard)}
            _run(command, room, more, lambda: _child_ended(side, heard) and ended.open())
        assert provider.refused == [], provider.refused
        neutral = Neutral(places(str(room.work), str(room.home), f"{folder}/tmp"))
        return [json.loads(neutral(path.read_text())) for path in sorted(heard.iterdir())]


def _child_ended(side: Side, heard: Path) -> bool:
    """Whether the parent may go on: its sub-agent has ended, and where that is told, it was."""
    told = {path.stem.rpartition("-")[2] for path in heard.iterdir()}
    return "SubagentStop" in told or (len(side.children) >= 2 and "SubagentStart" not in told)


def _run(command: Sequence[str], room: Room, more: Mapping[str, str], tick: Callable[[], object]) -> None:
    process = subprocess.Popen(
        command,
        env=room.environment(more),
        cwd=room.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until = time.monotonic() + SECONDS
    try:
        while process.poll() is None:
            assert time.monotonic() < until, f"{command[0]} was not done within {SECONDS:g} s"
            tick()
            time.sleep(0.05)
    finally:
        process.kill()
        said = process.communicate()[0]
    assert process.returncode == 0, said


def variant(told: Mapping[str, Any]) -> str:
    """The name of an event's file: the event, and what makes it special."""
    event = str(told.get("hook_event_name") or told["hook"])
    child = "agent_id" in told and not event.startswith("Subagent")
    marks = {
        "child": child,
        "compaction": event == "SubagentStop" and not told.get("agent_type"),
        "compact": told.get("source") == "compact",
        "task": str(told.get("prompt", "")).startswith("<task-notification>"),
        "child-session": "parentID" in str(told.get("input", "")),
        "busy": bool(told.get("background_tasks")) and event == "Stop",
    }
    return "-".join([event, *(mark for mark, there in marks.items() if there)])


def write(host: str) -> None:
    """Record every scene of a host and write its files."""
    folder = PAYLOADS / host
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for scene in scenes_of(CLIS[host]):
        told = record(host, scene)
        lines = (json.dumps(each, ensure_ascii=False) for each in told)
        (folder / f"{scene}.jsonl").write_text("\n".join(lines) + "\n")
        for each in told:
            path = folder / f"{variant(each)}.json"
            if not path.exists():
                path.write_text(json.dumps(each, indent=2, ensure_ascii=False) + "\n")
        print(f"{host} {scene}: {' '.join(variant(each) for each in told)}", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or [name for name, cli in CLIS.items() if "connect" not in cli.cannot]:
        problem = installed()[CLIS[name].package].problem
        if problem is not None:
            sys.exit(f"{name}: {problem}")
        write(name)
