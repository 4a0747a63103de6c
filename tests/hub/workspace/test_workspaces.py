"""Folders attached to a hub: their watchers' news reaches the sessions, and their files may change."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.hub.desks import Clock, memory_hub, register
from tests.hub.workspace.scenes import Scene, scene
from tests.mcp.host.running import SCRIPT
from tidings.errors import CallerError
from tidings.hub import envelope
from tidings.hub.operations import BY_METHOD, operate
from tidings.hub.workspace import attaching, relaying
from tidings.hub.workspace.attaching import Workspaces

LOOK = [sys.executable, "-c", "import pathlib, sys; sys.exit(pathlib.Path('red').exists())"]


def play(folder: Path, act: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    folder = folder.resolve()

    async def whole() -> None:
        async with scene(folder, **options) as running:
            await act(running)

    asyncio.run(whole())


def command(name: str = "look", argv: list[str] | None = None, **more: object) -> str:
    fields = {"command": argv or LOOK, **more}
    lines = [f"{field} = {json.dumps(value)}" for field, value in fields.items()]
    return f"[watch.commands.{name}]\n" + "\n".join(lines) + "\n"


def test_a_changed_file_reaches_the_sessions_of_the_folder_as_external_news(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        row = await running.attach("[watch.files]\n")
        assert (row["path"], row["config"]) == (
            str(running.folder), str(running.folder / "tidings.toml"),
        )  # fmt: skip
        await register(running.hub, "elsewhere", workspace="/nowhere")
        await running.watching("files")
        (tmp_path / "lib.rs").write_text("fn main() {}")
        heard = await running.hear("lib.rs was created")
        assert (heard.origin, heard.mode) == ("tidings/files", "finish_step")
        assert heard.reminder["dedupe_key"] == "file_changed:lib.rs"
        assert running.hub.board.open[heard.reminder_id].deliveries.keys() == {"s"}

    play(tmp_path, act)


def test_a_command_is_told_when_it_turns_and_the_row_says_its_last_words(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach(command(first="always"))
        await running.hear("passed")
        (tmp_path / "red").touch()
        assert "failed with exit code 1" in str((await running.hear("failed")).reminder["body"])
        (row,) = running.row()["watchers"]
        assert (row["kind"], row["name"], row["state"]) == ("command", "look", "watching")
        assert "failed with exit code 1" in row["lastMessage"]
        (tmp_path / "red").unlink()
        await running.hear("It failed before")

    play(tmp_path, act)


def test_tests_run_in_the_environment_of_whoever_attached(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "mytests"
    tool.write_text("#!/bin/sh\necho FAILED $COLOUR; exit 3\n")
    tool.chmod(0o755)

    async def act(running: Scene) -> None:
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        await running.attach(command("own", ["mytests"]), PATH=path, COLOUR="green")
        assert "FAILED green" in str((await running.hear("mytests failed")).reminder["body"])

    play(tmp_path, act)


def test_only_the_newest_with_a_key_stays_on_its_way(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        hub = running.hub
        await running.attach(command(report="every", first="always", only=["*.txt"]))
        await running.watching("look")
        await running.until(lambda: len(running.payloads(envelope.ACCEPTED)) == 1)
        (tmp_path / "a.txt").touch()
        await running.until(lambda: len(running.payloads(envelope.ACCEPTED)) == 2)
        await running.until(lambda: len(running.payloads(envelope.REVOKED)) == 1)
        first, second = (one["reminder_id"] for one in running.payloads(envelope.ACCEPTED))
        assert list(hub.board.open) == [second]
        assert running.payloads(envelope.REVOKED) == [{"reminder_id": first}]

    play(tmp_path, act)


def test_news_for_nobody_waits_two_minutes_and_no_longer(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach(command(first="always"))
        await running.until(lambda: bool(running.hub.board.open))
        (letter,) = running.hub.board.open.values()
        assert letter.deliver_until_ms - letter.accepted_at_ms == 120_000

    play(tmp_path, act)


def test_grants_of_a_watcher_are_used_and_go_with_its_news(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        powers = ["interrupt_immediate", "wake_idle", "preserve_on_compact", "propagate_all"]
        await running.attach(command(first="always") + f"[grants]\nlook = {json.dumps(powers)}\n")
        heard = await running.hear("passed")
        assert heard.mode == "interrupt_immediate"
        assert (heard.reminder["preserve_on_compact"], heard.reminder["propagate"]) == (True, "all")
        assert sorted(heard.grants) == sorted(powers)

    play(tmp_path, act)


def test_with_tags_the_news_goes_to_their_sessions_wherever_they_are(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await register(running.hub, "far", workspace="/nowhere", tags=["ci", "release"])
        await running.attach(command(first="always") + '[sessions]\ntags = ["ci", "release"]\n')
        await running.until(lambda: len(running.hub.board.open) == 2)
        assert [list(one.deliveries) for one in running.hub.board.open.values()] == [["far"], ["far"]]

    play(tmp_path, act)


def test_beyond_its_budget_a_watcher_is_dropped_with_two_records_not_many(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        text = command(report="every", first="always", every=0.01, argv=["true"])
        await running.attach(f"{text}[budget]\nper_minute = 2\n")
        (kept,) = running.workspaces[str(tmp_path)].kept
        await running.until(lambda: bool(running.payloads("transcript.reminder.dropped")))
        for _ in range(20):
            await kept._deliver(msgspec.convert({"body": "more"}, _told()))
        assert len(running.payloads(envelope.ACCEPTED)) == 2
        (dropped,) = running.payloads("transcript.reminder.dropped")
        assert (dropped["reason"], dropped["origin"], dropped["count"]) == ("budget", "tidings/look", 1)

    play(tmp_path, act)


def _told() -> Any:
    from tidings.watchers.told import Told

    return Told


def test_a_watcher_that_cannot_work_says_why_and_the_others_go_on(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        text = "[watch.tests]\n[watch.files]\n[watch.reviews]\nsecret_env = ['NOT_SET']\n"
        await running.attach(text, PATH=os.environ["PATH"])
        await running.watching("files")
        await running.until(lambda: list(running.states().values()) == ["watching", "waiting", "waiting"])
        rows = {row["name"]: row["lastMessage"] for row in running.row()["watchers"]}
        assert "no test runner that is known; give the command" in rows["tests"]
        assert rows["reviews"] == "the variable 'NOT_SET' is not set; it must hold the secret"
        told = [one for one in running.payloads("hub.workspace.watcher") if one["name"] == "reviews"]
        assert told[0] == {
            "workspace": str(running.folder), "kind": "reviews", "name": "reviews", "state": "waiting",
            "message": "the variable 'NOT_SET' is not set; it must hold the secret",
        }  # fmt: skip

    play(tmp_path, act)


def test_a_missing_extra_is_named_by_the_watcher_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles._rust_notify", None)
    monkeypatch.setattr(relaying, "find_spec", lambda _: None)

    async def act(running: Scene) -> None:
        await running.attach("[watch.files]\n[servers.ci]\ncommand = 'x'\n")
        await running.until(lambda: set(running.states().values()) == {"waiting"})
        assert [row["lastMessage"] for row in running.row()["watchers"]] == [
            "watching files needs watchfiles: pip install 'tidings[watch]'",
            "MCP servers need the MCP SDK: pip install 'tidings[mcp]'",
        ]

    play(tmp_path, act)


def test_attaching_again_reads_the_file_anew_and_leaves_alone_what_did_not_change(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach("[watch.files]\n" + command(every=3600))
        files, look = running.workspaces[str(tmp_path)].kept
        await running.attach("[watch.files]\n" + command(every=1800) + command("more"))
        now = running.workspaces[str(tmp_path)].kept
        assert [kept.name for kept in now] == ["files", "look", "more"]
        assert (now[0] is files, now[1] is look, look.state) == (True, False, "stopped")
        await running.attach("[watch.files]\nenabled = false\n")
        assert running.row()["watchers"] == []
        assert files.state == "stopped"

    play(tmp_path, act)


def test_a_bad_file_is_told_and_what_ran_before_goes_on(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach("[watch.files]\n")
        (files,) = running.workspaces[str(tmp_path)].kept
        row = await running.attach("[watch.file]\n")
        told = "line 1: `watch.file`: this key is not known; did you mean `files`? " + (
            "known are commands, files, reviews, tests"
        )
        assert row["problems"] == [told]
        assert [kept for kept in running.workspaces[str(tmp_path)].kept if kept is files]
        assert running.payloads("hub.workspace.config") == [
            {"workspace": str(running.folder), "problems": [told]}
        ]
        assert (await running.attach("[watch.files]\n"))["problems"] == []

    play(tmp_path, act)


def test_a_folder_with_a_bad_file_is_attached_without_watchers(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        row = await running.attach("x = 1\n")
        assert (row["config"], row["watchers"], len(row["problems"])) == (None, [], 1)

    play(tmp_path, act)


def test_a_file_that_changes_is_used_when_it_claims_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attaching, "LOOK_SECONDS", 0.01)

    async def act(running: Scene) -> None:
        await running.attach("[watch.files]\n" + command(every=3600))
        running.write("[watch.files]\nonly = ['*.py']\n")
        await running.until(lambda: list(running.states()) == ["files"])
        running.write("[watch.files\n")
        await running.until(lambda: bool(running.row()["problems"]))
        assert "this is not TOML" in running.row()["problems"][0]
        running.write("[watch.files]\n" + command(argv=["touch", "evil"]))
        await running.until(lambda: "run `tidings up`" in str(running.row()["problems"]))
        assert list(running.states()) == ["files"]
        running.write("[watch.files]\n")
        await running.until(lambda: not running.row()["problems"])
        (tmp_path / "tidings.toml").unlink()
        await running.until(lambda: running.row()["watchers"] == [])
        assert running.row()["config"] is None

    play(tmp_path, act)
    assert not (tmp_path / "evil").exists()


def test_detaching_stops_the_watchers(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach("[watch.files]\n")
        (files,) = running.workspaces[str(tmp_path)].kept
        assert await running.workspaces.detach(str(tmp_path)) is True
        assert await running.workspaces.detach(str(tmp_path)) is False
        assert (running.workspaces.rows(), files.state) == ([], "stopped")
        with pytest.raises(CallerError, match="is not attached; run `tidings up` there"):
            running.workspaces[str(tmp_path)]
        assert running.payloads("hub.workspace.detached") == [{"workspace": str(running.folder)}]

    play(tmp_path, act)


def test_a_command_that_runs_is_ended_with_its_children_when_the_folder_is_detached(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        script = "sleep 3600 & echo $! > pid; wait"
        await running.attach(command(argv=["sh", "-c", script], only=["*.py"]))
        pid = tmp_path / "pid"
        await running.until(lambda: pid.exists() and pid.read_text().strip().isdigit())
        await running.workspaces.detach(str(tmp_path))
        await running.until(lambda: not is_alive(int(pid.read_text())))

    play(tmp_path, act)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("relative", "`path` is 'relative'; give an absolute path"),
        ("/no/such/folder", "give a folder that exists"),
    ],
)
def test_only_a_folder_by_its_absolute_path_is_attached(tmp_path: Path, path: str, told: str) -> None:
    async def act(running: Scene) -> None:
        with pytest.raises(CallerError, match=told):
            await running.workspaces.attach(path)

    play(tmp_path, act)


def test_too_many_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attaching, "WORKSPACES_MOST", 1)
    (tmp_path / "b").mkdir()

    async def act(running: Scene) -> None:
        await running.attach()
        with pytest.raises(CallerError, match="1 folders are attached; detach some"):
            await running.workspaces.attach(str(tmp_path / "b"))
        await running.attach()

    play(tmp_path, act)


def test_after_a_crash_the_same_folders_are_attached_again_and_after_a_stop_none(tmp_path: Path) -> None:
    kept, first, second = tmp_path / "workspaces.json", tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        folder.mkdir()
        (folder / "tidings.toml").write_text("[watch.files]\n")

    async def crash() -> None:
        workspaces = Workspaces(memory_hub(Clock()), memory=kept)
        await workspaces.attach(str(first))
        await workspaces.attach(str(second))
        left = kept.read_bytes()
        await workspaces.__aexit__(None, None, None)
        assert not kept.exists()
        kept.write_bytes(left)
        (second / "tidings.toml").write_text("[watch.files]\n" + command())

    async def again() -> list[Any]:
        async with Workspaces(memory_hub(Clock()), memory=kept) as workspaces:
            return workspaces.rows()

    asyncio.run(crash())
    one, two = asyncio.run(again())
    assert [row.name for row in one.watchers] == ["files"]
    assert (two.watchers, "run `tidings up` in that folder" in two.problems[0]) == ([], True)
    assert not kept.exists()


def test_a_hub_that_cannot_start_forgets_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "workspaces.json"

    async def start() -> None:
        async with Workspaces(memory_hub(Clock()), memory=kept) as workspaces:
            await workspaces.attach(str(tmp_path))
            raise CallerError("the port is taken")

    with pytest.raises(CallerError, match="the port is taken"):
        asyncio.run(start())
    assert str(tmp_path.resolve()) in kept.read_text()


def test_an_mcp_server_of_the_config_is_connected_and_its_words_are_passed_on(tmp_path: Path) -> None:
    greeting = [{"body": "The build is red.", "dedupeKey": "build", "propagate": "all"}]
    settings = json.dumps({"greeting": greeting})
    argv = json.dumps([sys.executable, SCRIPT, settings])

    async def act(running: Scene) -> None:
        await running.attach(f"[servers.ci]\ncommand = {argv}\nenv = {{A = '${{LEVEL}}'}}\n", LEVEL="debug")
        heard = await running.hear("The build is red.")
        assert (heard.origin, heard.reminder["propagate"], heard.reminder["dedupe_key"]) == (
            "ci", "session", "build",
        )  # fmt: skip
        assert heard.reminder_id != "r-The build is red."
        await running.watching("ci")
        noticed = running.payloads("hub.workspace.noticed")
        assert ("ci", "mcp_restricted") in {(one["name"], one["code"]) for one in noticed}

    play(tmp_path, act)


def test_a_server_that_comes_and_goes_says_so_and_nothing_is_told_twice(tmp_path: Path) -> None:
    settings = json.dumps({"greeting": [{"body": "The build is red."}], "then": "die"})
    argv = json.dumps([sys.executable, SCRIPT, settings])

    async def act(running: Scene) -> None:
        await running.attach(f"[servers.ci]\ncommand = {argv}\n")
        await running.hear("The build is red.")
        await running.until(lambda: "repeated" in str(running.payloads("hub.workspace.noticed")))
        codes = {str(one["code"]) for one in running.payloads("hub.workspace.noticed")}
        assert codes & {"mcp_lost", "mcp_failed"}
        assert len(running.payloads(envelope.ACCEPTED)) == 1

    play(tmp_path, act)


def test_a_server_whose_variable_is_missing_says_so(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach("[servers.ci]\ncommand = 'x'\nenv = {A = '${LEVEL}'}\n", PATH="/bin")
        await running.until(lambda: running.states() == {"ci": "waiting"})
        (row,) = running.row()["watchers"]
        told = "servers.ci.env.A: ${LEVEL} is not set; set it, or write ${LEVEL:-default}"
        assert row["lastMessage"] == told

    play(tmp_path, act)


def test_a_server_that_cannot_be_started_is_tried_again_and_says_why(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        await running.attach("[servers.ci]\ncommand = '/no/such/program'\n")
        await running.until(lambda: running.states() == {"ci": "waiting"})
        (row,) = running.row()["watchers"]
        assert "/no/such/program" in row["lastMessage"]

    play(tmp_path, act)


def test_the_operations_attach_list_and_detach(tmp_path: Path) -> None:
    async def act(running: Scene) -> None:
        hub, path = running.hub, str(running.folder)
        row = await operate(hub, BY_METHOD["hub/attach"], {"path": path, "environment": {"A": "b"}})
        assert row == {"path": path, "config": None, "watchers": [], "problems": []}
        assert await operate(hub, BY_METHOD["hub/workspaces"], {}) == {"workspaces": [row]}
        assert await operate(hub, BY_METHOD["hub/detach"], {"path": path}) == {
            "path": path,
            "detached": True,
        }

    play(tmp_path, act)
