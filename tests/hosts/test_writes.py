"""What the agent's own tools wrote is known by their arguments, in each host's spelling."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hosts.desks import news
from tests.hosts.events import payload
from tests.hosts.test_connect import House
from tests.hosts.test_reading import JSON
from tests.hosts.test_recorded import read_run
from tests.hub.workspace.scenes import scene as scene_in
from tidings.core.reminder import Payload
from tidings.hosts.happening import HOSTS, Host
from tidings.hosts.writes import written
from tidings.hub import shapes
from tidings.hub.rows import read_as

PATCH = """\
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/c.py
@@
-x
+y
*** Add File: b.txt
+z
*** Delete File: d.txt
*** End Patch"""
FILE = "/workspace/greeting.txt"
RECORDED: list[tuple[Host, str, str]] = [
    ("claude-code", "edit", FILE),
    ("codex", "patch", "greeting.txt"),
    ("gemini", "edit", FILE),
    ("opencode", "edit", FILE),
    ("opencode", "patch", "greeting.txt"),
]
"""The runs of each host in which a tool of its own made and changed a file, and the name of that file."""


ENDS = ("SessionEnd", "Stop", "AfterAgent", "event.session.idle", "dispose")
"""Events after which nothing more is told."""


def call(name: str, **arguments: object) -> Payload:
    return {"tool_name": name, "tool_input": arguments, "tool_response": "done"}


@pytest.mark.parametrize(
    ("host", "payload", "paths"),
    [
        (
            "claude-code",
            {"tool_calls": [call("Edit", file_path="/w/a.py"), call("Bash", command="touch b")]},
            ("/w/a.py",),
        ),
        ("claude-code", {"tool_calls": [call("Write", file_path="/w/a.py")] * 2}, ("/w/a.py",)),
        ("codex", call("apply_patch", command=PATCH), ("src/a.py", "src/c.py", "b.txt", "d.txt")),
        ("codex", call("Bash", command=f"apply_patch <<'EOF'\n{PATCH}\nEOF"), ()),
        ("gemini", call("write_file", file_path="/w/a.py"), ("/w/a.py",)),
        ("gemini", {"tool_name": "write_file", "tool_input": {"file_path": "/w/a.py"}}, ()),
        ("opencode", call("edit", filePath="a.py"), ("a.py",)),
        ("opencode", call("apply_patch", patchText=PATCH), ("src/a.py", "src/c.py", "b.txt", "d.txt")),
        ("opencode", call("read", filePath="a.py"), ()),
    ],
)
def test_the_files_that_a_tool_wrote(host: Host, payload: Payload, paths: tuple[str, ...]) -> None:
    assert written(host, payload) == paths


def told_of(host: Host, scene: str) -> list[Payload]:
    """The events of a recorded run, as the hub gets them: those of opencode by way of our plugin."""
    events = read_run(host, scene)
    return [_by_plugin(each) for each in events] if host == "opencode" else events


def _by_plugin(told: Payload) -> Payload:
    about = told.get("input")
    assert isinstance(about, dict) or about is None
    event: Payload = {"hook_event_name": told["hook"], "session_id": "s1", "cwd": "/workspace"}
    if about is None or told["hook"] != "tool.execute.after":
        return event
    return {**event, "tool_name": about["tool"], "tool_input": about["args"], "tool_response": ""}


@pytest.mark.parametrize(("host", "scene", "name"), RECORDED)
def test_in_a_recorded_run_each_write_of_the_hosts_own_tools_is_known(
    host: Host, scene: str, name: str
) -> None:
    wrote = [paths for each in told_of(host, scene) if (paths := written(host, each))]
    assert set(wrote) == {(name,)}
    assert len(wrote) == (4 if host == "claude-code" else 2)


def test_what_codex_patches_by_its_shell_is_not_told_to_any_hook_afterwards() -> None:
    events = read_run("codex", "edit")
    assert [each["hook_event_name"] for each in events if "tool_name" in each] == ["PreToolUse"] * 2
    assert [written("codex", each) for each in events] == [()] * len(events)


def placed(event: Payload, folder: Path) -> Payload:
    """An event as it would be in this folder."""
    moved: Payload = json.loads(json.dumps(event).replace('"/workspace', f'"{folder}'))
    return moved


@pytest.mark.parametrize(("host", "scene", "name"), RECORDED)
def test_what_the_hosts_own_tools_wrote_is_not_told_to_it_and_what_others_wrote_is(
    host: Host, scene: str, name: str, tmp_path: Path
) -> None:
    folder = tmp_path.resolve()
    file, events = folder / "greeting.txt", [placed(each, folder) for each in told_of(host, scene)]
    known = {path for each in events if (path := each.get("session_id"))}
    session = f"{host}:{known.pop()}"

    async def act() -> None:
        async with scene_in(folder) as running:
            await running.hub.unregister(shapes.Who(session_id="s"))
            await running.attach("[watch.files]\n")
            await running.watching("files")
            count = 0
            for event in events:
                if written(host, event):
                    count += 1
                    file.write_text(f"{host} {count}\n")
                if event["hook_event_name"] not in ENDS:
                    await running.hub.hosting.hook(host, event)
            (folder / "theirs.py").write_text("y = 1\n")
            bodies: list[str] = []
            while not any("theirs.py" in body for body in bodies):
                asked = read_as(shapes.Lease, {"sessionId": session, "waitSeconds": 20})
                leased = await running.hub.lease(asked)
                bodies += [str(row.reminder["body"]) for row in leased.reminders]
            assert bodies == ["theirs.py was created on disk."]

    asyncio.run(act())


@given(st.sampled_from(HOSTS), JSON, JSON)
def test_odd_arguments_never_raise(host: Host, calls: object, given: object) -> None:
    written(host, {"tool_calls": calls})
    for name in ("Edit", "apply_patch", "write_file", "edit"):
        written(host, {"tool_name": name, "tool_input": given, "tool_response": ""})


def test_what_connecting_writes_into_a_watched_project_is_no_news(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "project"
    house = House(tmp_path.resolve())

    async def act() -> None:
        async with scene_in(folder) as running:
            await running.attach("[watch.files]\n")
            await running.watching("files")
            for host in HOSTS:
                house.connect(host, "project")
            (folder / "theirs.py").write_text("y = 1\n")
            heard = await running.hear("theirs.py")
            assert (heard.reminder["body"], running.heard) == ("theirs.py was created on disk.", [])

    asyncio.run(act())


def test_of_two_agents_in_a_folder_only_the_one_that_did_not_write_is_told(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    file = folder / "greeting.txt"

    async def act() -> None:
        async with scene_in(folder) as running:
            hook = running.hub.hosting.hook
            await running.attach("[watch.files]\n")
            await running.watching("files")
            here = {"cwd": str(folder)}
            writer = payload("claude-code", "PostToolBatch", "w", **here)
            reader = payload("codex", "Stop", **here)
            await hook("codex", payload("codex", "UserPromptSubmit", **here))
            for step, event in enumerate(("PostToolUse", "PostToolBatch")):
                file.write_text(f"hello {step}\n")
                wrote = call("Write", file_path=str(file))
                more = {"tool_calls": [wrote]} if event == "PostToolBatch" else wrote
                await hook("claude-code", payload("claude-code", event, "w", **{**here, **more}))
            await running.hear("greeting.txt was created on disk.")
            assert news(await hook("claude-code", writer)) == ""
            told = await hook("codex", reader)
            assert "greeting.txt was created on disk." in str(told["reason"])
            file.write_text("hello from a third\n")
            await running.hear("greeting.txt changed on disk; re-read it before editing.")
            assert "greeting.txt changed on disk" in news(await hook("claude-code", writer))

    asyncio.run(act())


def test_what_an_agent_removed_it_is_not_told_in_company_either(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    file = folder / "greeting.txt"
    patch = "*** Begin Patch\n*** Delete File: greeting.txt\n*** End Patch\n"

    async def act() -> None:
        async with scene_in(folder) as running:
            hook = running.hub.hosting.hook
            file.write_text("hello\n")
            await running.attach("[watch.files]\n")
            await running.watching("files")
            file.unlink()
            did = call("apply_patch", command=patch)
            await hook("codex", payload("codex", "PostToolUse", cwd=str(folder), **did))
            await running.hear("greeting.txt was deleted on disk")
            assert news(await hook("codex", payload("codex", "PostToolUse", cwd=str(folder)))) == ""

    asyncio.run(act())


def test_what_an_agent_that_is_alone_removed_is_no_news(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    file = folder / "greeting.txt"
    patch = "*** Begin Patch\n*** Delete File: greeting.txt\n*** End Patch\n"

    async def act() -> None:
        async with scene_in(folder) as running:
            hook = running.hub.hosting.hook
            await running.hub.unregister(shapes.Who(session_id="s"))
            file.write_text("hello\n")
            await running.attach("[watch.files]\n")
            await running.watching("files")
            await hook("codex", payload("codex", "UserPromptSubmit", cwd=str(folder)))
            file.unlink()
            did = call("apply_patch", command=patch)
            await hook("codex", payload("codex", "PostToolUse", cwd=str(folder), **did))
            (folder / "theirs.py").write_text("y = 1\n")
            asked = read_as(shapes.Lease, {"sessionId": "codex:s1", "waitSeconds": 20})
            leased = await running.hub.lease(asked)
            assert [row.reminder["body"] for row in leased.reminders] == ["theirs.py was created on disk."]

    asyncio.run(act())
